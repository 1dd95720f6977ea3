// Imports histories from the time before this plugin: all sessions of all agents, from the host's own list or from its
// files.

import { readdir } from "node:fs/promises";
import { join } from "node:path";

import type { Shared } from "./shared.js";
import { sdk } from "./transcript.js";

interface Store {
  listSessionEntries?(ask: { agentId: string }): unknown;
}

/** Imports the sessions and describes the result. An unreadable session is reported and skipped. */
export async function importAll(shared: Shared): Promise<string> {
  const agents = join(shared.settings.state, "agents");
  const names = await readdir(agents).catch(() => [] as string[]);
  const reader = await sdk();
  let done = 0;
  const failed: string[] = [];
  for (const agentId of names) {
    for (const session of await sessions(agents, agentId)) {
      const lane = shared.lane({ sessionKey: session.sessionKey, agentId });
      try {
        const isRead = await lane.catchUp(reader, { agentId, ...session }, shared.settings.importMs);
        if (isRead) done += 1;
        else failed.push(`${session.sessionKey}: there is no transcript, or the host is just indexing it`);
      } catch (error) {
        failed.push(`${session.sessionKey}: ${String(error)}`);
      }
    }
  }
  return [`${done} histories of ${names.length} agents are in the store.`, ...failed].join("\n");
}

interface Session {
  sessionKey: string;
  sessionId: string;
  sessionFile?: string;
}

async function sessions(agents: string, agentId: string): Promise<Session[]> {
  const name = "openclaw/plugin-sdk/session-store-runtime";
  const store = (await import(name).catch(() => ({}))) as Store;
  const listed = (await store.listSessionEntries?.({ agentId })) as unknown;
  const entries = Array.isArray(listed) ? listed : Object.entries((listed ?? {}) as Record<string, object>);
  return entries.flatMap((one: unknown) => {
    const [key, entry] = Array.isArray(one) ? one : [(one as Session).sessionKey, (one as { entry?: object }).entry ?? one];
    const { sessionId, sessionFile } = (entry ?? {}) as Session;
    if (typeof key !== "string" || typeof sessionId !== "string") return [];
    return [{ sessionKey: key, sessionId, sessionFile: sessionFile ?? join(agents, agentId, "sessions", `${sessionId}.jsonl`) }];
  });
}
