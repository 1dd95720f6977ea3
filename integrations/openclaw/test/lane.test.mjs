// Delivery of a transcript to the engine: a lane with a simulated transcript and a simulated engine.

import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Clock } from "../dist/clock.js";
import { Lane } from "../dist/lane.js";

const said = (id, message) => ({ type: "message", id, message: { role: id.startsWith("a") ? "assistant" : "user", content: id, ...message } });
const reset = (id, firstKeptEntryId) => ({ type: "reset", id, firstKeptEntryId });

/** A host's transcript of events, with positions as cursors. */
function transcript(...events) {
  const page = (cursor, more) => ({ kind: "page", cursor: String(events.length), hasMore: false, ...more(events.slice(Number(cursor ?? 0))) });
  const host = {
    events,
    /** Makes the cursors of messages invalid, once. */
    isAnew: false,
    readSessionTranscriptVisibleMessageDelta: async ({ cursor }) => {
      if (cursor && host.isAnew) return { kind: "reset", reason: "anchor_missing" };
      return page(cursor, (found) => ({ entries: found.filter(({ type }) => type === "message").map(({ id, message }) => ({ entryId: id, message })) }));
    },
    readSessionTranscriptRawDelta: async ({ cursor }) => page(cursor, (found) => ({ events: found.map((event) => ({ event })) })),
  };
  return host;
}

/** An engine that keeps a path of ids and all ids ever received. */
function engine() {
  const kept = { starts: 1, path: [], all: [], generation: 0, cursor: null, calls: 0, fails: () => false, patience: () => 1_000, clock: new Clock() };
  const take = ({ messages, isReset, cursor }) => {
    if (isReset) Object.assign(kept, { path: [], generation: kept.generation + 1 });
    for (const { id } of messages.filter(({ id }) => !kept.path.includes(id))) {
      kept.path.push(id);
      kept.all.push(id);
    }
    kept.cursor = cursor ?? kept.cursor;
  };
  kept.call = async (method, params) => {
    kept.calls += 1;
    const fails = kept.fails(method, params);
    if (fails === "before") throw new Error("lost");
    if (method === "open") return { cursor: kept.cursor, path: kept.path.length, generation: kept.generation };
    const whole = method === "catchUp" && params.array?.messages.map(({ id }) => id);
    if (whole) kept.all.push(...whole.filter((id) => !kept.path.includes(id)));
    if (whole) kept.path = whole;
    else if (method === "catchUp") take(params);
    else if (method === "event") kept.path.length = kept.path.indexOf(params.event.to) + 1;
    if (fails === "after") throw new Error("lost");
    return { status: "committed" };
  };
  return kept;
}

const target = { agentId: "main", sessionKey: "agent:main:x", sessionId: "s" };
const lane = (engine) => new Lane("agent:main:x", engine);
const ids = (text) => text.split(" ").filter(Boolean);

test("a reset cuts off what was before it, and what the host keeps of that stays", async () => {
  const call = { content: [{ type: "toolCall", id: "c1" }] };
  const result = (id, toolCallId) => said(id, { role: "toolResult", toolCallId });
  const table = [
    // read before, written since, path, all ids in the order of arrival
    ["u1 a1 u2 a2", [reset("r")], "", "u1 a1 u2 a2", "without a tail"],
    ["u1 a1 u2 a2", [reset("r", "u2")], "u2 a2", "u1 a1 u2 a2 u2 a2", "a tail that was read before"],
    ["u1 a1 u2 a2", [reset("r", "u2"), said("u3")], "u2 a2 u3", "u1 a1 u2 a2 u2 a2 u3", "and goes on"],
    ["u1 a1", [said("u2"), said("a2"), reset("r", "u1"), said("u3")], "u1 a1 u2 a2 u3", "u1 a1 u2 a2 u1 a1 u2 a2 u3", "behind an unread turn"],
    ["u1 a1", [said("u2"), said("a2"), reset("r"), said("u3")], "u3", "u1 a1 u2 a2 u3", "an unread turn before it"],
    ["u1 a1", [reset("r", "u1"), said("u2"), reset("q", "u1"), said("u3")], "u1 a1 u2 u3", "u1 a1 u1 a1 u2 u1 a1 u2 u3", "twice"],
    ["u1", [said("a1", call), result("t1", "c1"), result("t2", "c2"), reset("r", "u1")], "u1 a1 t1", "u1 a1 t1 t2 u1 a1 t1", "results of calls"],
    ["u1", [said("a1", call), result("t1", "c1"), reset("r", "t1")], "", "u1 a1 t1", "a result without its call"],
  ];
  for (const [before, since, path, all, why] of table) {
    const [host, store] = [transcript(...ids(before).map((id) => said(id))), engine()];
    const own = lane(store);
    assert.equal(await own.catchUp(host, target, 1_000), true);
    host.events.push(...since);
    await own.catchUp(host, target, 1_000);
    assert.deepEqual([store.path, store.all], [ids(path), ids(all)], why);
    await own.catchUp(host, target, 1_000);
    await lane(store).catchUp(host, target, 1_000);
    assert.deepEqual([store.path, store.all], [ids(path), ids(all)], `${why}: read again`);
  }
});

test("what was written anew before a reset is there, and cut off by it", async () => {
  for (const isAnew of [true, false]) {
    const [host, store] = [transcript(...ids("u1 a1 u2").map((id) => said(id))), engine()];
    const own = lane(store);
    await own.catchUp(host, target, 1_000);
    // The host takes u2 back, goes on, and resets before the next read.
    if (isAnew) host.events.splice(2, 1);
    host.isAnew = isAnew;
    host.events.push(said("u3"), said("a3"), reset("r", "u3"), said("u4"));
    await own.catchUp(host, target, 1_000);
    assert.deepEqual(store.path, ids("u3 a3 u4"));
    assert.deepEqual(store.all, ids("u1 a1 u2 u3 a3 u3 a3 u4"), "nothing is lost");
    host.isAnew = false;
    host.events.push(said("a4"));
    await own.catchUp(host, target, 1_000);
    assert.deepEqual(store.path, ids("u3 a3 u4 a4"));
  }
});

test("a delivery that is lost on the way is made again, once", async () => {
  for (const fails of ["before", "after"]) {
    for (const lost of [1, 2]) {
      const [host, store] = [transcript(...ids("u1 a1").map((id) => said(id))), engine()];
      const own = lane(store);
      await own.catchUp(host, target, 1_000);
      host.events.push(said("u2"), said("a2"), reset("r"), said("u3"));
      let pages = 0;
      store.fails = (method) => method === "catchUp" && ++pages === lost && fails;
      await assert.rejects(own.catchUp(host, target, 1_000));
      await own.catchUp(host, target, 1_000);
      assert.deepEqual([store.path, store.all, store.generation], [ids("u3"), ids("u1 a1 u2 a2 u3"), 1], `page ${lost} lost ${fails} it was stored`);
    }
  }
});

test("two that read at once deliver once", async () => {
  const [host, store] = [transcript(...ids("u1 a1").map((id) => said(id))), engine()];
  const own = lane(store);
  await own.catchUp(host, target, 1_000);
  host.events.push(reset("r", "a1"), said("u2"));
  await Promise.all([1, 2, 3].map(() => own.catchUp(host, target, 1_000)));
  assert.deepEqual([store.path, store.generation], [ids("a1 u2"), 1]);
});

test("what was said last in a session is there when another one takes its place", async () => {
  const line = (id, parentId) => `${JSON.stringify({ type: "message", id, parentId, message: { role: "user", content: id } })}\n`;
  // Path of the file at the next read, and whether the process was restarted before it.
  const table = ["", ".reset.2026-11-22T21-25-01.834Z", ".deleted.2026-11-22T21-25-01.834Z"].flatMap((aside) => [[aside, false], [aside, true]]);
  for (const [aside, isRestarted] of table) {
    const folder = mkdtempSync(join(tmpdir(), "unforget-"));
    const [store, at] = [engine(), (name) => ({ sessionId: name, sessionFile: join(folder, `${name}.jsonl`) })];
    const first = lane(store);
    writeFileSync(at("s").sessionFile, line("u1", null));
    await first.catchUp(undefined, at("s"), 1_000);
    // The engine was down, or the turn was aborted.
    appendFileSync(at("s").sessionFile, line("u2", "u1"));
    if (aside) renameSync(at("s").sessionFile, `${at("s").sessionFile}${aside}`);
    const own = isRestarted ? lane(store) : first;
    const why = `${aside} ${isRestarted}`;
    assert.equal(await own.catchUp(undefined, { sessionId: "n" }, 1_000), false, "no file yet, and no call says where");
    assert.deepEqual([store.path, store.all], [[], ["u1", "u2"]], why);
    writeFileSync(at("n").sessionFile, line("u3", null));
    await own.catchUp(undefined, at("n"), 1_000);
    assert.deepEqual([store.path, store.all, store.generation], [["u3"], ["u1", "u2", "u3"], 1], why);
  }
});

test("a session of a host with a database is read to its end, too", async () => {
  const [host, store] = [transcript(said("u1")), engine()];
  const own = lane(store);
  await own.catchUp(host, target, 1_000);
  host.events.push(said("u2"), reset("r"), said("u3"));
  const other = transcript(said("u4"));
  const both = Object.fromEntries(
    Object.entries(other).map(([name, read]) => [name, typeof read === "function" ? (ask) => (ask.sessionId === "s" ? host : other)[name](ask) : read]),
  );
  await own.catchUp(both, { ...target, sessionId: "n" }, 1_000);
  assert.deepEqual([store.path, store.all], [["u4"], ["u1", "u2", "u3", "u4"]]);
});

test("a page is waited for as long as its size says", async () => {
  const [host, store, waits] = [transcript(said("u1")), engine(), []];
  const { call } = store;
  Object.assign(store, { patience: (bytes) => 1_000 + bytes, call: (method, params, ms) => (waits.push([method, ms]), call(method, params)) });
  await lane(store).catchUp(host, target, 600_000);
  for (const [method, ms] of waits) assert.ok(ms >= 1_000 && ms < 1_200, `${method}: ${ms}`);
});
