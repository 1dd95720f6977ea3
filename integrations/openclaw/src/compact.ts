// Answers the host's requests for compaction in the words that the host looks for. Never throws: after one exception
// the host would not use this engine again until its next start.

import type { CompactAnswer, CompactCall } from "./host.js";
import type { Lane } from "./lane.js";
import type { Shared } from "./shared.js";

/** The reply if nothing was compacted because the engine's prompt fits. With other words some hosts refuse the turn. */
const FITS = "already under target";

/** Room for messages in tokens, if the host does not state it. */
export const ROOM = 200_000;

/** A refusal in the words of a provider, because the host does not pass on the provider's own words. */
const REFUSAL = { status: 400, body: JSON.stringify({ error: { code: "context_length_exceeded", type: "invalid_request_error" } }) };

interface Compacted {
  isCompacted: boolean;
  tokensBefore: number;
  tokensAfter: number;
}

interface Refused {
  retry: { prompt: { tokens: { expected: number } } } | null;
  reason: string | null;
}

export async function compact(shared: Shared, call: CompactCall): Promise<CompactAnswer> {
  const lane = shared.lane(call);
  const isOverflow = call.runtimeContext?.trigger === "overflow" || call.runtimeSettings?.diagnostics?.degradedReason === "context_overflow";
  try {
    return isOverflow ? await smaller(lane, call) : await due(lane, call);
  } catch (error) {
    const why = shared.degrade(lane, "compact", error);
    return { ok: !isOverflow, compacted: false, reason: isOverflow ? why : `${FITS} (${why})` };
  }
}

/** Handles a compaction requested by a person or by the host. */
async function due(lane: Lane, call: CompactCall): Promise<CompactAnswer> {
  const done = await lane.call<Compacted>("compact", {
    dialect: "pi",
    model: call.runtimeContext?.model,
    budget: call.tokenBudget ?? ROOM,
    target: call.compactionTarget,
    force: call.force === true,
    instructions: call.customInstructions,
    currentTokens: call.currentTokenCount,
  });
  const result = { summary: "", tokensBefore: done.tokensBefore, tokensAfter: done.tokensAfter };
  return { ok: true, compacted: done.isCompacted, reason: done.isCompacted ? undefined : FITS, result };
}

/**
 * Handles a refusal by the provider: makes the next prompt smaller, or tells the host that no smaller prompt exists.
 */
async function smaller(lane: Lane, call: CompactCall): Promise<CompactAnswer> {
  const { behind, budget } = lane.turn;
  const { retry, reason } = await lane.call<Refused>("refused", { ...REFUSAL, behind });
  if (!retry) return { ok: false, compacted: false, reason: `the engine knows no smaller prompt: ${reason}` };
  const tokensBefore = call.currentTokenCount ?? budget ?? 0;
  return { ok: true, compacted: true, result: { summary: "", tokensBefore, tokensAfter: retry.prompt.tokens.expected } };
}
