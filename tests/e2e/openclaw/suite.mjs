// The scenarios at the real host with SQLite transcripts. usage: node suite.mjs [SCENARIO…]

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Host } from "./host.mjs";
import { startModel } from "./model.mjs";
import { restarts, scenarios } from "./scenarios.mjs";

const { OPENCLAW_APP: app, UNFORGET_BIN: unforget, UNFORGET_PLUGIN: plugin } = process.env;
const wanted = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "unforget-openclaw-"));
const models = { large: 64_000, small: 24_000 };
const model = await startModel(models);
const host = new Host({ app, folder, models, modelUrl: model.url, database: join(folder, "unforget.sqlite"), unforget, settings: { deadlineMs: 2_000 } });
const here = import.meta.dirname;
const usePath = () => host.run("config", "set", "plugins.load.paths", JSON.stringify([join(here, "rewriter")]));
const stage = { host, model, usePath };
let failed = 0;

/** Packs the plugin and installs the tarball, as a person would. */
function install() {
  const packed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: plugin, encoding: "utf8" }).trim();
  host.install(join(folder, packed), "--force", "--accept-capabilities");
}

async function play(name, scenario) {
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 100) / 10;
  try {
    const entries = await scenario(stage);
    console.log(JSON.stringify({ scenario: name, ok: true, entries, seconds: seconds() }));
  } catch (error) {
    failed += 1;
    console.log(JSON.stringify({ scenario: name, ok: false, seconds: seconds(), why: error.message }));
    if (process.env.UNFORGET_KEEP) console.log(error.stack);
  }
}

const isWanted = (name) => wanted.length === 0 || wanted.includes(name);
try {
  await host.configure();
  install();
  writeFileSync(join(host.workspace, "a.txt"), "alpha beta gamma\n");
  await host.start();
  for (const [name, scenario] of Object.entries(scenarios)) if (isWanted(name)) await play(name, scenario);
  for (const [name, scenario] of Object.entries(restarts)) if (isWanted(name)) await play(name, scenario);
  console.log(execFileSync(unforget, ["--db", host.database, "verify"], { encoding: "utf8" }).trim());
} finally {
  await host.stop().catch(() => {});
  model.stop();
}
if (failed > 0) console.log(`kept: ${folder}: ${readdirSync(folder).join(" ")}`);
process.exit(failed > 0 ? 1 : 0);
