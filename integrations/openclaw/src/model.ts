// Lends the host's model to the engine, for summaries and answers.

import type { HostModel } from "./host.js";

/** Answers the engine's `complete` (docs/protocol.md). */
export async function complete(model: HostModel, ask: Record<string, unknown>): Promise<unknown> {
  const within = AbortSignal.timeout(typeof ask.withinMs === "number" ? ask.withinMs : 60_000);
  const answer = await model.complete({
    systemPrompt: String(ask.system ?? ""),
    messages: [{ role: "user", content: String(ask.user ?? "") }],
    maxTokens: typeof ask.outputTokensMax === "number" ? ask.outputTokensMax : undefined,
    purpose: "unforget: a summary or an answer",
    signal: within,
  });
  return { text: answer.text, stop: stop(answer.stopReason), model: answer.model, usage: usage(answer.usage) };
}

function stop(reason: string | undefined): string {
  if (reason === "length") return "max-tokens";
  if (reason === "toolUse") return "tool-call";
  return reason === undefined || reason === "stop" ? "end" : reason;
}

function usage(given: Record<string, unknown> | undefined): Record<string, number> | undefined {
  const number = (...keys: string[]) => keys.map((key) => given?.[key]).find((value) => typeof value === "number");
  const input = number("input", "inputTokens");
  const output = number("output", "outputTokens");
  if (typeof input !== "number" || typeof output !== "number") return undefined;
  return { inputTokens: input, outputTokens: output };
}
