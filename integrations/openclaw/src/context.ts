// The context engine in the host's interface: translates the host's calls for the engine. A new instance is made for
// every turn.

import { ROOM, compact } from "./compact.js";
import { Fault } from "./connection.js";
import { newest, tokensOf } from "./fallback.js";
import type { Given } from "./held.js";
import type { AfterTurnCall, AssembleAnswer, AssembleCall, Call, CommitCall, Message, SpawnCall } from "./host.js";
import { withImages } from "./images.js";
import { type Lane, target } from "./lane.js";
import type { Sent } from "./live.js";
import { POLICY, memorySection } from "./policy.js";
import type { Shared, Waits } from "./shared.js";
import { sdk } from "./transcript.js";

export const ID = "unforget";

export interface Assembled extends Given {
  system: string[];
  tokens: { expected: number; upper: number };
  certificate: { omitted: number; cover: { stubbed: number; summarised: number; elided: number } };
}

/** The host's data for a new engine. */
export interface Made {
  agentDir?: string;
}

/** The engine of one turn, which also measures how long the host waited. */
export function contextEngine(shared: Shared, made: Made = {}) {
  const engine = untimed(shared, made);
  let waits = none();
  const timed =
    <Given, Told>(part: keyof Waits, call: (given: Given) => Promise<Told>) =>
    async (given: Given): Promise<Told> => {
      const end = shared.engine.clock.wait();
      try {
        return await call(given);
      } finally {
        const { waited, added } = end();
        waits[part] = { waited: waits[part].waited + waited, added: waits[part].added + added };
      }
    };
  return {
    ...engine,
    bootstrap: timed("bootstrap", engine.bootstrap),
    assemble: timed("assemble", engine.assemble),
    commitTurn: timed("commit", engine.commitTurn),
    afterTurn: timed("commit", engine.afterTurn),
    async dispose(): Promise<void> {
      if (waits.assemble.waited > 0) shared.waited(waits);
      waits = none();
    },
  };
}

function none(): Waits {
  const part = { waited: 0, added: 0 };
  return { bootstrap: part, assemble: part, commit: part };
}

function untimed(shared: Shared, made: Made) {
  const { settings } = shared;
  /** The agent; not all calls name it, and an engine has only one. */
  let agentId = /[\\/]agents[\\/]([^\\/]+)[\\/]agent$/.exec(made.agentDir ?? "")?.[1];
  let isCaughtUp = false;
  /** First calls of this turn: a second one means that the host retries. */
  let tries = 0;
  let wasAssembled = false;
  /**
   * The last prompt of this turn and its upper bound in tokens. In a tool loop the prompt is kept while there is room.
   */
  let given: { answer: AssembleAnswer; upper: number } | undefined;
  /**
   * Whether the first call of the turn was answered without the engine. Then all calls are, because the engine lacks
   * the earlier messages.
   */
  let isWithout = false;
  /** Whether the host waited for the engine in vain before the first call; it does not wait again. */
  let isBehind = false;

  /** Adds the agent to a call. */
  function owned<C extends Partial<Call>>(call: C): C {
    agentId = call.sessionTarget?.agentId ?? call.agentId ?? agentId;
    return { ...call, agentId };
  }

  async function catchUp(lane: Lane, call: Call): Promise<void> {
    isCaughtUp = await lane.catchUp(await sdk(), target(owned(call)), settings.importMs);
  }

  function offerModel(lane: Lane, call: Call): void {
    const { modelId, model, llm } = call.runtimeContext ?? {};
    if (llm) shared.offer({ name: modelId ?? model, window: lane.turn.window });
  }

  return {
    info: {
      id: ID,
      name: "Unforget",
      version: "0.1.0",
      ownsCompaction: true,
      turnMaintenanceMode: "background",
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    },

    async bootstrap(call: Call): Promise<{ bootstrapped: boolean; reason?: string }> {
      const lane = shared.lane(owned(call));
      wasAssembled = false;
      given = undefined;
      try {
        isBehind = false;
        await catchUp(lane, call);
        return { bootstrapped: true };
      } catch (error) {
        isBehind = true;
        return { bootstrapped: false, reason: shared.degrade(lane, "bootstrap", error) };
      }
    },

    async assemble(call: AssembleCall): Promise<AssembleAnswer> {
      const lane = shared.lane(owned(call));
      const limits = call.runtimeSettings?.limits;
      const isFirst = limits ? limits.maxOutputTokens !== null : !wasAssembled;
      wasAssembled = true;
      lane.turn.behind = isFirst ? 0 : behind(call);
      lane.turn.window = (isFirst ? undefined : limits?.promptTokenBudget) ?? lane.turn.window;
      if (isFirst) {
        tries += 1;
        lane.turn.budget = call.tokenBudget;
        lane.turn.output = limits?.maxOutputTokens ?? lane.turn.output;
      }
      const budget = budgetOf(call, lane.turn);
      isWithout = isFirst ? isBehind : isWithout;
      if (isWithout) return without(call, isFirst, budget);
      // The host puts the turn behind the prompt, so nothing inside the prompt can have changed.
      if (!isFirst && call.prompt !== undefined && given && given.upper <= budget) return seen(given, call, budget);
      try {
        if (isFirst && !isCaughtUp) await catchUp(lane, call);
        if (await isUnwritten(lane, call)) return await without(call, isFirst, budget);
        const made = await ask(lane, call, isFirst, budget);
        const answer = { messages: made.messages, estimatedTokens: made.tokens.expected };
        given = { answer, upper: made.tokens.upper };
        return isFirst ? { ...answer, ...(await addition(call, made)) } : seen(given, call, budget);
      } catch (error) {
        shared.degrade(lane, "assemble", error);
        isWithout = isFirst;
        return without(call, isFirst, budget);
      }
    },

    async commitTurn(call: CommitCall): Promise<{ status: "committed" | "duplicate" }> {
      const lane = shared.lane(owned(call));
      const reader = { sdk: await sdk(), target: target(owned(call)) };
      try {
        const { advancementKey: turn, messages, admission, terminal } = call;
        void answered(lane, messages);
        return { status: await lane.commit(reader, { turn, messages, ends: [admission.entryId, terminal.entryId] }) };
      } catch (error) {
        // The turn is in the transcript, and the next bootstrap reads it from there. Without such a reader it must be
        // delivered again.
        shared.degrade(lane, "commitTurn", error);
        if (!reader.sdk) throw error;
        return { status: "committed" };
      }
    },

    /** Up to 2026.7: receives the host's array after a turn, and before the first call of a turn. */
    async afterTurn(call: AfterTurnCall): Promise<void> {
      const lane = shared.lane(owned(call));
      offerModel(lane, call);
      const from = Math.max(0, call.prePromptMessageCount - 8);
      void answered(lane, call.messages.slice(call.prePromptMessageCount));
      try {
        await catchUp(lane, call);
        if (!isCaughtUp && !lane.isUnwritten) {
          const messages = call.messages.slice(from).map((message) => ({ message }));
          await lane.call("afterTurn", { before: call.prePromptMessageCount - from, array: { messages } });
        }
      } catch (error) {
        shared.degrade(lane, "afterTurn", error);
      }
    },

    async ingest(): Promise<{ ingested: boolean }> {
      return { ingested: false };
    },

    async maintain(call: Call): Promise<{ changed: boolean; bytesFreed: number; rewrittenEntries: number; reason?: string }> {
      const lane = shared.lane(owned(call));
      shared.held.prepare(lane.name);
      const nothing = { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
      offerModel(lane, call);
      try {
        await lane.save();
        await lane.call("maintain");
        const { llm } = call.runtimeContext ?? {};
        if (llm && settings.summaries === "host") await shared.work(llm, call.abortSignal);
        return nothing;
      } catch (error) {
        return { ...nothing, reason: shared.degrade(lane, "maintain", error) };
      }
    },

    async compact(call: Parameters<typeof compact>[1]) {
      given = undefined;
      return compact(shared, owned(call));
    },

    async prepareSubagentSpawn(call: SpawnCall): Promise<{ rollback(): Promise<void> }> {
      const parent = shared.lane(owned({ sessionKey: call.parentSessionKey }));
      const child = shared.lane({ sessionKey: call.childSessionKey }).name;
      const tell = (event: Record<string, unknown>) => told(shared, parent, event);
      await tell({ name: "subagentPrepared", child, forks: call.contextMode === "fork" });
      return { rollback: () => tell({ name: "subagentRolledBack", child }) };
    },

    async onSubagentEnded(call: { childSessionKey: string; reason: string }): Promise<void> {
      const child = shared.lane({ sessionKey: call.childSessionKey });
      await told(shared, child, { name: "subagentEnded", child: child.name, reason: call.reason });
    },
  };

  async function without(call: AssembleCall, isFirst: boolean, budget: number): Promise<AssembleAnswer> {
    const messages = newest(call.messages, budget);
    const answer = { messages, estimatedTokens: tokensOf(messages) };
    return isFirst ? { ...answer, ...(await addition(call)) } : answer;
  }

  async function ask(lane: Lane, call: AssembleCall, isFirst: boolean, budget: number): Promise<Assembled> {
    const { output } = lane.turn;
    const params = { dialect: "pi", model: call.model, isFirst: isFirst && tries === 1, budget, output };
    const messages = await beyond(lane, call, isFirst);
    const held = shared.held.of(lane.name);
    const wanted = { ...params, holds: held.given, ...(messages.length > 0 ? { live: { messages } } : {}) };
    const made = await lane.call<Assembled>("assemble", wanted).catch((error: unknown) => {
      // A tool loop of the host can grow beyond the room. The host shortens it itself once the call is refused; until
      // then the smallest prompt is the best one.
      if (!(error instanceof Fault) || error.missing === 0) throw error;
      shared.log.warn(`unforget: the host leaves ${budget} tokens for the messages in ${lane.name}, ${error.missing} less than the smallest prompt has`);
      return lane.call<Assembled>("assemble", { ...wanted, budget: budget + error.missing });
    });
    return { ...made, messages: shared.engine.clock.work(() => shared.held.whole(lane.name, held, made)) };
  }

  /**
   * The messages of the live array that the engine lacks. Messages of the transcript are known, and the host itself
   * puts the turn behind the prompt. Exceptions are retries in the middle of a turn and tool loops of hosts that pass
   * no prompt: then the turn is among the messages.
   */
  async function beyond(lane: Lane, call: AssembleCall, isFirst: boolean): Promise<Sent[]> {
    const { live } = lane;
    const reader = await sdk();
    if (reader) {
      if (isFirst && isCaughtUp && tries > 1 && live.hasNewer(call.messages)) await lane.catchUpTurn(reader, target(owned(call)));
      return isCaughtUp || !isFirst ? [] : live.unwritten(call.messages, false);
    }
    if (!isFirst || tries > 1) await catchUp(lane, call);
    const isWritten = isCaughtUp && (isFirst || live.hasNewest(call.messages));
    return isWritten ? live.beside(call.messages) : live.unwritten(call.messages, true);
  }

  /** Whether a transcript file does not exist yet: the host creates it with the first answer. */
  async function isUnwritten(lane: Lane, call: AssembleCall): Promise<boolean> {
    if (isCaughtUp || (await sdk())) return false;
    await catchUp(lane, call);
    return !isCaughtUp && lane.isUnwritten;
  }

  async function addition(call: AssembleCall, made?: Assembled): Promise<Pick<AssembleAnswer, "systemPromptAddition">> {
    const policy = made && settings.recallPolicy && isRecallable(made) ? POLICY : "";
    const parts = [await memorySection(call), policy, ...(made?.system ?? [])].filter((part) => part !== "");
    return parts.length > 0 ? { systemPromptAddition: parts.join("\n\n") } : {};
  }

  /**
   * Reports the provider's count to the engine if a turn ends with an answer, before that answer is delivered. Not
   * awaited.
   */
  async function answered(lane: Lane, turn: Message[]): Promise<void> {
    const last = turn.at(-1);
    if (last?.role !== "assistant" || last.stopReason === "error" || last.stopReason === "aborted") return;
    const usage = last.usage as { input?: number; cacheRead?: number; cacheWrite?: number } | undefined;
    const inputTokens = (usage?.input ?? 0) + (usage?.cacheRead ?? 0) + (usage?.cacheWrite ?? 0);
    if (inputTokens > 0) await lane.call("answered", { inputTokens }).catch(() => {});
  }
}

/** The answer with the images that the host has loaded; it loads them after the first call of a turn. */
function seen({ answer, upper }: { answer: AssembleAnswer; upper: number }, { messages }: AssembleCall, budget: number): AssembleAnswer {
  return { ...answer, messages: withImages(answer.messages, messages, budget - upper) };
}

/** Whether there is anything that the prompt does not show word for word. */
function isRecallable({ certificate: { omitted, cover } }: Assembled): boolean {
  return omitted + cover.stubbed + cover.summarised + cover.elided > 0;
}

/**
 * Room for the messages in tokens. Only the first call of a turn receives the room left after system prompt and
 * reserve; later calls receive the whole window, reduced by the text that the host puts behind the messages.
 */
export function budgetOf(call: AssembleCall, turn: { budget?: number; behind: number }): number {
  const { tokenBudget = ROOM } = call;
  return Math.max(1, Math.min(tokenBudget, (turn.budget ?? tokenBudget) - turn.behind));
}

/** Tokens that the host puts behind the messages; undefined if it passes no prompt. */
export function behind(call: AssembleCall): number {
  const window = call.runtimeSettings?.limits?.promptTokenBudget;
  if (typeof window !== "number" || call.prompt === undefined || call.tokenBudget === undefined) return 0;
  return Math.max(0, window - call.tokenBudget);
}

/** Reports an event to the engine; a failure does not affect the host. */
async function told(shared: Shared, lane: Lane, event: Record<string, unknown>): Promise<void> {
  try {
    await lane.call("event", { event });
  } catch (error) {
    shared.degrade(lane, `event ${String(event.name)}`, error);
  }
}
