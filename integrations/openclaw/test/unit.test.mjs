// Units that need no host.

import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { PassThrough } from "node:stream";
import { test } from "node:test";

import { findBinary } from "../dist/binary.js";
import { Clock } from "../dist/clock.js";
import { Connection } from "../dist/connection.js";
import { behind, budgetOf } from "../dist/context.js";
import { legacyConfigRules, normalizeCompatibilityConfig } from "../dist/doctor-contract-api.js";
import { newest, tokensOf } from "../dist/fallback.js";
import { readFile } from "../dist/file.js";
import { Held } from "../dist/held.js";
import { withImages } from "../dist/images.js";
import { settings } from "../dist/settings.js";
import { read, split } from "../dist/transcript.js";

const entry = (id, role = "user") => ({ id, message: { role, content: id } });

test("resets part a transcript, and may keep its end", () => {
  const table = [
    // entries, resets as [ids before, first kept], stretches
    ["a b", [], "a b"],
    ["a b", [["a b"]], "a b |"],
    ["a b c", [["a b"]], "a b | c"],
    ["a b c", [["a b", "b"]], "a b | b c"],
    ["c", [[""]], "| c"],
    ["a b c", [["a"], ["b"]], "a | b | c"],
    ["a", [["a"], [""]], "a | |"],
  ];
  for (const [entries, resets, want] of table) {
    const list = (text) => text.split(" ").filter(Boolean);
    const found = split(list(entries).map((id) => entry(id)), resets.map(([before, firstKept]) => ({ before: new Set(list(before)), firstKept })));
    const said = found.map(({ entries }) => entries.map(({ id }) => id).join(" ")).join(" | ").trim();
    assert.equal(said.replaceAll("  ", " "), want, entries);
    assert.deepEqual(found.map(({ isReset }) => isReset), found.map((_, index) => index > 0));
  }
});

test("a budget is that of the first call, less what the host puts behind", () => {
  const call = (tokenBudget, promptTokenBudget, prompt) => ({ tokenBudget, prompt, runtimeSettings: { limits: { promptTokenBudget } } });
  const table = [
    [call(41_228, 41_228, "hi"), true, undefined, 41_228, "first"],
    [call(63_964, 64_000, "hi"), false, 41_228, 41_192, "in the loop"],
    [call(30_000, 64_000, "hi"), false, 41_228, 7_228, "much is pending"],
    [call(1_000, 64_000, "hi"), false, 41_228, 1, "more than there is room for"],
    [call(64_000, 64_000, undefined), false, 38_480, 38_480, "hosts that put nothing behind"],
  ];
  for (const [given, isFirst, first, want, why] of table) {
    const turn = isFirst ? { budget: given.tokenBudget, behind: 0 } : { budget: first, behind: behind(given) };
    assert.equal(budgetOf(given, turn), want, why);
  }
});

test("without the engine the newest turns that fit are sent", () => {
  const turn = (n) => [{ role: "user", content: `question ${n}` }, { role: "assistant", content: "x".repeat(300) }];
  const messages = [1, 2, 3].flatMap(turn);
  const size = tokensOf(turn(1));
  assert.equal(newest(messages, 4 * size).length, 6);
  assert.equal(newest(messages, 2 * size + 8).length, 4);
  assert.equal(newest(messages, 1).length, 2, "the last turn always");
});

test("a cursor that the host has taken back begins anew", async () => {
  const page = (entries) => ({ kind: "page", cursor: "new", hasMore: false, entries });
  const fence = Object.assign(new Error("crossed"), { name: "SessionTranscriptReadFenceError" });
  for (const first of [() => ({ kind: "reset", reason: "anchor_missing" }), () => Promise.reject(fence)]) {
    const sdk = {
      readSessionTranscriptVisibleMessageDelta: async ({ cursor }) => (cursor ? first() : page([{ entryId: "a", message: entry("a").message }])),
      readSessionTranscriptRawDelta: async () => ({ kind: "page", cursor: "raw", hasMore: false, events: [{ event: { type: "message", id: "a" }, seq: 1 }] }),
    };
    const delta = await read(sdk, { agentId: "main", sessionId: "s" }, { session: "s", visible: "old", raw: "old" });
    assert.equal(delta.isWhole, true);
    assert.deepEqual(delta.stretches, [{ isReset: false, entries: [entry("a")] }]);
  }
});

test("a file is read from where it was read last", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "unforget-")), "s.jsonl");
  const line = (id, parentId) => `${JSON.stringify({ type: "message", id, parentId, message: { role: "user", content: id } })}\n`;
  const ids = (delta) => delta.stretches.map(({ entries }) => entries.map(({ id }) => id).join(""));
  assert.equal(await readFile(path, { session: "s" }), undefined, "not there");
  writeFileSync(path, `${JSON.stringify({ type: "session", id: "s" })}\n${line("a", null)}${line("b", "a")}`);
  const first = await readFile(path, { session: "s" });
  assert.deepEqual([first.isWhole, ids(first)], [true, ["ab"]]);
  appendFileSync(path, `${line("c", "b")}{"type":"mess`);
  const second = await readFile(path, first.cursor);
  assert.deepEqual([second.isWhole, ids(second)], [false, ["c"]], "a torn line waits");
  appendFileSync(path, `age"}\n${line("x", "a")}`);
  const third = await readFile(path, second.cursor);
  assert.deepEqual([third.isWhole, ids(third)], [true, ["ax"]], "another branch");
  writeFileSync(`${path}.new`, line("y", null));
  renameSync(`${path}.new`, path);
  assert.deepEqual(ids(await readFile(path, third.cursor)), ["y"], "another file in its place");
});

test("calls have their deadlines, and late answers are dropped", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const connection = new Connection(input, output, async (method) => `${method}!`, new Clock());
  const slow = connection.call("slow", {}, 1);
  await assert.rejects(slow, { kind: "silent" });
  const call = connection.call("next", {}, 1_000);
  input.write('{"id":1,"result":"late"}\n{"jsonrpc":"2.0","id":2,"res');
  input.write('ult":"in time"}\n{"jsonrpc":"2.0","id":"u1","method":"complete","params":{}}\n');
  assert.equal(await call, "in time");
  const waiting = connection.call("lost", {}, 1_000);
  input.destroy();
  await assert.rejects(waiting, { kind: "away" });
});

test("settings of another type count as not given", () => {
  const read = settings({ deadlineMs: "soon", autoPins: true }, "/state");
  assert.deepEqual([read.deadlineMs, read.autoPins, read.database], [5_000, true, "/state/unforget/unforget.sqlite"]);
});

test("the host's doctor mends settings, and says what it did", () => {
  const table = [
    // given, repaired, changes
    [undefined, undefined, 0],
    [{}, {}, 0],
    [{ deadlineMs: 3_000, autoPins: true, summaries: "host", binary: "/x" }, { deadlineMs: 3_000, autoPins: true, summaries: "host", binary: "/x" }, 0],
    [{ deadlineMs: "3000", autoPins: "true", recallPolicy: "false" }, { deadlineMs: 3_000, autoPins: true, recallPolicy: false }, 3],
    [{ deadlineMs: 1, importMs: 1_500.4 }, { deadlineMs: 100, importMs: 1_500 }, 2],
    [{ deadlineMs: "soon", importMs: "", autoPins: 1, summaries: "both", binary: null, socket: "/s" }, { socket: "/s" }, 5],
    [{ depth: 3, constructor: 1, autoPins: "constructor" }, {}, 3],
    [JSON.parse('{"__proto__":{"deadlineMs":1}}'), {}, 1],
    ["quick", {}, 1],
    [["quick"], {}, 1],
    [null, {}, 1],
  ];
  for (const [given, wanted, count] of table) {
    const cfg = { gateway: { port: 1 }, plugins: { entries: { other: {}, unforget: { enabled: true, config: given } } } };
    const before = structuredClone(cfg);
    const { config, changes } = normalizeCompatibilityConfig({ cfg });
    assert.deepEqual([config.plugins.entries.unforget.config, changes.length], [wanted, count], JSON.stringify(given));
    assert.deepEqual({ ...config, plugins: 0 }, { ...cfg, plugins: 0 });
    assert.deepEqual(cfg, before, "what was given is left alone");
    assert.equal(legacyConfigRules[0].match(given), count > 0);
    assert.deepEqual(normalizeCompatibilityConfig({ cfg: config }).changes, [], "once is enough");
  }
  for (const cfg of [{}, { plugins: {} }, { plugins: { entries: {} } }]) assert.deepEqual(normalizeCompatibilityConfig({ cfg }), { config: cfg, changes: [] });
});

test("the program is found by the settings, the package of the platform, and PATH, in this order", () => {
  const folder = mkdtempSync(join(tmpdir(), "unforget-"));
  const program = (...path) => {
    const file = join(folder, ...path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "", { mode: 0o755 });
    return file;
  };
  const [own, onPath] = [program("own"), program("path/unforget")];
  assert.equal(findBinary(own, join(folder, "plugin.js"), join(folder, "path")), own);
  assert.throws(() => findBinary(join(folder, "nowhere"), join(folder, "plugin.js"), join(folder, "path")), /correct `binary`/);
  assert.equal(findBinary("", join(folder, "plugin.js"), `${join(folder, "empty")}:${join(folder, "path")}`), onPath);
  assert.throws(() => findBinary("", join(folder, "plugin.js"), join(folder, "empty")), /no `unforget` on the PATH/);
  const packaged = program(`node_modules/openclaw-unforget-${process.platform}-${process.arch}/unforget`);
  assert.equal(findBinary("", join(folder, "plugin.js"), join(folder, "path")), packaged);
});

test("what the host does while it waits is not added by us", async () => {
  const busy = () => {
    for (const end = performance.now() + 60; performance.now() < end; );
  };
  const later = () => new Promise((resolve) => setTimeout(resolve, 60));
  const clock = new Clock();
  const table = [
    ["stands still", () => later(), true],
    ["does its own work", () => busy(), false],
    ["works for us", () => clock.work(busy), true],
    ["works for us in pieces", () => clock.working(async () => (busy(), await null)), true],
    ["works for us twice at once", () => Promise.all([clock.working(async () => busy()), clock.working(async () => await null)]), true],
  ];
  for (const [why, what, isAdded] of table) {
    // The loop counts from one turn to the next.
    await new Promise((resolve) => setImmediate(resolve));
    const end = clock.wait();
    await what();
    const { waited, added } = end();
    assert.ok(waited >= 50, `${why}: ${waited} ms`);
    assert.equal(added > waited / 2, isAdded, `${why}: ${added} of ${waited} ms`);
  }
});

test("a prompt is whole although its beginning was not sent again", () => {
  const held = new Held();
  const said = (...words) => words.map((content) => ({ role: "user", content }));
  const given = (digest) => ({ length: 1, digest });
  const table = [
    // same, sent, whole, whether copies are ready
    [undefined, "a b", "a b", false],
    [2, "c", "a b c", false],
    [3, "", "a b c", true],
    [1, "x y", "a x y", true],
    [0, "n", "n", true],
  ];
  for (const [same, sent, whole, isReady] of table) {
    if (isReady) held.prepare("a");
    const messages = held.whole("a", held.of("a"), { messages: said(...sent.split(" ").filter(Boolean)), same, given: given(whole) });
    assert.deepEqual(messages, said(...whole.split(" ")));
    assert.equal(held.of("a").given.digest, whole);
    // The host may change the messages that it was given, now and earlier.
    for (const message of messages) message.content = "changed";
  }
  const old = held.of("a");
  held.prepare("a");
  const [one, two] = [1, 2].map(() => held.whole("a", old, { messages: [], same: 1, given: given("n") }));
  assert.ok(one[0] !== two[0], "two calls at once");
  for (let lane = 0; lane < 100; lane++) held.whole(String(lane), held.of(String(lane)), { messages: said("a"), given: given("a") });
  assert.deepEqual([held.of("a").texts, held.of("91").texts.length, held.of("92").texts.length], [[], 0, 1], "memory is bounded");
  assert.deepEqual(held.whole("99", held.of("99"), { messages: said("b") }), said("b"), "an engine that knows nothing of it");
  assert.deepEqual(held.of("99").texts, []);
});

test("images that the host has loaded stand in the prompt while there is room", () => {
  const image = { type: "image", data: "AA", mimeType: "image/png" };
  const [text, note] = [{ type: "text", text: "look" }, { type: "text", text: "[image]" }];
  const noted = (timestamp, role = "user") => ({ role, timestamp, content: [text, note] });
  const loaded = (timestamp, role = "user") => ({ role, timestamp, content: [text, image] });
  const live = [loaded(1), loaded(2), noted(3), loaded(4, "toolResult")];
  const table = [
    [9_000, [1, 2, 3, 4], [1, 2], "all that are loaded"],
    [1_700, [1, 2, 3, 4], [2], "the newest one"],
    [100, [1, 2, 3, 4], [], "no room"],
    [-5, [1, 2], [], "less than none"],
    [9_000, [5], [], "another message"],
  ];
  for (const [room, times, want, why] of table) {
    const shown = withImages(times.map((time) => noted(time)), live, room);
    assert.deepEqual(shown.filter(({ content }) => content.includes(image)).map(({ timestamp }) => timestamp), want, why);
    assert.ok(shown.every(({ content }) => content[0] === text && content[1] === note), why);
  }
  assert.deepEqual(withImages([loaded(1), { role: "user", content: "x" }], live, 9_000), [loaded(1), { role: "user", content: "x" }], "shown, and without a time");
});
