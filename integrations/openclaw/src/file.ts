// Reads a transcript file of lines (hosts up to 2026.7), from the position of the last read.

import { open, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { Message } from "./host.js";
import type { Cursor, Delta, Entry, Stretch } from "./transcript.js";

interface Line {
  type?: string;
  id?: string;
  parentId?: string | null;
  message?: Message;
}

/** A transcript file, including one that the host renamed at a reset or a deletion. */
const NAME = /\.jsonl(\.(reset|deleted)\.[^/\\]*)?$/;

/** The new lines of the file; undefined if the file does not exist. */
export async function readFile(path: string | undefined, since: Cursor): Promise<Delta | undefined> {
  if (!path || !NAME.test(path)) return undefined;
  const [file, from] = (since.raw ?? "").split(":");
  const added = since.visible === undefined ? undefined : await lines(path, Number(from), file);
  if (added && isNext(added.lines, since.visible)) return delta({ ...since, path }, added, false);
  const all = await lines(path, 0);
  return all && delta({ session: since.session, path }, { ...all, lines: active(all.lines) }, true);
}

/** The current path of a file that may have been renamed. */
export async function whereabouts(path: string): Promise<string> {
  const [folder, name] = [dirname(path), basename(path)];
  const names = await readdir(folder).catch(() => [] as string[]);
  const aside = names.filter((one) => one.startsWith(`${name}.`) && NAME.test(one) && !one.endsWith(".zst")).sort();
  return names.includes(name) ? path : join(folder, aside.at(-1) ?? name);
}

function delta({ session, visible, path }: Cursor, read: Read, isWhole: boolean): Delta {
  const cursor = { session, visible: read.lines.at(-1)?.id ?? visible, raw: `${read.file}:${read.end}`, path };
  return { isWhole, stretches: stretches(read.lines), cursor };
}

/** Whether the lines continue a known line, each one the child of the line before it. */
function isNext(lines: Line[], before: string | undefined): boolean {
  return lines.every((line, index) => line.parentId === (index === 0 ? before : lines[index - 1]?.id));
}

/** The lines from the first to the newest, by their parents. */
function active(lines: Line[]): Line[] {
  const known = new Map(lines.map((line) => [line.id, line]));
  const path: Line[] = [];
  for (let line = lines.at(-1); line && path.length < lines.length; line = known.get(line.parentId ?? undefined)) path.push(line);
  return path.reverse();
}

function stretches(lines: Line[]): Stretch[] {
  const found: Stretch[] = [{ isReset: false, entries: [] }];
  for (const { type, id, message } of lines) {
    if (type === "reset") found.push({ isReset: true, entries: [] });
    if (type === "message" && id && message) found.at(-1)?.entries.push({ id, message } satisfies Entry);
  }
  return found;
}

interface Read {
  lines: Line[];
  /** Identity of the file: a host that rewrites a file replaces it by a new one. */
  file: string;
  /** Offset of the first incomplete line. */
  end: number;
}

/** Complete lines with an id from an offset on; undefined if the file does not exist, is shorter, or was rewritten. */
async function lines(path: string, from: number, known?: string): Promise<Read | undefined> {
  const file = await open(path).catch(() => undefined);
  if (!file) return undefined;
  try {
    const { size, ino } = await file.stat();
    if (size < from || (known !== undefined && known !== String(ino))) return undefined;
    const bytes = Buffer.alloc(size - from);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
    const end = bytes.subarray(0, bytesRead).lastIndexOf(10) + 1;
    const texts = bytes.toString("utf8", 0, end).split("\n");
    return { lines: texts.flatMap(parse), file: String(ino), end: from + end };
  } finally {
    await file.close();
  }
}

function parse(text: string): Line[] {
  if (text.trim() === "") return [];
  try {
    const line = JSON.parse(text) as Line;
    return line.id && line.type !== "session" ? [line] : [];
  } catch {
    return [];
  }
}
