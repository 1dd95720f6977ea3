// The engine of a turn as the host calls it, before an engine of the test's own.

import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { contextEngine } from "../dist/context.js";
import { settings } from "../dist/settings.js";
import { Shared } from "../dist/shared.js";

const ASSEMBLED = { messages: [], tokens: { expected: 0, upper: 0 }, system: [], certificate: { omitted: 0, cover: { stubbed: 0, summarised: 0, elided: 0 } } };
const STATUS = { cursor: null, path: 0, generation: 0, entries: 0, debt: { storedTokens: 0 } };

/** All that an engine may answer, in one. */
function shared(answer = () => ({ ...STATUS, ...ASSEMBLED, status: "committed", asksModel: true }), more = {}) {
  const [calls, said] = [[], []];
  const log = { info: () => {}, warn: (text) => said.push(text) };
  const folder = mkdtempSync(join(tmpdir(), "unforget-"));
  const own = new Shared({ ...settings(more, folder) }, log);
  own.engine.starts = 1;
  own.engine.call = async (method, params) => (calls.push({ method, ...params }), answer(method, params));
  return { own, calls, said };
}

test("agents that share a key do not share a lane, whatever a call says of its agent", async () => {
  const { own, calls } = shared();
  const [key, sessionId] = ["global", "s"];
  const call = { sessionKey: key, sessionId, messages: [{ role: "user", content: "hello" }], tokenBudget: 9_000 };
  const dir = (agent) => ({ agentDir: join("/state/agents", agent, "agent") });
  const commit = { ...call, advancementKey: "t", admission: { entryId: "e" }, terminal: { entryId: "e" } };
  const sessionTarget = { agentId: "third", sessionId, sessionKey: key };
  const table = [
    ["agent:first:global", dir("first"), [["assemble", call]], "an engine's agent by its folder"],
    ["agent:second:global", dir("second"), [["assemble", call], ["maintain", call], ["compact", call]], "another one"],
    ["agent:third:global", { agentDir: "/elsewhere" }, [["bootstrap", { ...call, sessionTarget }], ["assemble", call]], "what the first call said"],
    ["agent:third:global", dir("second"), [["commitTurn", { ...commit, sessionTarget }], ["maintain", call]], "a call says it itself"],
    ["agent:fourth:x", dir("second"), [["assemble", { ...call, sessionKey: "agent:fourth:x" }]], "the key does"],
  ];
  for (const [lane, made, turn, why] of table) {
    calls.length = 0;
    const engine = contextEngine(own, made);
    for (const [method, params] of turn) await engine[method](params).catch((error) => assert.fail(`${why}: ${method}: ${error}`));
    assert.ok(calls.length > 0, why);
    assert.deepEqual([...new Set(calls.map((call) => call.lane))], [lane], why);
  }
});
