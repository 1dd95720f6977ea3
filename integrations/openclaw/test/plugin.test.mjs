// The plugin as the host loads and reloads it.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

import plugin from "../dist/index.js";

// The host's list of sessions, if the host has transcript files.
const LIST = 'export const listSessionEntries = () => ["here", "gone"].map((id) => ({ sessionKey: "agent:main:" + id, entry: { sessionId: id } }));';
const isList = (name) => name === "openclaw/plugin-sdk/session-store-runtime";
registerHooks({ resolve: (name, context, next) => (isList(name) ? { url: `data:text/javascript,${LIST}`, shortCircuit: true } : next(name, context)) });

/** An engine that accepts everything, and a command line with a given exit code. */
const PROGRAM = `#!${process.execPath}
const verb = process.argv.at(-1);
if (verb === "doctor") process.exit(0);
if (verb.endsWith(".sqlite") && process.argv.includes("backup")) process.kill(process.pid, "SIGKILL");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const result = { cursor: null, path: 0, generation: 0, entries: 0, debt: { storedTokens: 0 } };
  process.stdout.write(JSON.stringify({ id: JSON.parse(line).id, result }) + "\\n");
});
`;

/** The plugin in a host with these settings. */
function load(pluginConfig, folder = mkdtempSync(join(tmpdir(), "unforget-"))) {
  const host = { folder, hooks: {}, said: [] };
  const binary = join(folder, "program");
  writeFileSync(binary, PROGRAM, { mode: 0o755 });
  plugin.register({
    pluginConfig: { binary, ...pluginConfig },
    logger: { info: () => {}, warn: (text) => host.said.push(text) },
    runtime: { state: { resolveStateDir: () => folder } },
    registerContextEngine: (_id, factory) => (host.factory = factory),
    registerCommand: ({ handler }) => (host.command = async (args) => (await handler({ args, sessionKey: "agent:main:x" })).text),
    on: (name, handler) => (host.hooks[name] = handler),
  });
  return host;
}

test("settings hold until the host stops the plugin, or replaces it", async () => {
  const [first, second] = [load({ database: `${tmpdir()}/first.sqlite` }), load({ database: `${tmpdir()}/second.sqlite` })];
  assert.match(await first.command("status"), /database: .*first.sqlite/);
  assert.match(await second.command("status"), /database: .*first.sqlite/, "one for all instances");
  first.hooks.gateway_stop();
  assert.match(await second.command("status"), /database: .*second.sqlite/);
  second.hooks.gateway_stop();
  second.hooks.gateway_stop();
});

test("what a command did not do is told", async () => {
  const host = load({});
  assert.match(await host.command("backup"), /^Not done: .*SIGKILL/);
  assert.equal(await host.command("doctor"), "Done.");
  host.hooks.gateway_stop();
  const nowhere = load({ binary: "/nowhere" });
  assert.match(await nowhere.command("doctor"), /\/nowhere is not a program/);
  nowhere.hooks.gateway_stop();
});

test("the database of an engine at a socket is not guessed", async () => {
  const host = load({ socket: "/nowhere.sock", autoPins: true });
  for (const verb of ["doctor", "backup"]) assert.match(await host.command(verb), /the engine at \/nowhere.sock has the database/);
  assert.match(await host.command("status"), /database: that of the engine at the socket/);
  assert.ok(host.said.some((line) => line.includes("`autoPins` does nothing")));
  host.hooks.gateway_stop();
  const named = load({ socket: "/nowhere.sock", database: join(host.folder, "named.sqlite") });
  assert.equal(await named.command("doctor"), "Done.");
  named.hooks.gateway_stop();
});

test("sessions are looked for where the host has them, and counted if they were read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "unforget-"));
  for (const database of ["", join(mkdtempSync(join(tmpdir(), "unforget-")), "own.sqlite")]) {
    const host = load({ database }, folder);
    const file = join(folder, "agents/main/sessions/here.jsonl");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify({ type: "message", id: "a", parentId: null, message: { role: "user", content: "hello" } })}\n`);
    const [first, ...others] = (await host.command("import")).split("\n");
    assert.equal(first, "1 histories of 1 agents are in the store.", database);
    assert.match(others.join(), /^agent:main:gone: there is no transcript/);
    host.hooks.gateway_stop();
  }
});
