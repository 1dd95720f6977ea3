// Conditions that must hold after every scenario.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { zstdDecompressSync } from "node:zlib";

import { textOf } from "./model.mjs";

export function want(is, what) {
  if (!is) throw new Error(what);
}

/** Messages of a session as the host stores them, in stretches between resets, oldest first. */
export function transcript(host, session) {
  if (host.hasFiles) return stretches(activePath(fileOf(host, session)));
  const db = hostDb(host, session.lane);
  const rows = db
    .prepare(
      `select event_json text, event_zstd packed from session_transcript_active_events a join transcript_events e
       on e.session_id = a.session_id and e.seq = a.event_seq where a.session_id = ? order by a.active_position`,
    )
    .all(session.id);
  db.close();
  return stretches(rows.map(({ text, packed }) => JSON.parse(text ?? zstdDecompressSync(packed).toString())));
}

/** The current session of a key. The lane names the agent if the key does not. */
export function session(host, key, lane = key) {
  if (host.hasFiles) return { key, lane, id: sessionsOf(host, lane)[key]?.sessionId, file: sessionsOf(host, lane)[key]?.sessionFile };
  const db = hostDb(host, lane);
  const row = db.prepare("select current_session_id id from session_nodes where session_key = ?").get(key);
  db.close();
  return { key, lane, id: row?.id };
}

/** Keys of sessions with this prefix. */
export function keys(host, beginning) {
  if (host.hasFiles) return Object.keys(sessionsOf(host, beginning)).filter((key) => key.startsWith(beginning));
  const db = hostDb(host, beginning);
  const rows = db.prepare("select session_key from session_nodes where substr(session_key, 1, ?) = ?").all(beginning.length, beginning);
  db.close();
  return rows.map((row) => row.session_key);
}

/** The folder of a lane's agent. */
const agentOf = (host, lane) => join(host.state, "agents", lane.split(":")[1]);

function hostDb(host, lane) {
  return new DatabaseSync(join(agentOf(host, lane), "agent/openclaw-agent.sqlite"), { readOnly: true });
}

/** The transcript of a host with transcript files. */
const sessionsOf = (host, lane) => JSON.parse(readFileSync(join(agentOf(host, lane), "sessions/sessions.json"), "utf8"));

function fileOf(host, session) {
  const path = session.file ?? join(agentOf(host, session.lane), "sessions", `${session.id}.jsonl`);
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return lines.filter(Boolean).map((line) => JSON.parse(line));
}

/** The events from the first to the last one, along their parents. */
function activePath(events) {
  const known = new Map(events.filter((event) => event.id && event.type !== "session").map((event) => [event.id, event]));
  const path = [];
  for (let event = events.findLast(({ id, type }) => id && type !== "session"); event; event = known.get(event.parentId)) path.unshift(event);
  return path;
}

function stretches(events) {
  const found = [[]];
  for (const event of events) {
    if (event.type === "reset") found.push(tail(found.at(-1), event.firstKeptEntryId));
    if (event.type === "message") found.at(-1).push({ id: event.id, message: event.message });
  }
  return found;
}

/** The messages that a reset keeps: all from one entry on, including results of calls. */
function tail(entries, from) {
  const at = entries.findIndex(({ id }) => id === from);
  const kept = at < 0 ? [] : entries.slice(at);
  const calls = kept.flatMap(({ message }) => (Array.isArray(message.content) ? message.content.map(({ id }) => id) : []));
  return kept.filter(({ message: { role, toolCallId } }) => ["user", "assistant"].includes(role) || (role === "toolResult" && calls.includes(toolCallId)));
}

/** A lane of the store: its path, oldest first, and all stored messages. */
export function stored(host, lane) {
  const args = ["--db", host.database, "export", `journal:${lane}`];
  const lines = execFileSync(host.unforget, args, { encoding: "utf8", maxBuffer: 1 << 30 }).trim().split("\n");
  const nodes = new Map();
  const beside = new Set();
  const all = [];
  let newest;
  let head;
  for (const [index, line] of lines.entries()) {
    const record = JSON.parse(line);
    const parent = "after" in record ? (record.after ?? undefined) : newest;
    const isCut = record.is === "event" && "after" in record;
    if (isCut) head = parent;
    // Messages that the host leaves out of its prompts are beside the path.
    if (record.is === "face") all.push({ message: record.message });
    if (record.is !== "message") continue;
    if (record.volatile) beside.add(record.message);
    const name = record.id ?? `#${index}`;
    all.push({ id: record.id, message: record.message });
    if (record.message.excludeFromContext === true) continue;
    nodes.set(name, { parent, id: record.id, message: record.message });
    newest = name;
    head = name;
  }
  const path = [];
  for (let at = head; at !== undefined; at = nodes.get(at)?.parent) path.unshift(nodes.get(at));
  // Input that the host does not store is on the path, but in no transcript.
  return { path: path.filter(({ message }) => !beside.has(message)), all };
}

/** Checks that the store equals the host's transcript, entry by entry. */
export function checkStore(host, session) {
  const { lane } = session;
  const truth = transcript(host, session);
  const { path, all } = stored(host, lane);
  const isShown = ({ message }) => message.excludeFromContext !== true;
  // Hosts with files write the message of a retried turn a second time, equal to the millisecond; the store has it
  // once.
  const isAnother = ({ message }, index, all) => !host.hasFiles || !all.slice(0, index).some((one) => isDeepStrictEqual(message, one.message));
  const now = truth.at(-1).filter(isShown).filter(isAnother);
  const here = path.filter(isAnother);
  for (let index = 0; index < Math.max(now.length, here.length); index++) {
    const [theirs, ours] = [now[index], here[index]];
    const isSame = theirs && ours && isDeepStrictEqual(theirs.message, ours.message) && (!ours.id || ours.id === theirs.id);
    want(isSame, `${lane}: entry ${index} of ${now.length} is ${brief(theirs)} at the host, ${brief(ours)} of ${here.length} here`);
  }
  for (const entry of truth.flat()) {
    const count = all.filter(({ message }) => isDeepStrictEqual(message, entry.message)).length;
    want(count >= 1, `${lane}: not stored: ${brief(entry)}`);
  }
  return now.length;
}

const brief = (entry) => (entry ? `${entry.id} ${JSON.stringify(entry.message).slice(0, 160)}` : "nothing");

/** Checks that the model's requests were valid and below its window, apart from refusals requested by a script. */
export function checkRequests(requests) {
  for (const { number, violations, tokens, window, isRefused, step } of requests) {
    want(violations.length === 0, `request ${number} is not valid: ${violations.join("; ")}`);
    want(isRefused || tokens <= window, `request ${number} has ${tokens} tokens of ${window}: ${JSON.stringify(step)}`);
  }
}

/** Checks that the requests contain, or do not contain, the words. */
export function checkWords(requests, { has = [], hasNot = [] }) {
  for (const { number, body } of requests) {
    const text = body.messages.map((message) => `${textOf(message.content)} ${JSON.stringify(message.tool_calls ?? "")}`).join("\n");
    for (const word of has) want(text.includes(word), `request ${number} lacks ${JSON.stringify(word)}`);
    for (const word of hasNot) want(!text.includes(word), `request ${number} still has ${JSON.stringify(word)}`);
  }
}

const ALARMS = [/context.engine.*(quarantin|falling back|remains queued|legacy|degrad|failed)/i, /turn advancement is blocked/];

/** Known messages of the host with any engine: it cannot hand over turns that got a steering message. */
const KNOWN = /transcript range is session-rebound/;

/** Checks that the host uses the engine and logs no other problem. */
export async function checkHost(host, { allowed = [] } = {}) {
  const health = await host.call("health");
  const engine = health.contextEngine ?? {};
  want(!engine.quarantined || Object.keys(engine.quarantined).length === 0, `quarantined: ${JSON.stringify(engine)}`);
  const lines = host.said().split("\n").slice(host.seen ?? 0);
  host.seen = (host.seen ?? 0) + lines.length - 1;
  const alarms = lines.filter((line) => !KNOWN.test(line) && ALARMS.some((alarm) => alarm.test(line)) && !allowed.some((word) => word.test(line)));
  want(alarms.length === 0, `the host says: ${alarms[0]}`);
  const own = lines.filter((line) => line.includes("unforget: degraded") && !allowed.some((word) => word.test(line)));
  want(own.length === 0, `the plugin says: ${own[0]}`);
}
