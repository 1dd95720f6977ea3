// Runs the scenarios at a real host. usage: node suite.mjs [--files] [SCENARIO…]
//
// --files: use the host with transcript files.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

import { Host, scratch } from "./host.mjs";
import { startModel } from "./model.mjs";
import { restarts, scenarios, withFiles } from "./scenarios.mjs";

const { OPENCLAW_APP: app, UNFORGET_BIN: unforget, UNFORGET_PLUGIN: plugin } = process.env;
const hasFiles = process.argv.includes("--files");
const wanted = process.argv.slice(2).filter((one) => one !== "--files");
const folder = scratch();
// The older host keeps 20,000 tokens of every window for itself.
const models = { large: 64_000, small: hasFiles ? 44_000 : 24_000 };
const model = await startModel(models);
const settings = { deadlineMs: 2_000 };
// Hours: no scenario takes this long, but one makes the host believe that it did.
const more = { session: { reset: { mode: "idle", idleMinutes: 600 } } };
const host = new Host({ app, folder, models, modelUrl: model.url, database: join(folder, "unforget.sqlite"), unforget, settings, more, hasFiles });
const usePath = () => hasFiles || host.set("plugins.load.paths", [join(import.meta.dirname, "rewriter")]);
const stage = { host, model, usePath };
let failed = 0;

/** Packs the plugin and installs the tarball, as a person would. */
function install() {
  // It is already built; the other host's suite packs it at the same time.
  const packed = execFileSync("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], { cwd: plugin, encoding: "utf8" }).trim();
  host.install(join(folder, packed));
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
    if (!process.env.UNFORGET_KEEP) return;
    console.log(error.stack);
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(model.requests.map(({ body, ...more }) => ({ ...more, messages: body.messages })), null, 1));
  }
}

const isWanted = (name) => (wanted.length === 0 || wanted.includes(name)) && (!hasFiles || withFiles.has(name));
try {
  await host.configure();
  install();
  writeFileSync(join(host.workspace, "a.txt"), "alpha beta gamma\n");
  await host.start();
  for (const [name, scenario] of Object.entries({ ...scenarios, ...restarts })) if (isWanted(name)) await play(name, scenario);
  console.log(execFileSync(unforget, ["--db", host.database, "verify"], { encoding: "utf8" }).trim());
} finally {
  await host.stop().catch(() => {});
  host.listening?.kill();
  model.stop();
}
process.exit(failed > 0 ? 1 : 0);
