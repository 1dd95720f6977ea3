// The plugin loaded by its path, with an addition for a test: once the file `rewrite` names a session, the next
// maintenance of that session makes the host replace its first tool result.

import { readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// The host accepts no module with a top-level await.
const { default: plugin } = createRequire(import.meta.url)(join(process.env.UNFORGET_PLUGIN, "dist/index.js"));
const file = join(process.env.OPENCLAW_HOME, "rewrite");

async function rewrite(call) {
  const { readSessionTranscriptVisibleMessageDelta: read } = await import("openclaw/plugin-sdk/session-transcript-runtime");
  const page = await read({ agentId: "main", sessionKey: call.sessionKey, sessionId: call.sessionId });
  const found = page.entries?.find((entry) => entry.role === "toolResult");
  if (!found || !call.runtimeContext?.rewriteTranscriptEntries) return undefined;
  rmSync(file);
  const message = { ...found.message, content: [{ type: "text", text: "REWRITTEN" }] };
  return call.runtimeContext.rewriteTranscriptEntries({ replacements: [{ entryId: found.entryId, message }] });
}

function isAsked(key) {
  try {
    return readFileSync(file, "utf8") === key;
  } catch {
    return false;
  }
}

export default {
  ...plugin,
  register(api) {
    const own = new Proxy(api, {
      get(target, name) {
        if (name !== "registerContextEngine") return Reflect.get(target, name);
        return (id, factory) =>
          target.registerContextEngine(id, async (context) => {
            const engine = await factory(context);
            const maintain = engine.maintain.bind(engine);
            engine.maintain = async (call) => (isAsked(call.sessionKey) && (await rewrite(call))) || maintain(call);
            return engine;
          });
      },
    });
    plugin.register(own);
  },
};
