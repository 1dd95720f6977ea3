// The plugin's settings, as the host validated them against openclaw.plugin.json.

import { homedir } from "node:os";
import { join } from "node:path";

export interface Settings {
  /** The `unforget` program; empty: see binary.ts. */
  binary: string;
  /** The database. */
  database: string;
  /** A socket of `unforget engine --socket`; empty: a child process is started. */
  socket: string;
  /** Milliseconds that a call of the engine may take. */
  deadlineMs: number;
  /** Milliseconds that reading a transcript for the first time may take. */
  importMs: number;
  /** Who writes summaries: the engine alone, or the host's model through the engine. */
  summaries: "engine" | "host";
  /** Rules that people state are pinned without asking. */
  autoPins: boolean;
  /** Whether the recall policy is put into the system prompt when there is something to recall. */
  recallPolicy: boolean;
}

/**
 * * `given` - of the config file.
 * * `state` - the host's folder for state.
 */
export function settings(given: Record<string, unknown>, state: string | undefined): Settings {
  const folder = state ?? process.env.OPENCLAW_STATE_DIR ?? join(homedir(), ".openclaw");
  const text = (key: string) => (typeof given[key] === "string" ? (given[key] as string) : "");
  const number = (key: string, otherwise: number) =>
    typeof given[key] === "number" ? (given[key] as number) : otherwise;
  return {
    binary: text("binary"),
    database: text("database") || join(folder, "unforget", "unforget.sqlite"),
    socket: text("socket"),
    deadlineMs: number("deadlineMs", 5_000),
    importMs: number("importMs", 60_000),
    summaries: given.summaries === "host" ? "host" : "engine",
    autoPins: given.autoPins === true,
    recallPolicy: given.recallPolicy !== false,
  };
}
