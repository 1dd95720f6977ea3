// Writes openclaw.plugin.json from the plugin's options and tools, and from the engine's own description of its
// options.
// usage: UNFORGET_BIN=… node scripts/manifest.mjs [--check]

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { OPTIONS } from "../dist/options.js";
import { TOOLS } from "../dist/tools.js";

const folder = join(import.meta.dirname, "..");
const path = join(folder, "openclaw.plugin.json");
const { version, description } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const engine = execFileSync(process.env.UNFORGET_BIN ?? "unforget", ["engine", "--help"], { encoding: "utf8", env: { ...process.env, UNFORGET_DB: "" } });

/** The engine's help on an option: the paragraph behind the option's name. */
function own(flag) {
  const lines = engine.split("\n");
  const at = lines.findIndex((line) => line.trim().split(/[ ,]/).includes(flag));
  if (at < 0) throw new Error(`the engine has no option ${flag}`);
  const inline = lines[at].trim().split(/ {2,}/)[1];
  const text = inline ?? lines[at + 1].trim();
  return text.replace(/ \[.*$/, "").replace(/\.$/, "");
}

const hint = ({ label, help, flag, isAdvanced }) => ({
  label,
  help: flag ? `${help} Of the engine (${flag}): ${own(flag)}.` : help,
  ...(isAdvanced ? { advanced: true } : {}),
});
const each = (make) => Object.fromEntries(Object.entries(OPTIONS).map(([name, option]) => [name, make(option)]));
const manifest = {
  id: "unforget",
  name: "Unforget",
  description,
  version,
  kind: "context-engine",
  activation: { onStartup: true },
  // The host's own backups copy the database with SQLite's backup interface.
  backupResources: [{ disposition: "include", scope: "state", relativePath: "unforget" }],
  // dist/doctor-contract-api.js repairs settings.
  doctorContract: { configRepair: true },
  contracts: { tools: TOOLS.map(({ name }) => name) },
  configSchema: { type: "object", additionalProperties: false, properties: each(({ schema, otherwise }) => ({ ...schema, default: otherwise })) },
  uiHints: each(hint),
};
const text = `${JSON.stringify(manifest, null, 2)}\n`;
if (!process.argv.includes("--check")) writeFileSync(path, text);
else if (readFileSync(path, "utf8") !== text) {
  console.error("openclaw.plugin.json is not current: run npm run manifest");
  process.exit(1);
}
