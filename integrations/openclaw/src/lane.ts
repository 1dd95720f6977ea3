// One history of the host, under the name that it keeps, and how it gets into the engine.

import { createHash } from "node:crypto";

import { Fault } from "./connection.js";
import type { Engine } from "./engine.js";
import { readFile } from "./file.js";
import type { Call, Message, Target } from "./host.js";
import { type Cursor, type Delta, type Entry, type Sdk, read, readOutside } from "./transcript.js";

/** The form of the host's messages, in the engine's word. */
export const FORM = "pi";

/** Bytes of messages that go in one call. */
const PAGE_BYTES = 8 << 20;

/** Messages of a live array that are sent before the first that is newer than the transcript. */
const OVERLAP = 8;

/** Moves of the cursor that the engine need not know of. */
const UNSAVED = 8;

/** Ids that are remembered of a transcript. */
const RECENT = 512;

/** Tokens of an answer, until the host says how many. */
const OUTPUT = 4_096;

/** Messages of it that are sent as long as nothing came by the transcript. */
const UNKNOWN = 64;

/** A message as the engine takes it. */
type Sent = { id?: string; message?: Message; digest?: string; volatile?: boolean };

/** The same with its body. */
type Full = { id?: string; message: Message; volatile?: boolean };

interface Status {
  path: number;
  generation: number;
  cursor: string | null;
}

export class Lane {
  /** How far the transcript is in the engine; nothing before the engine was asked. */
  #cursor?: Cursor;
  /** Time of the newest message that came by the transcript. */
  #newest = 0;
  /** Ids of the newest entries that came by the transcript, in order. */
  #recent: string[] = [];
  /** The newest message that came by the transcript. */
  #last?: Message;
  /** Where the transcript is, if it is a file: not all calls say so. */
  #file?: { session: string; path: string };
  /** What the first call of the turn had room for. */
  turnBudget?: number;
  /** What the host put behind the last prompt in a tool loop, in tokens. */
  pending = 0;
  /** What the host asks for as an answer, in tokens. */
  output = OUTPUT;
  /** What the last prompt weighed, in tokens. */
  weight = 0;
  /** What prompts may weigh until the turn ends, because a larger one was refused and the engine knew no smaller one. */
  room = Infinity;

  constructor(readonly name: string) {}

  /** Times that `#cursor` moved since the engine was told. */
  #unsaved = 0;
  /** The engine's start that `#cursor` is of: another one is asked what it knows. */
  #start = 0;

  /**
   * Brings the engine up to the host's transcript. Gives whether all of it is there: not so before there is any, or while
   * the host is indexing it. Throws a Fault of the engine, or what the host throws.
   */
  async catchUp(engine: Engine, sdk: Sdk | undefined, target: Target, deadlineMs: number): Promise<boolean> {
    const until = Date.now() + deadlineMs;
    const left = (bytes = 0) => Math.max(1, Math.min(until - Date.now(), engine.patience(bytes)));
    let status: Status | undefined;
    if (!this.#cursor || this.#start !== engine.starts) {
      status = await engine.call<Status>("open", { lane: this.name, form: FORM }, left());
      this.#cursor = parse(status.cursor);
      this.#start = engine.starts;
    }
    const known = this.#cursor?.session === target.sessionId ? this.#cursor : undefined;
    const isOther = this.#cursor !== undefined && known === undefined;
    const since = known ?? { session: target.sessionId };
    if (target.sessionFile) this.#file = { session: target.sessionId, path: target.sessionFile };
    const path = this.#file?.session === target.sessionId ? this.#file.path : undefined;
    const delta = sdk ? await read(sdk, target, since) : await readFile(path, since);
    if (!delta) {
      // Nothing is written yet; but what another session said is over.
      const cursor = { session: target.sessionId };
      if (isOther) await this.#page(engine, { messages: [], isReset: true, cursor: JSON.stringify(cursor) }, left());
      if (isOther) this.#cursor = cursor;
      return false;
    }
    const isFresh = !isOther && known === undefined && status?.path === 0 && status.generation === 0;
    await this.#deliver(engine, delta, { isOther, isFresh }, left);
    this.#advance(delta);
    return true;
  }

  /** What a delta has is in the engine. */
  #advance(delta: Delta): void {
    this.#cursor = delta.cursor;
    this.#last = delta.stretches.at(-1)?.entries.at(-1)?.message ?? this.#last;
    const times = delta.stretches.flatMap(({ entries }) => entries).map(({ message }) => message.timestamp ?? 0);
    for (const time of times) this.#newest = Math.max(this.#newest, time);
  }

  /**
   * A turn is done. Its entries go with their ids if the transcript has them and nothing else since it was read last: then
   * the next turn finds it read.
   *
   * * `ends` - ids of its first and its last entry.
   */
  async commit(
    engine: Engine,
    reader: { sdk?: Sdk; target: Target },
    { turn, messages, ends }: { turn: string; messages: Message[]; ends: [string, string] },
  ): Promise<"committed" | "duplicate"> {
    const isKnown = reader.sdk && this.#cursor?.session === reader.target.sessionId;
    const delta = isKnown && reader.sdk && this.#cursor ? await readOutside(reader.sdk, reader.target, this.#cursor) : undefined;
    const entries = delta && !delta.isWhole && delta.stretches.length === 1 ? (delta.stretches[0]?.entries ?? []) : [];
    const isTurn = entries.length === messages.length && entries[0]?.id === ends[0] && entries.at(-1)?.id === ends[1];
    const id = (index: number) => (index === 0 ? ends[0] : index === messages.length - 1 ? ends[1] : undefined);
    const sent = isTurn ? entries.map(({ id, message }) => ({ id, message })) : messages.map((message, index) => ({ id: id(index), message }));
    const params = { lane: this.name, form: FORM, turn, messages: sent };
    const { status } = await engine.call<{ status: "committed" | "duplicate" }>("commitTurn", params);
    if (isTurn && delta && this.#start === engine.starts) {
      this.#advance(delta);
      this.#recent = [...this.#recent, ...entries.map(({ id }) => id)].slice(-RECENT);
      this.#unsaved += 1;
    }
    return status;
  }

  /** Keeps the cursor in the engine, now and then: an old one only makes the first turn after a restart read more. */
  async save(engine: Engine): Promise<void> {
    if (this.#unsaved < UNSAVED || !this.#cursor) return;
    this.#unsaved = 0;
    await this.#page(engine, { messages: [], cursor: JSON.stringify(this.#cursor) }, engine.patience(0));
  }

  /**
   * The running turn, by the transcript: its words, not those that the host has made of them for a prompt. The cursor stays
   * before it, where the host wants the next read to begin.
   */
  async catchUpTurn(engine: Engine, sdk: Sdk, target: Target): Promise<void> {
    const delta = this.#cursor && (await readOutside(sdk, target, this.#cursor));
    if (!delta || delta.isWhole) return;
    for (const page of paged(delta.stretches.at(-1)?.entries ?? [])) {
      await this.#page(engine, { messages: page.map(({ id, message }) => ({ id, message })) }, engine.patience(PAGE_BYTES));
    }
  }

  async #deliver(
    engine: Engine,
    delta: Delta,
    { isOther, isFresh }: { isOther: boolean; isFresh: boolean },
    left: (bytes?: number) => number,
  ): Promise<void> {
    const cursor = JSON.stringify(delta.cursor);
    const last = delta.stretches.at(-1)?.entries ?? [];
    if (delta.isWhole && !isOther && !isFresh) {
      // The engine has some of it already: the host took messages back, moved them, or wrote them anew.
      const kept = this.#lastKept(last);
      if (kept === undefined || !(await this.#rewound(engine, last, kept, left))) await this.#whole(engine, last, left);
      await this.#page(engine, { messages: [], cursor }, left());
      this.#recent = last.slice(-RECENT).map(({ id }) => id);
      return;
    }
    const isNothing = delta.stretches.every((stretch) => !stretch.isReset && stretch.entries.length === 0);
    if (isNothing && !isOther && !isFresh) {
      this.#unsaved += 1;
      return;
    }
    for (const [index, stretch] of delta.stretches.entries()) {
      const isLast = index === delta.stretches.length - 1;
      const pages = paged(stretch.entries);
      for (const [at, entries] of pages.entries()) {
        const isEnd = isLast && at === pages.length - 1;
        const isReset = at === 0 && (stretch.isReset || (isOther && index === 0));
        const messages = entries.map(({ id, message }) => ({ id, message }));
        await this.#page(engine, { messages, isReset, ...(isEnd ? { cursor } : {}) }, left(PAGE_BYTES));
        this.#recent = [...(isReset ? [] : this.#recent), ...entries.map(({ id }) => id)].slice(-RECENT);
      }
    }
  }

  async #page(engine: Engine, page: Record<string, unknown>, deadlineMs: number): Promise<void> {
    await engine.call("catchUp", { lane: this.name, form: FORM, ...page }, deadlineMs);
  }

  /** The place in the active history of the last entry before anything changed; nothing if that is not known. */
  #lastKept(active: Entry[]): number | undefined {
    const places = new Map(active.map(({ id }, index) => [id, index]));
    const gone = this.#recent.findIndex((id) => !places.has(id));
    const last = gone < 0 ? undefined : this.#recent[gone - 1];
    return last === undefined ? undefined : places.get(last);
  }

  /** What came behind an entry is not active any more, and other entries are. Not so if the engine does not know its id. */
  async #rewound(engine: Engine, active: Entry[], kept: number, left: (bytes?: number) => number): Promise<boolean> {
    const event = { name: "rewind", to: active[kept]?.id };
    try {
      await engine.call("event", { lane: this.name, form: FORM, event }, left());
    } catch (error) {
      if (error instanceof Fault && error.kind === "refused") return false;
      throw error;
    }
    for (const entries of paged(active.slice(kept + 1))) {
      await this.#page(engine, { messages: entries.map(({ id, message }) => ({ id, message })) }, left(PAGE_BYTES));
    }
    return true;
  }

  /** All of the active history, by digests; bodies go where the engine lacks them. */
  async #whole(engine: Engine, entries: Entry[], left: (bytes?: number) => number): Promise<void> {
    await this.withBodies(entries.map(({ id, message }) => ({ id, message })), (messages) =>
      engine.call("catchUp", { lane: this.name, form: FORM, array: { messages } }, left(entries.length * 1_000)),
    );
  }

  /** Sends messages by their digests, and then the bodies that are asked for. */
  async withBodies<T>(messages: Full[], send: (messages: Sent[]) => Promise<T>): Promise<T> {
    const sent: Sent[] = messages.map(({ message, ...more }) => ({ ...more, digest: digest(message) }));
    for (;;) {
      try {
        return await send(sent);
      } catch (error) {
        if (!(error instanceof Fault) || error.kind !== "need" || error.need.length === 0) throw error;
        for (const index of error.need) {
          const own = messages[index];
          if (!own || sent[index]?.message) throw error;
          sent[index] = own;
        }
      }
    }
  }

  /** Whether nothing of the session is written yet: then the host's live array is all there is. */
  get isUnwritten(): boolean {
    return this.#cursor?.visible === undefined;
  }

  /**
   * Whether the newest message of a live array is the newest of the transcript, as far as hosts leave messages alike. What
   * they put in beside is not looked at: see `beside`.
   */
  hasNewest(messages: Message[]): boolean {
    const last = messages.findLast(({ role }) => role !== "custom");
    return last !== undefined && this.#last !== undefined && same(last) === same(this.#last);
  }

  /**
   * The end of a live array for the engine. Where transcripts are files, input is written before a model is called: what is
   * not there by then never will be.
   */
  unwritten(messages: Message[], hasFile: boolean): Full[] {
    const isInput = ({ role }: Message) => role === "custom" || role === "user";
    return this.live(messages).map((message) => (hasFile && isInput(message) ? { message, volatile: true } : { message }));
  }

  /** What the host put beside its transcript's messages into a live array. */
  beside(messages: Message[]): Full[] {
    const isBeside = ({ role, timestamp }: Message) => role === "custom" && (timestamp ?? 0) > this.#newest;
    return messages.filter(isBeside).map((message) => ({ message, volatile: true }));
  }

  /** Whether a live array has messages that are newer than all that came by the transcript. */
  hasNewer(messages: Message[]): boolean {
    return messages.some((message) => (message.timestamp ?? 0) > this.#newest);
  }

  /** The end of a live array: what may be newer than the transcript, and some of what is not. */
  live(messages: Message[]): Message[] {
    if (this.#newest === 0) return messages.slice(-UNKNOWN);
    const first = messages.findIndex((message) => (message.timestamp ?? Infinity) > this.#newest);
    const from = first < 0 ? messages.length : first;
    return messages.slice(Math.max(0, from - OVERLAP));
  }
}

/** The lane of a call. Keys that do not begin with an agent's name get it. */
export function laneName(call: { sessionKey?: string; sessionId?: string; agentId?: string }): string {
  const key = call.sessionKey ?? `session:${call.sessionId ?? "unknown"}`;
  return key.startsWith("agent:") ? key : `agent:${call.agentId ?? "main"}:${key}`;
}

/** Where the transcript of a call is. */
export function target(call: Call): Target {
  const { sessionTarget } = call;
  const agent = /^agent:([^:]+):/.exec(call.sessionKey ?? "")?.[1];
  return {
    agentId: sessionTarget?.agentId ?? call.agentId ?? agent ?? "main",
    sessionId: sessionTarget?.sessionId ?? call.sessionId,
    sessionKey: call.sessionKey ?? sessionTarget?.sessionKey,
    sessionFile: call.sessionFile,
  };
}

/** Role and words, or the call that is answered: what a host keeps when it rewrites a message for a prompt. */
function same({ role, toolCallId, content }: Message): string {
  const plain = (text: unknown) => String(text ?? "").replaceAll(/[^\p{L}\p{N}]/gu, "");
  return `${role} ${role === "toolResult" ? plain(toolCallId) : plain(typeof content === "string" ? content : texts(content))}`;
}

function texts(content: unknown): string {
  const blocks = Array.isArray(content) ? (content as { text?: string }[]) : [];
  return blocks.map((block) => block.text ?? "").join("");
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

/** Entries in calls of a bounded size; at least one, which may be empty. */
function paged(entries: Entry[]): Entry[][] {
  const pages: Entry[][] = [[]];
  let bytes = 0;
  for (const entry of entries) {
    const size = JSON.stringify(entry.message).length;
    if (bytes > 0 && bytes + size > PAGE_BYTES) {
      pages.push([]);
      bytes = 0;
    }
    bytes += size;
    pages.at(-1)?.push(entry);
  }
  return pages;
}
