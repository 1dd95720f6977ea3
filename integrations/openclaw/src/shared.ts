// State shared by all instances of this plugin in one process. The host loads the code several times as separate
// modules, so the state is attached to `globalThis`.

import type { Wait } from "./clock.js";
import { Fault } from "./connection.js";
import { Engine } from "./engine.js";
import { Held } from "./held.js";
import type { HostModel, Log } from "./host.js";
import { Lane, laneName } from "./lane.js";
import { complete } from "./model.js";
import type { Settings } from "./settings.js";

const KEY = Symbol.for("openclaw-unforget");

/** Time that a maintenance call waits for a question from the engine. */
const QUIET_MS = 1_500;

/** Time that a question waits for a maintenance call. */
const PATIENCE_MS = 30_000;

/** Number of turns whose waiting times are remembered. */
const WAITS = 100;

/** Number of remembered lanes; the engine knows all of them. */
const LANES = 1_000;

/** The host's waiting time in one turn. */
export type Waits = Record<"bootstrap" | "assemble" | "commit", Wait>;

export class Shared {
  readonly engine: Engine;
  readonly held = new Held();
  readonly #lanes = new Map<string, Lane>();
  /** The engine's questions that wait for the host's model. */
  readonly #questions: { ask: Record<string, unknown>; answer(value: Promise<unknown>): void }[] = [];
  #asked?: () => void;
  #offered = "";
  #waits: Waits[] = [];
  /** Number of times that the host was served without the engine. */
  degradations = 0;
  lastDegradation?: string;

  constructor(
    readonly settings: Settings,
    readonly log: Log,
  ) {
    if (settings.socket && settings.autoPins) log.warn("unforget: `autoPins` does nothing here: the engine at the socket decides for itself");
    this.engine = new Engine(settings, log, (method, params) => this.#question(method, params));
  }

  /** Records the waiting time of a turn. */
  waited(waits: Waits): void {
    this.#waits.push(waits);
    if (this.#waits.length > WAITS) this.#waits.shift();
  }

  /**
   * Median over the newest turns, in ms: the time added to a turn, in total and by part, and the time that the host
   * waited.
   */
  get times() {
    const middle = (of: (waits: Waits) => number) => this.#waits.map(of).sort((a, b) => a - b)[Math.floor(this.#waits.length / 2)] ?? 0;
    const all = (what: keyof Wait) => middle(({ bootstrap, assemble, commit }) => bootstrap[what] + assemble[what] + commit[what]);
    const part = (name: keyof Waits) => middle((waits) => waits[name].added);
    const parts = { bootstrap: part("bootstrap"), assemble: part("assemble"), commit: part("commit") };
    return { added: all("added"), parts, waited: all("waited"), turns: this.#waits.length };
  }

  lane(call: Parameters<typeof laneName>[0]): Lane {
    const name = laneName(call);
    const lane = this.#lanes.get(name) ?? new Lane(name, this.engine);
    this.#lanes.delete(name);
    this.#lanes.set(name, lane);
    for (const oldest of this.#lanes.keys()) {
      if (this.#lanes.size <= LANES) break;
      this.#lanes.delete(oldest);
    }
    return lane;
  }

  /** Reports work done without the engine to the log and to `/unforget status`. */
  degrade(lane: Lane, what: string, error: unknown): string {
    const why = `${what}: ${error instanceof Fault ? `${error.kind}: ${error.message}` : String(error)}`;
    this.degradations += 1;
    this.lastDegradation = `${new Date().toISOString()} ${lane.name}: ${why}`;
    this.log.warn(`unforget: degraded in ${lane.name}: ${why}`);
    return why;
  }

  /** Offers the host's model to the engine if the settings say so: once, and again if the offer did not arrive. */
  offer(model: { name?: string; window?: number }): void {
    if (this.settings.summaries !== "host") return;
    const offered = JSON.stringify(model);
    if (this.#offered === offered) return;
    this.#offered = offered;
    const isUnused = (why: string) => this.log.warn(`unforget: the host's model is not used: ${why}`);
    this.engine.offer(model).then(
      (isAsked) => isAsked || isUnused("the engine's settings name models of their own"),
      (error) => {
        this.#offered = "";
        isUnused(String(error));
      },
    );
  }

  /** Answers the engine's questions until none came for a while. The host takes its model back when its call ends. */
  async work(model: HostModel, signal: AbortSignal | undefined): Promise<void> {
    while (!signal?.aborted) {
      const question = this.#questions.shift();
      if (question) {
        const answered = complete(model, question.ask);
        question.answer(answered);
        await answered.catch(() => {});
        continue;
      }
      const isAsked = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), QUIET_MS);
        this.#asked = () => (clearTimeout(timer), resolve(true));
      });
      if (!isAsked) return;
    }
  }

  #question(method: string, ask: Record<string, unknown>): Promise<unknown> {
    if (method !== "complete") return Promise.reject(new Fault("invalid", `${method} is not answered here`));
    return new Promise((resolve, reject) => {
      const none = setTimeout(() => {
        this.#questions.splice(this.#questions.findIndex((one) => one.ask === ask), 1);
        reject(new Fault("overloaded", "the host lends its model only while it maintains a session"));
      }, PATIENCE_MS);
      none.unref();
      this.#questions.push({ ask, answer: (value) => (clearTimeout(none), resolve(value)) });
      this.#asked?.();
    });
  }
}

const holder = globalThis as unknown as Record<symbol, Shared | undefined>;

/** The instance of this process. The first caller decides its settings. */
export function shared(make: () => Shared): Shared {
  return (holder[KEY] ??= make());
}

/**
 * Ends the instance. The host requests this when it stops and when it replaces this code or its settings; the next
 * caller creates a new instance.
 */
export function release(): void {
  holder[KEY]?.engine.close();
  delete holder[KEY];
}
