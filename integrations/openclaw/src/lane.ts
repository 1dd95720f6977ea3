// One history of the host under its permanent name, and the delivery of its transcript to the engine.

import { createHash } from "node:crypto";

import { Fault } from "./connection.js";
import type { Engine } from "./engine.js";
import { readFile, whereabouts } from "./file.js";
import type { Call, Message, Target } from "./host.js";
import { Live } from "./live.js";
import { type Cursor, type Delta, type Entry, type Sdk, read, readOutside } from "./transcript.js";

/** The engine's name for the form of the host's messages. */
const FORM = "pi";

/** Bytes of messages in one call. */
const PAGE_BYTES = 8 << 20;

/** Moves of the cursor between two saves in the engine. */
const UNSAVED = 8;

/** Number of remembered ids of a transcript. */
const RECENT = 512;

/** Tokens reserved for an answer, until the host states a number. */
const OUTPUT = 4_096;

/** The engine's state of a lane. */
export interface Status {
  entries: number;
  path: number;
  generation: number;
  cursor: string | null;
  debt: { storedTokens: number };
}

/** Time limit in ms for a call of the given size in bytes. */
type Patience = (bytes?: number) => number;

export class Lane {
  /** Messages of live arrays that are not in the transcript. */
  readonly live = new Live();
  /**
   * The running turn, in tokens: the model's window, the room in the first call, the text put behind the last prompt by
   * the host in a tool loop, and the room for an answer.
   */
  readonly turn: { window?: number; budget?: number; behind: number; output: number } = { behind: 0, output: OUTPUT };
  /** Position up to which the engine has the transcript; undefined before the engine was asked. */
  #cursor?: Cursor;
  /** Number of the engine's start for which `#cursor` holds; a newly started engine is asked for its state. */
  #start = 0;
  /** Number of moves of `#cursor` since it was saved in the engine. */
  #unsaved = 0;
  /** Ids of the newest entries delivered from the transcript, in order. */
  #recent: string[] = [];
  /** Completion of all moves of the cursor so far. */
  #moving = Promise.resolve();
  /** Location of the transcript file, if there is one: not all calls state it. */
  #file?: { session: string; path: string };

  constructor(
    readonly name: string,
    private readonly engine: Engine,
  ) {}

  /** Calls the engine about this lane. Rejects only with a Fault. */
  call<T = unknown>(method: string, params: Record<string, unknown> = {}, deadlineMs?: number): Promise<T> {
    return this.engine.call<T>(method, { lane: this.name, form: FORM, ...params }, deadlineMs);
  }

  /** Whether the session has no transcript yet: then the host's live array is all there is. */
  get isUnwritten(): boolean {
    return this.#cursor?.visible === undefined;
  }

  /**
   * Brings the engine up to date with the host's transcript. Returns whether the transcript is complete: false before
   * it exists and while the host is indexing it. Throws a Fault of the engine, or an error of the host.
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
        // No transcript exists yet, but the previous session of this place has ended.
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
   * Delivers a finished turn. Its entries are delivered with their ids if they are the only new entries of the
   * transcript since the last read; the next turn then has nothing to read.
   *
   * * `ends` - ids of the first and the last entry of the turn.
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
   * The running turn in the words of the transcript, not in those that the host has made of them for a prompt. The
   * cursor stays before the turn, where the host wants the next read to begin.
   */
  catchUpTurn(sdk: Sdk, target: Target): Promise<void> {
    return this.#alone(async () => {
      const since = this.#cursor;
      const delta = since && (await this.engine.clock.working(() => readOutside(sdk, target, since)));
      // A reset is delivered once, together with its cursor, by the next catchUp.
      if (!delta || delta.isWhole || delta.stretches.length > 1) return;
      await this.#append(delta.stretches[0]?.entries ?? [], {}, (bytes) => this.engine.patience(bytes ?? 0));
    });
  }

  /** Saves the cursor in the engine now and then: an old cursor only makes the first turn after a restart read more. */
  save(): Promise<void> {
    return this.#alone(async () => {
      if (this.#unsaved < UNSAVED || !this.#cursor) return;
      this.#unsaved = 0;
      await this.#append([], { cursor: this.#cursor }, (bytes) => this.engine.patience(bytes ?? 0));
    });
  }

  /** Serialises moves of the cursor. After a failed move the engine is asked for its position. */
  #alone<T>(move: () => Promise<T>): Promise<T> {
    const moved = this.#moving.then(move);
    this.#moving = moved.then(
      () => {},
      () => void (this.#start = 0),
    );
    return moved;
  }

  /** Asks a restarted engine for its state; returns whether it has no entries. */
  async #open(left: Patience): Promise<boolean> {
    if (this.#cursor && this.#start === this.engine.starts) return false;
    const status = await this.call<Status>("open", {}, left());
    this.#cursor = parse(status.cursor);
    this.#start = this.engine.starts;
    return status.path === 0 && status.generation === 0;
  }

  /** Delivers the last entries of a session that was replaced by another one. */
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

  /** The entries behind the cursor. */
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

  /** Handles messages that the host took back, moved, or rewrote: the engine has some of them already. */
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

  /** Position in the active history of the last entry before the change; undefined if unknown. */
  #lastKept(active: Entry[]): number | undefined {
    const places = new Map(active.map(({ id }, index) => [id, index]));
    const gone = this.#recent.findIndex((id) => !places.has(id));
    const last = gone < 0 ? undefined : this.#recent[gone - 1];
    return last === undefined ? undefined : places.get(last);
  }

  /** Rewinds the active path to an entry. Returns false if the engine does not know the entry's id. */
  async #rewind(to: string | undefined, left: Patience): Promise<boolean> {
    try {
      await this.call("event", { event: { name: "rewind", to } }, left());
      return true;
    } catch (error) {
      if (error instanceof Fault && error.kind === "refused") return false;
      throw error;
    }
  }

  /** Delivers the whole active history by digest; bodies are sent only where the engine lacks them. */
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

  /** Delivers entries in calls of limited size, at least one call; the cursor is part of the last call. */
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

  /** Records that the engine has all of a delta. */
  #advance({ cursor, stretches }: Delta): void {
    this.#cursor = cursor;
    this.live.saw(stretches.flatMap(({ entries }) => entries));
  }
}

/** The fields that identify the lane of a call. */
type Owned = { sessionKey?: string; sessionId?: string; agentId?: string; sessionTarget?: { agentId?: string } };

/** The agent of a call. */
function agentOf({ sessionTarget, sessionKey, agentId }: Owned): string {
  return sessionTarget?.agentId ?? /^agent:([^:]+):/.exec(sessionKey ?? "")?.[1] ?? agentId ?? "main";
}

/**
 * The lane of a call. The agent is added to keys that do not begin with its name: with `session.scope: "global"` all
 * agents have the same key.
 */
export function laneName(call: Owned): string {
  const key = call.sessionKey ?? `session:${call.sessionId ?? "unknown"}`;
  return key.startsWith("agent:") ? key : `agent:${agentOf(call)}:${key}`;
}

/** The location of the transcript of a call. */
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

/** Entries in pages of limited size; at least one page, which may be empty. */
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
