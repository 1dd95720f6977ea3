// The engine's process: exits, silence and noise, simulated by a test program.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Engine } from "../dist/engine.js";
import { settings } from "../dist/settings.js";

/**
 * A program that answers calls with their number, except for `hang`, `late` and `busy`. The first process ends at `die`
 * and `noise`.
 */
const PROGRAM = `#!${process.execPath}
const { createInterface } = require("node:readline");
const { appendFileSync, statSync } = require("node:fs");
const starts = process.argv.at(-1) + ".starts";
appendFileSync(starts, ".");
const isFirst = statSync(starts).size === 1;
const write = (value) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...value }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "hang" || method === "$/cancel") return;
  if (method === "late") return setTimeout(() => write({ id, result: "late" }), 600);
  if (method === "busy") return write({ id, error: { code: 1006, message: "it waited too long", data: { kind: "deadline" } } });
  if (method === "die" && isFirst) process.exit(1);
  if (method === "noise" && isFirst) return process.stdout.write("noise\\n");
  write({ id, result: process.pid });
}).on("close", () => process.exit(0));
`;

function engine(more = {}) {
  const folder = mkdtempSync(join(tmpdir(), "unforget-"));
  const [binary, database] = [join(folder, "engine"), join(folder, "db")];
  writeFileSync(binary, PROGRAM, { mode: 0o755 });
  const said = [];
  const log = { info: () => {}, warn: (text) => said.push(text) };
  const own = new Engine({ ...settings({ binary, database, deadlineMs: 2_000, ...more }, folder) }, log, async () => {});
  return { own, said, starts: () => readFileSync(`${database}.starts`, "utf8").length };
}

test("a call that meets the end of a process is made with the next one", async () => {
  for (const end of ["die", "noise"]) {
    for (let round = 0; round < 6; round++) {
      const { own, starts } = engine();
      const pid = await own.call("pid", {});
      const others = await Promise.all([end, "pid", "pid"].map((method) => own.call(method, {})));
      assert.deepEqual([others.includes(pid), starts()], [false, 2], end);
      own.close();
    }
  }
});

test("a process that answers is not given up, however late or with what", async () => {
  const { own, starts } = engine();
  const pid = await own.call("pid", {});
  for (const call of ["busy", "busy", "busy"]) await assert.rejects(own.call(call, {}), { kind: "deadline" });
  // The answer of the first call arrives while the second one waits.
  const late = [own.call("late", {}, 100), own.call("hang", {}, 500)].map((call) => call.catch(({ kind }) => kind));
  assert.deepEqual(await Promise.all(late), ["silent", "deadline"]);
  await assert.rejects(own.call("hang", {}, 50), { kind: "silent" });
  await assert.rejects(own.call("busy", {}), { kind: "deadline" });
  await assert.rejects(own.call("hang", {}, 50), { kind: "silent" });
  assert.deepEqual([await own.call("pid", {}), starts()], [pid, 1]);
  own.close();
});

test("a process that says nothing at all is ended", async () => {
  const { own, said } = engine();
  const pid = await own.call("pid", {});
  for (const call of [1, 2]) await assert.rejects(own.call("hang", { call }, 50), { kind: "silent" });
  assert.notEqual(await own.call("pid", {}), pid);
  assert.ok(said.some((line) => line.includes("it does not answer")));
  own.close();
});

test("a stop is the end, also for calls that are under way", async () => {
  const { own, starts } = engine();
  await own.call("pid", {});
  const under = own.call("hang", {});
  own.close();
  await assert.rejects(under, { kind: "away" });
  await assert.rejects(own.call("pid", {}), { kind: "away" });
  assert.equal(starts(), 1);
});
