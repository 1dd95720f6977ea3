// Repairs for the host's doctor: settings of this plugin that the host refuses because of their strict schema. The host
// finds this file by its name.

import { OPTIONS, type Option } from "./options.js";

interface Config {
  plugins?: { entries?: Record<string, { config?: unknown } | undefined> };
}

type Value = string | number | boolean;

const PATH = ["plugins", "entries", "unforget", "config"];

/** When to advise a person to run the doctor. */
export const legacyConfigRules = [
  {
    path: PATH,
    message: `${PATH.join(".")} has settings that do not exist, or values that cannot be. Run "openclaw doctor --fix".`,
    match: (given: unknown) => mended(given).changes.length > 0,
  },
];

/** Returns the whole configuration with valid settings, and a description of the changes. */
export function normalizeCompatibilityConfig({ cfg }: { cfg: Config }): { config: Config; changes: string[] } {
  const { settings, changes } = mended(cfg.plugins?.entries?.unforget?.config);
  if (changes.length === 0) return { config: cfg, changes };
  const config = structuredClone(cfg);
  const entry = config.plugins?.entries?.unforget;
  if (entry) entry.config = settings;
  return { config, changes };
}

/** Converts values of another type with the same meaning; removes values without a meaning. */
function mended(given: unknown): { settings: Record<string, Value>; changes: string[] } {
  const settings: Record<string, Value> = {};
  const changes: string[] = [];
  if (given === undefined) return { settings, changes };
  const change = (name: string, why: string) => changes.push(`${[...PATH, ...(name ? [name] : [])].join(".")}: ${why}.`);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    change("", "removed, since it is no object");
    return { settings, changes };
  }
  for (const [name, value] of Object.entries(given)) {
    const option: Option | undefined = Object.hasOwn(OPTIONS, name) ? OPTIONS[name as keyof typeof OPTIONS] : undefined;
    const read = option && as(option, value);
    if (!option) change(name, "removed, since there is no such setting");
    else if (read === undefined) change(name, `removed, since ${JSON.stringify(value)} cannot be; ${JSON.stringify(option.otherwise)} holds`);
    else settings[name] = read;
    if (read !== undefined && read !== value) change(name, `${JSON.stringify(value)} became ${JSON.stringify(read)}`);
  }
  return { settings, changes };
}

function as({ schema }: Option, value: unknown): Value | undefined {
  switch (schema.type) {
    case "boolean":
      return value === true || value === "true" ? true : value === false || value === "false" ? false : undefined;
    case "integer": {
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      if (typeof number !== "number" || !Number.isFinite(number)) return undefined;
      return Math.max(schema.minimum ?? -Infinity, Math.round(number));
    }
    case "string":
      return typeof value === "string" && (schema.enum?.includes(value) ?? true) ? value : undefined;
  }
}
