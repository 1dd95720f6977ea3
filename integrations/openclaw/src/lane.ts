// One history of the host, under the name that it keeps, and how its transcript gets into the engine.

import { createHash } from "node:crypto";

import { Fault } from "./connection.js";
import type { Engine } from "./engine.js";
import { readFile, whereabouts } from "./file.js";
import type { Call, Message, Target } from "./host.js";
import { Live } from "./live.js";
import { type Cursor, type Delta, type Entry, type Sdk, read, readOutside } from "./transcript.js";

/** The form of the host's messages, in the engine's word. */
const FORM = "pi";

/** Bytes of messages that go in one call. */
const PAGE_BYTES = 8 << 20;

/** Moves of the cursor that the engine need not know of. */
const UNSAVED = 8;

/** Ids that are remembered of a transcript. */
const RECENT = 512;

/** Tokens of an answer, until the host says how many. */
const OUTPUT = 4_096;

/** What the engine says of a lane. */
export interface Status {
  entries: number;
  path: number;
  generation: number;
  cursor: string | null;
  debt: { storedTokens: number };
}

/** How long a call with so many bytes may take, in ms. */
type Patience = (bytes?: number) => number;

export class Lane {
  /** What live arrays have beside the transcript. */
  readonly live = new Live();
  /**
   * The running turn, in tokens: the model's window, what the first call had room for, what the host put behind the last prompt
   * in a tool loop, and what it asks for as an answer.
   */
  readonly turn: { window?: number; budget?: number; behind: number; output: number } = { behind: 0, output: OUTPUT };
  /** How far the transcript is in the engine; nothing before the engine was asked. */
  #cursor?: Cursor;
  /** The engine's start that `#cursor` is of: another one is asked what it knows. */
  #start = 0;
  /** Times that `#cursor` moved since the engine was told. */
  #unsaved = 0;
  /** Ids of the newest entries that came by the transcript, in order. */
  #recent: string[] = [];
  /** The moves of the cursor so far. */
  #moving = Promise.resolve();
  /** Where the transcript is, if it is a file: not all calls say so. */
  #file?: { session: string; path: string };

  constructor(
    readonly name: string,
    private readonly engine: Engine,
  ) {}

  /** A call of the engine about this lane. Rejects with a Fault, and only with that. */
  call<T = unknown>(method: string, params: Record<string, unknown> = {}, deadlineMs?: number): Promise<T> {
    return this.engine.call<T>(method, { lane: this.name, form: FORM, ...params }, deadlineMs);
  }

  /** Whether nothing of the session is written yet: then the host's live array is all there is. */
  get isUnwritten(): boolean {
    return this.#cursor?.visible === undefined;
  }

  /**
   * Brings the engine up to the host's transcript. Gives whether all of it is there: not so before there is any, or while
   * the host is indexing it. Throws a Fault of the engine, or what the host throws.
   */
  catchUp(sdk: Sdk | undefined, target: Target, deadlineMs: number): Promise<boolean> {
    return this.#alone(async () => {
      const { clock } = this.engine;
      const until = Date.now() + deadlineMs;
      const left: Patience = (bytes = 0) => Math.max(1, Math.min(until - Date.now(), this.engine.patience(bytes)));
      const isEmpty = await this.#open(left);
      const known = this.#cursor?.session === target.sessionId ? this.#cursor : undefined;
      const isOther = this.#cursor !== undefined && known === undefined;
      if (isOther && this.#cursor) await this.#finish(this.#cursor, { sdk, target }, left);
      const since = known ?? { session: target.sessionId };
      const delta = await clock.working(() => (sdk ? read(sdk, target, since) : readFile(this.#path(target), since)));
      if (!delta) {
        // Nothing is written yet; but what another session said is over.
        if (isOther) await this.#append([], { isReset: true, cursor: since }, left);
        if (isOther) this.#cursor = since;
        return false;
      }
      if (delta.isWhole && !isOther && !(isEmpty && !known)) await this.#again(delta, left);
      else await this.#deliver(delta, { isOther, isFirst: known === undefined }, left);
      this.#advance(delta);
      return true;
    });
  }

  /**
   * A turn is done. Its entries go with their ids if the transcript has them and nothing else since it was read last: then
   * the next turn finds it read.
   *
   * * `ends` - ids of its first and its last entry.
   */
  commit(
    { sdk, target }: { sdk?: Sdk; target: Target },
    { turn, messages, ends }: { turn: string; messages: Message[]; ends: [string, string] },
  ): Promise<"committed" | "duplicate"> {
    return this.#alone(async () => {
      const isKnown = sdk && this.#cursor?.session === target.sessionId;
      const since = isKnown ? this.#cursor : undefined;
      const delta = sdk && since && (await this.engine.clock.working(() => readOutside(sdk, target, since)));
      const entries = delta && !delta.isWhole && delta.stretches.length === 1 ? (delta.stretches[0]?.entries ?? []) : [];
      const isTurn = entries.length === messages.length && entries[0]?.id === ends[0] && entries.at(-1)?.id === ends[1];
      const id = (index: number) => (index === 0 ? ends[0] : index === messages.length - 1 ? ends[1] : undefined);
      const sent = isTurn ? entries : messages.map((message, index) => ({ id: id(index), message }));
      const { status } = await this.call<{ status: "committed" | "duplicate" }>("commitTurn", { turn, messages: sent });
      if (isTurn && delta && this.#start === this.engine.starts) {
        this.#advance(delta);
        this.#remember(entries);
        this.#unsaved += 1;
      }
      return status;
    });
  }

  /**
   * The running turn, by the transcript: its words, not those that the host has made of them for a prompt. The cursor stays
   * before it, where the host wants the next read to begin.
   */
  catchUpTurn(sdk: Sdk, target: Target): Promise<void> {
    return this.#alone(async () => {
      const since = this.#cursor;
      const delta = since && (await this.engine.clock.working(() => readOutside(sdk, target, since)));
      // A reset is delivered once, with its cursor: by the next catchUp.
      if (!delta || delta.isWhole || delta.stretches.length > 1) return;
      await this.#append(delta.stretches[0]?.entries ?? [], {}, (bytes) => this.engine.patience(bytes ?? 0));
    });
  }

  /** Keeps the cursor in the engine, now and then: an old one only makes the first turn after a restart read more. */
  save(): Promise<void> {
    return this.#alone(async () => {
      if (this.#unsaved < UNSAVED || !this.#cursor) return;
      this.#unsaved = 0;
      await this.#append([], { cursor: this.#cursor }, (bytes) => this.engine.patience(bytes ?? 0));
    });
  }

  /** Moves of the cursor go one after the other. Behind one that failed, the engine is asked how far it is. */
  #alone<T>(move: () => Promise<T>): Promise<T> {
    const moved = this.#moving.then(move);
    this.#moving = moved.then(
      () => {},
      () => void (this.#start = 0),
    );
    return moved;
  }

  /** Asks an engine that was started since what it knows; gives whether it has nothing. */
  async #open(left: Patience): Promise<boolean> {
    if (this.#cursor && this.#start === this.engine.starts) return false;
    const status = await this.call<Status>("open", {}, left());
    this.#cursor = parse(status.cursor);
    this.#start = this.engine.starts;
    return status.path === 0 && status.generation === 0;
  }

  /** What was said last in a session whose place another one has taken. */
  async #finish(since: Cursor, { sdk, target }: { sdk?: Sdk; target: Target }, left: Patience): Promise<void> {
    const old = { ...target, sessionId: since.session };
    const delta = sdk ? await read(sdk, old, since) : await readFile(since.path && (await whereabouts(since.path)), since);
    if (delta?.isWhole) await this.#again(delta, left);
    else if (delta) await this.#deliver(delta, { isOther: false, isFirst: false }, left);
    if (delta) this.#advance(delta);
  }

  #path({ sessionId, sessionFile }: Target): string | undefined {
    if (sessionFile) this.#file = { session: sessionId, path: sessionFile };
    return this.#file?.session === sessionId ? this.#file.path : undefined;
  }

  /** What came behind the cursor. */
  async #deliver({ stretches, cursor }: Delta, { isOther, isFirst }: { isOther: boolean; isFirst: boolean }, left: Patience): Promise<void> {
    if (!isFirst && stretches.every((stretch) => !stretch.isReset && stretch.entries.length === 0)) {
      this.#unsaved += 1;
      return;
    }
    for (const [index, { isReset, entries }] of stretches.entries()) {
      const end = index === stretches.length - 1 ? { cursor } : {};
      await this.#append(entries, { isReset: isReset || (isOther && index === 0), ...end }, left);
    }
  }

  /** The host took messages back, moved them, or wrote them anew: the engine has some of it already. */
  async #again({ stretches, ...delta }: Delta, left: Patience): Promise<void> {
    const active = stretches[0]?.entries ?? [];
    const kept = this.#lastKept(active);
    const isKept = kept !== undefined && (await this.#rewind(active[kept]?.id, left));
    if (!isKept) await this.#whole(active, left);
    const end = isKept ? kept + 1 : active.length;
    this.#recent = [];
    this.#remember(active.slice(0, end));
    const first = { isReset: false, entries: active.slice(end) };
    await this.#deliver({ ...delta, stretches: [first, ...stretches.slice(1)] }, { isOther: false, isFirst: true }, left);
  }

  /** The place in the active history of the last entry before anything changed; nothing if that is not known. */
  #lastKept(active: Entry[]): number | undefined {
    const places = new Map(active.map(({ id }, index) => [id, index]));
    const gone = this.#recent.findIndex((id) => !places.has(id));
    const last = gone < 0 ? undefined : this.#recent[gone - 1];
    return last === undefined ? undefined : places.get(last);
  }

  /** What came behind an entry is not active any more. Not so if the engine does not know its id. */
  async #rewind(to: string | undefined, left: Patience): Promise<boolean> {
    try {
      await this.call("event", { event: { name: "rewind", to } }, left());
      return true;
    } catch (error) {
      if (error instanceof Fault && error.kind === "refused") return false;
      throw error;
    }
  }

  /** All of the active history, by digests; bodies go where the engine lacks them. */
  async #whole(entries: Entry[], left: Patience): Promise<void> {
    const messages: object[] = entries.map(({ id, message }) => ({ id, digest: digest(message) }));
    for (;;) {
      try {
        await this.call("catchUp", { array: { messages } }, left(entries.length * 1_000));
        return;
      } catch (error) {
        const need = error instanceof Fault && error.kind === "need" ? error.need : [];
        const lacked = need.filter((index) => entries[index] && messages[index] !== entries[index]);
        if (lacked.length === 0) throw error;
        for (const index of lacked) messages[index] = entries[index] as Entry;
      }
    }
  }

  /** Entries in calls of a bounded size, at least one; the cursor goes with the last. */
  async #append(entries: Entry[], { isReset = false, cursor }: { isReset?: boolean; cursor?: Cursor }, left: Patience): Promise<void> {
    const pages = paged(entries);
    for (const [at, { messages, bytes }] of pages.entries()) {
      const end = cursor && at === pages.length - 1 ? { cursor: JSON.stringify(cursor) } : {};
      await this.call("catchUp", { messages, isReset: isReset && at === 0, ...end }, left(bytes));
    }
    if (isReset) this.#recent = [];
    this.#remember(entries);
  }

  #remember(entries: Entry[]): void {
    this.#recent = [...this.#recent, ...entries.map(({ id }) => id)].slice(-RECENT);
  }

  /** What a delta has is in the engine. */
  #advance({ cursor, stretches }: Delta): void {
    this.#cursor = cursor;
    this.live.saw(stretches.flatMap(({ entries }) => entries));
  }
}

/** What says whose a call is. */
type Owned = { sessionKey?: string; sessionId?: string; agentId?: string; sessionTarget?: { agentId?: string } };

/** The agent of a call. */
function agentOf({ sessionTarget, sessionKey, agentId }: Owned): string {
  return sessionTarget?.agentId ?? /^agent:([^:]+):/.exec(sessionKey ?? "")?.[1] ?? agentId ?? "main";
}

/** The lane of a call. Keys that do not begin with an agent's name get it: with `session.scope: "global"` all agents have the same. */
export function laneName(call: Owned): string {
  const key = call.sessionKey ?? `session:${call.sessionId ?? "unknown"}`;
  return key.startsWith("agent:") ? key : `agent:${agentOf(call)}:${key}`;
}

/** Where the transcript of a call is. */
export function target(call: Call): Target {
  const { sessionTarget } = call;
  return {
    agentId: agentOf(call),
    sessionId: sessionTarget?.sessionId ?? call.sessionId,
    sessionKey: call.sessionKey ?? sessionTarget?.sessionKey,
    sessionFile: call.sessionFile,
  };
}

function digest(message: Message): string {
  return createHash("sha256").update(JSON.stringify(message)).digest("hex").slice(0, 32);
}

function parse(cursor: string | null): Cursor | undefined {
  try {
    const read = JSON.parse(cursor ?? "null") as Cursor | null;
    return typeof read?.session === "string" ? read : undefined;
  } catch {
    return undefined;
  }
}

/** Entries in pages of a bounded size; at least one page, which may be empty. */
function paged(entries: Entry[]): { messages: Entry[]; bytes: number }[] {
  let page = { messages: [] as Entry[], bytes: 0 };
  const pages = [page];
  for (const entry of entries) {
    const size = JSON.stringify(entry.message).length;
    if (page.bytes > 0 && page.bytes + size > PAGE_BYTES) pages.push((page = { messages: [], bytes: 0 }));
    page.messages.push(entry);
    page.bytes += size;
  }
  return pages;
}
