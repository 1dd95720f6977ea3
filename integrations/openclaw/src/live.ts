// The host's live array before a call of the model: finds the messages missing in the transcript.

import type { Message } from "./host.js";
import type { Entry } from "./transcript.js";

/** Number of older messages sent with the first message newer than the transcript, as context. */
const OVERLAP = 8;

/** Number of messages sent while none has come from the transcript. */
const UNKNOWN = 64;

/** A message in the engine's form. */
export interface Sent {
  message: Message;
  volatile?: boolean;
}

export class Live {
  /** Time of the newest message from the transcript. */
  #newest = 0;
  /** The newest message from the transcript. */
  #last?: Message;

  /** Records messages from the transcript. */
  saw(entries: Entry[]): void {
    this.#last = entries.at(-1)?.message ?? this.#last;
    for (const { message } of entries) this.#newest = Math.max(this.#newest, message.timestamp ?? 0);
  }

  /** Whether an array has messages newer than all messages from the transcript. */
  hasNewer(messages: Message[]): boolean {
    return messages.some((message) => (message.timestamp ?? 0) > this.#newest);
  }

  /**
   * Whether the newest message of an array is the newest one of the transcript, as far as hosts leave messages
   * unchanged. Messages that the host inserts are not considered: see `beside`.
   */
  hasNewest(messages: Message[]): boolean {
    const last = messages.findLast(({ role }) => role !== "custom");
    return last !== undefined && this.#last !== undefined && same(last) === same(this.#last);
  }

  /** Messages that the host inserted among those of the transcript. */
  beside(messages: Message[]): Sent[] {
    const isBeside = ({ role, timestamp }: Message) => role === "custom" && (timestamp ?? 0) > this.#newest;
    return messages.filter(isBeside).map((message) => ({ message, volatile: true }));
  }

  /**
   * Messages that may be newer than the transcript, with some older ones. Hosts with transcript files write input
   * before they call a model: input missing at that moment will never be in the file.
   */
  unwritten(messages: Message[], hasFile: boolean): Sent[] {
    const isInput = ({ role }: Message) => role === "custom" || role === "user";
    return this.#end(messages).map((message) => (hasFile && isInput(message) ? { message, volatile: true } : { message }));
  }

  #end(messages: Message[]): Message[] {
    if (this.#newest === 0) return messages.slice(-UNKNOWN);
    const first = messages.findIndex((message) => (message.timestamp ?? Infinity) > this.#newest);
    return messages.slice(Math.max(0, (first < 0 ? messages.length : first) - OVERLAP));
  }
}

/**
 * Role and words, or the id of the answered call: the fields that a host keeps when it rewrites a message for a prompt.
 */
function same({ role, toolCallId, content }: Message): string {
  const plain = (text: unknown) => String(text ?? "").replaceAll(/[^\p{L}\p{N}]/gu, "");
  return `${role} ${role === "toolResult" ? plain(toolCallId) : plain(typeof content === "string" ? content : texts(content))}`;
}

function texts(content: unknown): string {
  const blocks = Array.isArray(content) ? (content as { text?: string }[]) : [];
  return blocks.map((block) => block.text ?? "").join("");
}
