// Reads the host's transcript through its SDK (2026.7.2 and later). The only decision made here is the place of a
// reset.

import { AsyncResource } from "node:async_hooks";

import type { Message, Target } from "./host.js";

/** A message of the transcript with the host's id. */
export interface Entry {
  id: string;
  message: Message;
}

/** Entries between two resets. */
export interface Stretch {
  /** Whether a reset stands before the entries. */
  isReset: boolean;
  entries: Entry[];
}

/** The changes since a cursor. */
export interface Delta {
  /**
   * Whether earlier entries were removed or moved: the first stretch is then the whole history active at the cursor.
   */
  isWhole: boolean;
  stretches: Stretch[];
  /** Start of the next delta. */
  cursor: Cursor;
}

/** Position up to which a transcript was read. */
export interface Cursor {
  /** Session id; another id means another transcript. */
  session: string;
  /** The host's cursors over visible messages and over all events. */
  visible?: string;
  raw?: string;
  /** Id of the newest reset. */
  reset?: string;
  /** Location of the transcript file, if it is one. */
  path?: string;
}

/** The part of the host's SDK that reads transcripts. */
export interface Sdk {
  readSessionTranscriptVisibleMessageDelta(ask: Ask & { maxMessages: number; maxBytes: number }): Promise<VisiblePage | Other>;
  readSessionTranscriptRawDelta?(ask: Ask & { maxEvents: number; maxBytes: number }): Promise<RawPage | Other>;
}

interface Ask {
  agentId: string;
  sessionKey?: string;
  sessionId: string;
  cursor?: string;
}

type Other = { kind: "reset" | "unavailable" | "missing"; cursor?: string; reason?: string };

type Page = { kind: "page"; cursor: string; hasMore: boolean; requiredBytes?: number };
type VisiblePage = Page & { entries: { entryId: string; message: Message }[] };
type RawPage = Page & { events: { event: RawEvent; seq: number }[] };

interface RawEvent {
  type?: string;
  id?: string;
  firstKeptEntryId?: string;
}

const MESSAGES = 2_000;
const BYTES = 8 << 20;
const BYTES_MAX = 64 << 20;

let loaded: Promise<Sdk | undefined> | undefined;

/** The host's SDK; undefined on hosts with transcript files. */
export function sdk(): Promise<Sdk | undefined> {
  const name = "openclaw/plugin-sdk/session-transcript-runtime";
  loaded ??= import(name).then(
    (module: Partial<Sdk>) =>
      typeof module.readSessionTranscriptVisibleMessageDelta === "function" ? (module as Sdk) : undefined,
    () => undefined,
  );
  return loaded;
}

/**
 * Async context at load time, outside of any turn, so that the host does not hide the running turn from reads made
 * here.
 */
const outside = new AsyncResource("unforget");

/** The changes of a transcript including the running turn, which the host hides while it makes a prompt. */
export function readOutside(sdk: Sdk, target: Target, since: Cursor): Promise<Delta | undefined> {
  return outside.runInAsyncScope(() => read(sdk, target, since));
}

/**
 * The changes of a transcript.
 *
 * * `since` - the last cursor of this transcript.
 *
 * Throws errors of the host. Returns undefined if there is no transcript, or while the host is building its index.
 */
export async function read(sdk: Sdk, target: Target, since: Cursor): Promise<Delta | undefined> {
  const ask = { agentId: target.agentId ?? "main", sessionKey: target.sessionKey, sessionId: target.sessionId };
  let [visible, raw] = await Promise.all([messages(sdk, ask, since.visible), resets(sdk, ask, since.raw)]);
  if (!visible) return undefined;
  const isWhole = since.visible === undefined || visible.isAnew || raw.isAnew;
  const added = new Set(visible.entries.map(({ id }) => id));
  const isKeptBefore = raw.resets.some(({ firstKept }) => firstKept && !added.has(firstKept));
  if ((isWhole && since.raw !== undefined) || isKeptBefore) {
    // The entries kept by a reset are older than the cursor, or some of them were moved. Both are read from the
    // beginning, so that they describe one state.
    if (since.visible !== undefined && !visible.isAnew) visible = await messages(sdk, ask, undefined);
    raw = await resets(sdk, ask, undefined);
    if (!visible) return undefined;
  }
  const known = raw.resets.findIndex(({ id }) => id === since.reset) + 1;
  const stretches = split(visible.entries, raw.resets).slice(known);
  const [first] = stretches;
  if (first) stretches[0] = { isReset: false, entries: isWhole ? first.entries : first.entries.filter(({ id }) => added.has(id)) };
  const reset = raw.resets.at(-1)?.id ?? since.reset;
  return { isWhole, stretches, cursor: { session: target.sessionId, visible: visible.cursor, raw: raw.cursor, reset } };
}

interface Reset {
  id?: string;
  /** Ids of the events between the previous reset and this one. */
  before: Set<string>;
  /** The first earlier message that the host keeps. */
  firstKept?: string;
}

/** Splits messages at resets. The messages that a reset keeps are repeated behind it, as the host does. */
export function split(entries: Entry[], resets: Reset[]): Stretch[] {
  const stretches: Stretch[] = [];
  let at = 0;
  let carried: Entry[] = [];
  for (const reset of resets) {
    const from = at;
    while (at < entries.length && reset.before.has((entries[at] as Entry).id)) at += 1;
    const own = [...carried, ...entries.slice(from, at)];
    stretches.push({ isReset: stretches.length > 0, entries: own });
    const keep = reset.firstKept ? own.findIndex((entry) => entry.id === reset.firstKept) : -1;
    carried = keep < 0 ? [] : kept(own.slice(keep));
  }
  stretches.push({ isReset: stretches.length > 0, entries: [...carried, ...entries.slice(at)] });
  return stretches;
}

/** The entries that a host keeps: messages, with the results of their calls. */
function kept(entries: Entry[]): Entry[] {
  const called = new Set<unknown>();
  return entries.filter(({ message: { role, content, toolCallId } }) => {
    if (role === "assistant" && Array.isArray(content)) for (const block of content as { id?: string }[]) called.add(block.id);
    return role === "user" || role === "assistant" || (role === "toolResult" && called.has(toolCallId));
  });
}

/** Visible messages since a cursor; undefined if there is no transcript, or no index of it. */
async function messages(sdk: Sdk, ask: Ask, since: string | undefined): Promise<(Read & { entries: Entry[] }) | undefined> {
  const reader = sdk.readSessionTranscriptVisibleMessageDelta.bind(sdk);
  const read = await all(since, (cursor, maxBytes) => reader({ ...ask, cursor, maxMessages: MESSAGES, maxBytes }), (page) => page.entries);
  return read && { ...read, entries: read.items.map(({ entryId, message }) => ({ id: entryId, message })) };
}

/** Resets since a cursor; none if the host has no such reader. */
async function resets(sdk: Sdk, ask: Ask, since: string | undefined): Promise<Read & { resets: Reset[] }> {
  const reader = sdk.readSessionTranscriptRawDelta?.bind(sdk);
  const read = reader && (await all(since, (cursor, maxBytes) => reader({ ...ask, cursor, maxEvents: MESSAGES, maxBytes }), (page) => page.events));
  if (!read) return { isAnew: false, cursor: since, resets: [] };
  const found: Reset[] = [];
  let before = new Set<string>();
  for (const { event } of read.items) {
    if (event.type === "reset") {
      found.push({ id: event.id, before, firstKept: event.firstKeptEntryId });
      before = new Set();
    } else if (event.id) {
      before.add(event.id);
    }
  }
  return { ...read, resets: found };
}

/** The result of a read since a cursor. */
interface Read {
  /** Whether the cursor had become invalid and everything was read from the beginning. */
  isAnew: boolean;
  cursor?: string;
}

/** All pages since a cursor. */
async function all<P extends Page, T>(
  since: string | undefined,
  ask: (cursor: string | undefined, maxBytes: number) => Promise<P | Other>,
  items: (page: P) => T[],
): Promise<(Read & { items: T[] }) | undefined> {
  let read: Read & { items: T[] } = { isAnew: false, cursor: since, items: [] };
  let maxBytes = BYTES;
  for (;;) {
    const page = await fenced(read.cursor, () => ask(read.cursor, maxBytes));
    if (page.kind === "reset" && !read.isAnew) {
      read = { isAnew: true, cursor: undefined, items: [] };
    } else if (page.kind !== "page") {
      return undefined;
    } else if (page.requiredBytes && page.requiredBytes > maxBytes && maxBytes < BYTES_MAX) {
      maxBytes = Math.min(BYTES_MAX, page.requiredBytes);
    } else {
      const found = items(page);
      read = { ...read, cursor: page.cursor, items: read.items.concat(found) };
      if (!page.hasMore || found.length === 0) return read;
    }
  }
}

/**
 * Reads a page. Reports an invalid cursor if the host took messages back, so that the current turn begins before the
 * cursor.
 */
async function fenced<T>(cursor: string | undefined, page: () => Promise<T | Other>): Promise<T | Other> {
  try {
    return await page();
  } catch (error) {
    if (cursor === undefined || (error as Error).name !== "SessionTranscriptReadFenceError") throw error;
    return { kind: "reset", reason: "fence" };
  }
}
