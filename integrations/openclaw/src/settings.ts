// The plugin's settings, as the host validated them against openclaw.plugin.json.

import { homedir } from "node:os";
import { join } from "node:path";

import { OPTIONS } from "./options.js";

type Options = typeof OPTIONS;
type Wide<T> = T extends boolean ? boolean : T extends number ? number : string;

/** One value per option; what each means is said there. */
export type Settings = { [Name in keyof Options]: Wide<Options[Name]["otherwise"]> } & {
  /** The host's folder for state. */
  state: string;
};

/**
 * * `given` - of the config file. What is of another type counts as not given.
 * * `state` - the host's folder for state.
 */
export function settings(given: Record<string, unknown>, state: string | undefined): Settings {
  const folder = state ?? process.env.OPENCLAW_STATE_DIR ?? join(homedir(), ".openclaw");
  const read = Object.entries(OPTIONS).map(([name, { otherwise }]) => {
    const value = given[name];
    return [name, typeof value === typeof otherwise ? value : otherwise];
  });
  const known = Object.fromEntries(read) as Settings;
  // Which one an engine at a socket has, only its owner knows.
  const database = known.database || (known.socket ? "" : join(folder, "unforget", "unforget.sqlite"));
  return { ...known, database, state: folder };
}
