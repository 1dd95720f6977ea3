// The engine of a turn under the calls of the host, with a simulated engine process behind it.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Fault } from "../dist/connection.js";
import { contextEngine } from "../dist/context.js";
import { settings } from "../dist/settings.js";
import { Shared } from "../dist/shared.js";

const ASSEMBLED = { messages: [], tokens: { expected: 0, upper: 0 }, system: [], certificate: { omitted: 0, cover: { stubbed: 0, summarised: 0, elided: 0 } } };
const STATUS = { cursor: null, path: 0, generation: 0, entries: 0, debt: { storedTokens: 0 } };

/** All fields that an engine may answer with. */
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

const CALL = { sessionKey: "agent:main:x", sessionId: "s", messages: [{ role: "user", content: "hello" }], tokenBudget: 9_000 };

test("a tool loop without room gets the smallest prompt, and nothing is degraded", async () => {
  const smallest = { ...ASSEMBLED, messages: [{ role: "user", content: "smallest" }] };
  const { own, calls, said } = shared((method, { budget }) => {
    if (method === "assemble" && budget < 700) throw new Fault("irreducible", "too large", [], 700 - budget);
    return { ...STATUS, ...smallest };
  });
  const sessionFile = join(mkdtempSync(join(tmpdir(), "unforget-")), "s.jsonl");
  writeFileSync(sessionFile, `${JSON.stringify({ type: "message", id: "u1", parentId: null, message: CALL.messages[0] })}\n`);
  const { messages } = await contextEngine(own).assemble({ ...CALL, sessionFile, tokenBudget: 1 });
  assert.deepEqual(messages, smallest.messages);
  assert.deepEqual(calls.filter(({ method }) => method === "assemble").map(({ budget }) => budget), [1, 700]);
  assert.equal(own.degradations, 0);
  assert.ok(said.some((line) => line.includes("leaves 1 tokens") && line.includes("699 less")), said);
});

test("what fails behind the reply is told", async () => {
  const { own, said } = shared((method) => {
    if (method === "maintain") throw new Fault("store", "the disk is full");
    return { ...STATUS, asksModel: false };
  }, { summaries: "host" });
  const llm = { complete: async () => ({ text: "" }) };
  const { reason } = await contextEngine(own).maintain({ ...CALL, runtimeContext: { llm, modelId: "m" } });
  assert.match(reason, /the disk is full/);
  assert.deepEqual([own.degradations, /maintain: store: the disk is full/.test(own.lastDegradation)], [1, true]);
  assert.ok(said.some((line) => line.includes("the disk is full")), "logged");
  assert.ok(said.some((line) => line.includes("the host's model is not used")), "the engine asks models of its own");
});

test("the host's model is offered again if it could not be", async () => {
  let isDown = true;
  const { own, calls } = shared((method) => {
    if (method === "initialize" && isDown) throw new Fault("away", "gone");
    return { ...STATUS, asksModel: true };
  }, { summaries: "host" });
  for (const offers of [1, 2, 2]) {
    own.offer({ name: "m" });
    await new Promise(setImmediate);
    assert.equal(calls.filter(({ method }) => method === "initialize").length, offers);
    isDown = false;
  }
});

test("an engine that hangs holds a turn up once", async () => {
  const { own, calls } = shared(() => {
    throw new Fault("silent", "it was not answered");
  });
  const engine = contextEngine(own);
  assert.equal((await engine.bootstrap(CALL)).bootstrapped, false);
  assert.deepEqual((await engine.assemble(CALL)).messages, CALL.messages);
  assert.equal(calls.length, 1, JSON.stringify(calls));
});
