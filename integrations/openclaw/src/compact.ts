// The host's wishes for less, answered in the words that it looks for. Never throws: one throw and the host is done with
// this engine until it is started again.

import type { CompactAnswer, CompactCall } from "./host.js";
import type { Lane } from "./lane.js";
import type { Shared } from "./shared.js";

/** What the host is told where nothing was done: a prompt of the engine fits. With other words some hosts refuse the turn. */
const FITS = "already under target";

/** Room for messages where the host says nothing of it, in tokens. */
export const ROOM = 200_000;

/** A refusal in the words of a provider: the host does not hand on what its provider said. */
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

/** A person asks, or the host thinks that it is time. */
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

/** The provider refused what was sent: the next prompt is smaller, or the host is told that there is none. */
async function smaller(lane: Lane, call: CompactCall): Promise<CompactAnswer> {
  const { behind, budget } = lane.turn;
  const { retry, reason } = await lane.call<Refused>("refused", { ...REFUSAL, behind });
  if (!retry) return { ok: false, compacted: false, reason: `the engine knows no smaller prompt: ${reason}` };
  const tokensBefore = call.currentTokenCount ?? budget ?? 0;
  return { ok: true, compacted: true, result: { summary: "", tokensBefore, tokensAfter: retry.prompt.tokens.expected } };
}
