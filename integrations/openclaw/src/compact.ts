// The host's wishes for less, answered in the words that it looks for. Never throws: one throw and the host is done with
// this engine until it is started again.

import type { CompactAnswer, CompactCall } from "./host.js";
import { FORM, type Lane } from "./lane.js";
import type { Shared } from "./shared.js";

/** Words by which the host knows that nothing had to be done; with any others it refuses the turn. */
const FITS = "already under target";
const NOTHING = "nothing to compact";

interface Compacted {
  isCompacted: boolean;
  tokensBefore: number;
  tokensAfter: number;
  reason?: string;
}

interface Refused {
  retry: { prompt: { tokens: { expected: number } } } | null;
  reason: string | null;
}

export async function compact(shared: Shared, call: CompactCall): Promise<CompactAnswer> {
  const lane = shared.lane(call);
  const isOverflow = call.runtimeContext?.trigger === "overflow" || call.runtimeSettings?.diagnostics?.degradedReason === "context_overflow";
  try {
    return isOverflow ? await smaller(shared, lane, call) : await due(shared, lane, call);
  } catch (error) {
    const why = shared.degrade(lane, "compact", error);
    if (!isOverflow) return { ok: true, compacted: false, reason: `${FITS} (${why})` };
    return halved(lane, call, why);
  }
}

/** A person asks, or the host thinks that it is time. */
async function due(shared: Shared, lane: Lane, call: CompactCall): Promise<CompactAnswer> {
  const budget = Math.min(call.tokenBudget ?? Infinity, lane.turnBudget ?? Infinity);
  const params = {
    lane: lane.name,
    form: FORM,
    dialect: "pi",
    model: call.runtimeContext?.model,
    budget: Number.isFinite(budget) ? budget : 200_000,
    target: call.compactionTarget,
    force: call.force === true,
    instructions: call.customInstructions,
    currentTokens: call.currentTokenCount,
  };
  const done = await shared.engine.call<Compacted>("compact", params);
  const counts = { tokensBefore: done.tokensBefore, tokensAfter: done.tokensAfter };
  if (done.isCompacted) return { ok: true, compacted: true, result: { summary: "", ...counts } };
  const doesFit = Math.max(done.tokensAfter, lane.weight) <= params.budget;
  const reason = doesFit ? FITS : (done.reason ?? NOTHING);
  return { ok: true, compacted: false, reason, result: { summary: "", ...counts } };
}

/** The provider refused what was sent: the next prompt is smaller, or the host is told that there is none. */
async function smaller(shared: Shared, lane: Lane, call: CompactCall): Promise<CompactAnswer> {
  const body = JSON.stringify({ error: { code: "context_length_exceeded", message: "context_length_exceeded", type: "invalid_request_error" } });
  const done = await shared.engine.call<Refused>("refused", { lane: lane.name, form: FORM, status: 400, body });
  const before = call.currentTokenCount ?? lane.turnBudget ?? 0;
  if (!done.retry) return halved(lane, call, `the engine knows no smaller prompt: ${done.reason}`);
  const tokensAfter = done.retry.prompt.tokens.expected;
  return { ok: true, compacted: true, result: { summary: "", tokensBefore: before, tokensAfter } };
}

/** The least that is worth another try, in tokens. */
const LEAST = 256;

/** The rest of the turn has half of what the refused prompt weighed, whoever makes its prompts. */
function halved(lane: Lane, call: CompactCall, reason: string): CompactAnswer {
  const room = Math.floor(lane.weight / 2);
  // What the host put behind the prompt in a tool loop is among the messages of the next, and is made to fit there.
  if (room < LEAST && lane.pending === 0) return { ok: false, compacted: false, reason };
  lane.room = Math.max(room, LEAST);
  const before = Math.max(call.currentTokenCount ?? 0, lane.weight + lane.pending);
  return { ok: true, compacted: true, reason, result: { summary: "", tokensBefore: before, tokensAfter: lane.room } };
}
