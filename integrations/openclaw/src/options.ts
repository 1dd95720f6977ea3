// The plugin's options, defined once: the manifest's schema and hints and the parsing of the settings are derived from
// here.

export interface Option {
  /** Type as in JSON Schema. */
  schema: { type: "string" | "integer" | "boolean"; enum?: string[]; minimum?: number };
  /** Default value. */
  otherwise: string | number | boolean;
  label: string;
  /** Description; for an option of the engine, the engine's own help is appended. */
  help: string;
  /** The engine's option set by this option. */
  flag?: string;
  isAdvanced?: boolean;
}

export const OPTIONS = {
  binary: {
    schema: { type: "string" },
    otherwise: "",
    label: "Program",
    help: "Path of the unforget program. Without it, the optional package of this platform and PATH are searched.",
  },
  database: {
    schema: { type: "string" },
    otherwise: "",
    label: "Database",
    help: "The file where everything is kept. Without it, unforget/unforget.sqlite in the host's state folder.",
  },
  socket: {
    schema: { type: "string" },
    otherwise: "",
    label: "Socket",
    help: "Path of the socket of an engine that runs already. Without it, one is started with the host.",
    flag: "--socket",
    isAdvanced: true,
  },
  autoPins: {
    schema: { type: "boolean" },
    otherwise: false,
    label: "Pin rules by itself",
    help: "Rules that a person states stay in every prompt. An engine at a socket decides for itself.",
    flag: "--auto-pins",
  },
  summaries: {
    schema: { type: "string", enum: ["engine", "host"] },
    otherwise: "engine",
    label: "Who writes summaries",
    help: "engine: the models of the engine's own settings, or none. host: the model that the agent uses.",
  },
  recallPolicy: {
    schema: { type: "boolean" },
    otherwise: true,
    label: "Tell the agent to look things up",
    help: "Says in the system prompt how to recall what is not in the prompt, once there is such a thing.",
  },
  deadlineMs: {
    schema: { type: "integer", minimum: 100 },
    otherwise: 5_000,
    label: "Patience, in ms",
    help: "How long a call of the engine may take before the host's own messages are used.",
    isAdvanced: true,
  },
  importMs: {
    schema: { type: "integer", minimum: 1_000 },
    otherwise: 60_000,
    label: "Patience for a first reading, in ms",
    help: "How long a history that was there before may take to be read.",
    isAdvanced: true,
  },
} satisfies Record<string, Option>;
