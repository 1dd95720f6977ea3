// The part of OpenClaw's interface used here. The host's own types are not installed: they come with 650 MB, and differ
// between versions.

/** A message of the host: an open record. */
export interface Message {
  role: string;
  timestamp?: number;
  [field: string]: unknown;
}

/** Location of a transcript. */
export interface Target {
  agentId?: string;
  sessionId: string;
  sessionKey?: string;
  /** Up to 2026.7 a path; since then the session key. */
  sessionFile?: string;
}

export interface Limits {
  promptTokenBudget: number | null;
  /** A number in the first call of a turn; null in the calls of its tool loop. */
  maxOutputTokens: number | null;
}

/** The host's model. */
export interface HostModel {
  complete(ask: {
    messages: { role: "user"; content: string }[];
    systemPrompt?: string;
    maxTokens?: number;
    signal?: AbortSignal;
    purpose?: string;
  }): Promise<{ text: string; model?: string; stopReason?: string; usage?: Record<string, unknown> }>;
}

/** Fields that all calls of the host may carry. */
export interface Call {
  sessionId: string;
  sessionKey?: string;
  sessionTarget?: { agentId?: string; sessionId?: string; sessionKey?: string };
  sessionFile?: string;
  agentId?: string;
  abortSignal?: AbortSignal;
  runtimeSettings?: { limits?: Limits; diagnostics?: { degradedReason?: string | null } };
  runtimeContext?: {
    llm?: HostModel;
    trigger?: string;
    provider?: string;
    model?: string;
    modelId?: string;
    [field: string]: unknown;
  };
}

export interface AssembleCall extends Call {
  messages: Message[];
  tokenBudget?: number;
  availableTools?: Set<string>;
  citationsMode?: string;
  model?: string;
  prompt?: string;
}

export interface CommitCall extends Call {
  advancementKey: string;
  admission: { entryId: string };
  terminal: { entryId: string };
  messages: Message[];
}

export interface AfterTurnCall extends Call {
  messages: Message[];
  prePromptMessageCount: number;
}

export interface CompactCall extends Call {
  tokenBudget?: number;
  currentTokenCount?: number;
  force?: boolean;
  compactionTarget?: "budget" | "threshold";
  customInstructions?: string;
}

export interface SpawnCall {
  parentSessionKey: string;
  childSessionKey: string;
  contextMode?: "isolated" | "fork";
}

export interface CompactAnswer {
  ok: boolean;
  compacted: boolean;
  reason?: string;
  result?: { summary?: string; tokensBefore: number; tokensAfter?: number };
}

export interface AssembleAnswer {
  messages: Message[];
  estimatedTokens: number;
  systemPromptAddition?: string;
}

export interface Log {
  info(text: string): void;
  warn(text: string): void;
}

/** Identifies the caller to a tool or a command. */
export interface Caller {
  agentId?: string;
  sessionKey?: string;
  sessionId?: string;
  args?: string;
}

/** A tool of the agent. */
export interface Tool {
  name: string;
  label: string;
  description: string;
  parameters: Record<string, unknown>;
  execute(id: string, given: Record<string, unknown>, signal?: AbortSignal): Promise<{
    content: { type: "text"; text: string }[];
    details: unknown;
  }>;
}

/** The registration interface for plugins. */
export interface PluginApi {
  pluginConfig?: Record<string, unknown>;
  logger?: Log;
  runtime?: { state?: { resolveStateDir?(): string } };
  registerContextEngine(id: string, factory: (made: { agentDir?: string }) => unknown): void;
  registerTool?(tool: (caller: Caller) => Tool, options: { name: string }): void;
  registerCommand?(command: {
    name: string;
    description: string;
    acceptsArgs: boolean;
    requireAuth: boolean;
    handler(caller: Caller): Promise<{ text: string }>;
  }): void;
  on?(event: string, handler: (event: Record<string, unknown>, context?: Record<string, unknown>) => unknown): void;
}
