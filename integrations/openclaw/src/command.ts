// `/unforget`: status, doctor, backup, pins, import.

import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { findBinary } from "./binary.js";
import type { Caller } from "./host.js";
import { importAll } from "./importer.js";
import type { Lane, Status } from "./lane.js";
import type { Shared } from "./shared.js";

const run = promisify(execFile);

/** Time limit for a check or a copy of the database. */
const PATIENCE_MS = 300_000;

const HELP = `/unforget status: what is stored here, and whether the engine is up
/unforget doctor: check the database
/unforget backup: write a verified copy of the database beside it
/unforget pins: words that stand in every prompt; pin TEXT, unpin NUMBER
/unforget import: take the histories of all agents now`;

export async function command(shared: Shared, caller: Caller): Promise<{ text: string }> {
  const [, verb = "status", rest = ""] = /^\s*(\S*)\s*([\s\S]*)$/.exec(caller.args ?? "") ?? [];
  try {
    return { text: await answer(shared, caller, verb || "status", rest.trim()) };
  } catch (error) {
    return { text: `unforget: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function answer(shared: Shared, caller: Caller, verb: string, rest: string): Promise<string> {
  const lane = shared.lane(caller);
  switch (verb) {
    case "status":
      return status(shared, lane);
    case "doctor":
      return program(shared, ["doctor"]);
    case "backup": {
      const to = join(dirname(databaseOf(shared)), "backups", `${new Date().toISOString().replaceAll(":", "-")}.sqlite`);
      mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
      return program(shared, ["backup", to]);
    }
    case "pins": {
      const { pins } = await lane.call<{ pins: { pin: number; text: string; state: string }[] }>("pins", { proposals: false });
      const active = pins.filter((pin) => pin.state === "active").map((pin) => `${pin.pin}. ${pin.text}`);
      return active.join("\n") || "Nothing is pinned.";
    }
    case "pin": {
      const { pin } = await lane.call<{ pin: number }>("pin", { text: rest });
      return `Pinned as ${pin}.`;
    }
    case "unpin":
      if (!/^\d{1,15}$/.test(rest)) return `Not a number of a pin: ${JSON.stringify(rest)}. /unforget pins shows them.`;
      await lane.call("unpin", { pin: Number(rest) });
      return `Taken back: ${rest}.`;
    case "import":
      return importAll(shared);
    default:
      return HELP;
  }
}

async function status(shared: Shared, lane: Lane): Promise<string> {
  const { engine, settings } = shared;
  const lines = [];
  try {
    const known = await lane.call<Status>("status");
    lines.push(`${lane.name}: ${known.path} messages of ${known.entries} entries, ${known.debt.storedTokens} tokens stored, generation ${known.generation}`);
    lines.push(settings.socket ? `engine: up, at ${settings.socket}` : `engine: up, process ${engine.pid}, start ${engine.starts}`);
  } catch (error) {
    lines.push(`engine: ${error instanceof Error ? error.message : String(error)}`);
  }
  lines.push(`database: ${settings.database || "that of the engine at the socket"}`);
  const { added, parts, waited, turns } = shared.times;
  const each = Object.entries(parts).map(([part, ms]) => `${part} ${ms.toFixed(1)}`);
  lines.push(`time: ${added.toFixed(1)} ms added per turn (${each.join(", ")}), answered within ${waited.toFixed(1)} ms, medians of ${turns}`);
  lines.push(`degraded: ${shared.degradations === 0 ? "never" : `${shared.degradations} times, last ${shared.lastDegradation}`}`);
  return lines.join("\n");
}

/** Path of the database. Throws if only the owner of the engine at the socket knows it. */
function databaseOf({ settings: { database, socket } }: Shared): string {
  if (database) return database;
  throw new Error(`the engine at ${socket} has the database: name it as \`database\` in the settings of the plugin too, or ask there`);
}

/**
 * Runs the command line on the same database. The exit code tells whether problems were found; the output is shown
 * either way.
 */
async function program(shared: Shared, args: string[]): Promise<string> {
  const on = ["--db", databaseOf(shared)];
  try {
    const { stdout, stderr } = await run(findBinary(shared.settings.binary), [...on, "--color", "never", ...args], { timeout: PATIENCE_MS });
    return `${stdout}${stderr}`.trim() || "Done.";
  } catch (error) {
    const { stdout = "", stderr = "", signal, message } = error as Error & { stdout?: string; stderr?: string; signal?: string };
    const end = signal ? `Not done: it was ended by ${signal}.` : "";
    return `${stdout}${stderr}${end}`.trim() || `Not done: ${message}`;
  }
}
