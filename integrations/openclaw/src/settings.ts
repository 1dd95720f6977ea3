// The plugin's settings, validated by the host against openclaw.plugin.json.

import { homedir } from "node:os";
import { join } from "node:path";

import { OPTIONS } from "./options.js";

type Options = typeof OPTIONS;
type Wide<T> = T extends boolean ? boolean : T extends number ? number : string;

/** One value per option; options.ts describes them. */
export type Settings = { [Name in keyof Options]: Wide<Options[Name]["otherwise"]> } & {
  /** The host's state folder. */
  state: string;
};

/**
 * * `given` - values from the config file. A value of the wrong type counts as missing.
 * * `state` - the host's state folder.
 */
export function settings(given: Record<string, unknown>, state: string | undefined): Settings {
  const folder = state ?? process.env.OPENCLAW_STATE_DIR ?? join(homedir(), ".openclaw");
  const read = Object.entries(OPTIONS).map(([name, { otherwise }]) => {
    const value = given[name];
    return [name, typeof value === typeof otherwise ? value : otherwise];
  });
  const known = Object.fromEntries(read) as Settings;
  // The database of an engine at a socket is known only to the engine's owner.
  const database = known.database || (known.socket ? "" : join(folder, "unforget", "unforget.sqlite"));
  return { ...known, database, state: folder };
}
