// The first day: a host used without the plugin so far gets it from a local path, with exactly the settings of its
// README, and imports the existing histories. usage: node install.mjs [--files]
//
// The engine is found on the PATH, or with --files in the package of this platform.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";

import { checkHost, checkRequests, checkStore, checkWords, session, want } from "./check.mjs";
import { Host, scratch } from "./host.mjs";
import { startModel } from "./model.mjs";

const { OPENCLAW_APP: app, UNFORGET_BIN: unforget, UNFORGET_PLUGIN: plugin } = process.env;
const hasFiles = process.argv.includes("--files");
const say = (text, answer) => `${text}\n#: ${JSON.stringify({ steps: [{ say: answer }] })}`;
const begun = Date.now();
const folder = scratch();
const models = { large: 64_000 };
const model = await startModel(models);
const host = new Host({ app, folder, models, modelUrl: model.url, unforget, settings: false, hasFiles });
host.database = join(host.state, "unforget/unforget.sqlite");

async function turn(key, words, answer) {
  const done = await host.turn(key, say(words, answer));
  want(done.status === "ok" && done.text.includes(answer), `${key}: ${done.status}: ${done.text.slice(0, 300)}`);
}

/** The settings of the README, verbatim. */
function readme() {
  const [, lines] = /```json5\n([\s\S]*?)```/.exec(readFileSync(join(plugin, "README.md"), "utf8"));
  want(lines.trim().split("\n").length <= 5, "three lines and their brackets");
  return new Function(`return { ${lines} }`)().plugins;
}

/** Checks that the host's own backup contains the database and that the backup is readable. */
function checkBackup() {
  const [archive, to] = [join(folder, "backup.tar.gz"), join(folder, "restored")];
  host.run("backup", "create", "--no-include-workspace", "--output", archive);
  mkdirSync(to);
  execFileSync("tar", ["-xzf", archive, "-C", to]);
  const kept = readdirSync(to, { recursive: true }).filter((path) => path.endsWith("unforget/unforget.sqlite"));
  want(kept.length === 1, `the backup has ${kept.length} databases`);
  execFileSync(unforget, ["--db", join(to, kept[0]), "verify"], { stdio: "pipe" });
}

/** Checks that the host's doctor repairs refused settings as the plugin tells it. */
function checkDoctor() {
  want(!/unforget/i.test(host.run("plugins", "doctor")), "the host's doctor has a word on the plugin");
  host.set("plugins.entries.unforget.config", { deadlineMs: "3000", depth: 3 });
  const said = host.run("doctor", "--fix", "--non-interactive");
  const { config = {} } = JSON.parse(readFileSync(join(folder, "openclaw.json"), "utf8")).plugins.entries.unforget;
  want(!("depth" in config), JSON.stringify(config));
  // The older host restores the config file of its last start.
  if (!hasFiles) {
    want(config.deadlineMs === 3_000, JSON.stringify(config));
    want(said.replace(/[\s│]+/g, " ").includes("config.depth: removed, since there is no such setting"), said);
  }
  host.run("config", "validate");
}

/** A PATH with the engine under its own name. */
function onPath() {
  const to = join(folder, "bin");
  mkdirSync(to);
  symlinkSync(unforget, join(to, "unforget"));
  return `${to}${delimiter}${process.env.PATH}`;
}

/** A folder with the plugin and, beside it, the package of this platform. */
function withPackage() {
  execFileSync(process.execPath, [join(plugin, "scripts/platform.mjs"), unforget, folder]);
  const tarballs = [execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], { cwd: plugin, encoding: "utf8" }).trim(), "platform.tgz"];
  const home = join(folder, "home");
  mkdirSync(home);
  const from = tarballs.map((name) => join(folder, name));
  execFileSync("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", "--prefix", home, ...from]);
  return join(home, "node_modules/openclaw-unforget");
}

/** Checks that the engine alone finds and reads the databases of all agents, and nothing new in them the next time. */
function checkDiscovered() {
  const env = { ...process.env, HOME: folder, OPENCLAW_STATE_DIR: host.state };
  const call = (...args) => execFileSync(unforget, ["--db", join(folder, "found.sqlite"), ...args], { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  const read = () => call("import", "--discover", "--yes", "--json").trim().split("\n").map((line) => JSON.parse(line));
  const first = read().filter(({ conversation }) => conversation?.startsWith("openclaw:"));
  const paths = first.map(({ path }) => path.split("#")[0].split("/").at(-3));
  want(["main", "second"].every((agent) => paths.includes(agent)), `the databases of both agents: ${JSON.stringify(first)}`);
  for (const owl of ["first", "second", "third"]) want(call("grep", `the ${owl} owl`).includes("owl"), `the ${owl} owl is not found`);
  for (const { conversation, added } of first) {
    const rows = call("export", conversation).trim().split("\n").map((line) => JSON.parse(line));
    want(rows.length === added && rows.every(({ openclaw, row }) => openclaw && row.session_id === conversation.slice(9)), `the rows of ${conversation}`);
  }
  const again = read().filter(({ conversation }) => conversation?.startsWith("openclaw:"));
  want(again.every(({ added }) => added === 0), `the second import: ${JSON.stringify(again)}`);
  call("verify");
}

try {
  await host.configure();
  host.set("agents.list", [{ id: "main", default: true }, { id: "second" }]);
  await host.start();
  await turn("agent:main:old", "the first owl", "O1");
  await turn("agent:second:old", "the second owl", "O2");
  await host.call("sessions.reset", { key: "agent:second:old" });
  await turn("agent:second:old", "the third owl", "O3");
  await host.stop();
  if (!hasFiles) checkDiscovered();

  if (!hasFiles) host.own = { PATH: onPath() };
  host.install("--link", hasFiles ? withPackage() : plugin);
  const { slots, entries } = readme();
  host.set("plugins.slots.contextEngine", slots.contextEngine);
  host.set("plugins.entries.unforget", entries.unforget);
  await host.start();
  const said = await host.command("agent:main:new", "/unforget import");
  want(/^[2-9] histories of 2 agents are in the store\.$/m.test(said), said);
  for (const key of ["agent:main:old", "agent:second:old"]) checkStore(host, session(host, key));
  const from = model.requests.length;
  await turn("agent:main:old", "the fourth owl", "O4");
  checkWords(model.requests.slice(from), { has: ["the first owl", "the fourth owl"], hasNot: ["the second owl"] });
  checkRequests(model.requests);
  await checkHost(host);
  const status = await host.command("agent:main:old", "/unforget status");
  want(/engine: up/.test(status) && status.includes(host.database), status);
  if (!hasFiles) checkBackup();
  await host.stop();
  checkDoctor();
  console.log(JSON.stringify({ scenario: "install", ok: true, seconds: Math.round((Date.now() - begun) / 100) / 10 }));
} catch (error) {
  console.log(JSON.stringify({ scenario: "install", ok: false, why: error.message }));
  process.exitCode = 1;
} finally {
  await host.stop().catch(() => {});
  model.stop();
}
process.exit();
