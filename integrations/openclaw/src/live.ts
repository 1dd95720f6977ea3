// The live array that the host hands over before a call of the model: what of it the transcript has not.

import type { Message } from "./host.js";
import type { Entry } from "./transcript.js";

/** Messages before the first that is newer than the transcript that go with it. */
const OVERLAP = 8;

/** Messages that go as long as nothing came by the transcript. */
const UNKNOWN = 64;

/** A message as the engine takes it. */
export interface Sent {
  message: Message;
  volatile?: boolean;
}

export class Live {
  /** Time of the newest message that came by the transcript. */
  #newest = 0;
  /** The newest message that came by the transcript. */
  #last?: Message;

  /** Came by the transcript. */
  saw(entries: Entry[]): void {
    this.#last = entries.at(-1)?.message ?? this.#last;
    for (const { message } of entries) this.#newest = Math.max(this.#newest, message.timestamp ?? 0);
  }

  /** Whether an array has messages that are newer than all that came by the transcript. */
  hasNewer(messages: Message[]): boolean {
    return messages.some((message) => (message.timestamp ?? 0) > this.#newest);
  }

  /**
   * Whether the newest message of an array is the newest of the transcript, as far as hosts leave messages alike. What they
   * put in beside is not looked at: see `beside`.
   */
  hasNewest(messages: Message[]): boolean {
    const last = messages.findLast(({ role }) => role !== "custom");
    return last !== undefined && this.#last !== undefined && same(last) === same(this.#last);
  }

  /** What the host put beside its transcript's messages. */
  beside(messages: Message[]): Sent[] {
    const isBeside = ({ role, timestamp }: Message) => role === "custom" && (timestamp ?? 0) > this.#newest;
    return messages.filter(isBeside).map((message) => ({ message, volatile: true }));
  }

  /**
   * What may be newer than the transcript, and some of what is not. Where transcripts are files, input is written before a
   * model is called: what is not there by then never will be.
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

/** Role and words, or the call that is answered: what a host keeps when it rewrites a message for a prompt. */
function same({ role, toolCallId, content }: Message): string {
  const plain = (text: unknown) => String(text ?? "").replaceAll(/[^\p{L}\p{N}]/gu, "");
  return `${role} ${role === "toolResult" ? plain(toolCallId) : plain(typeof content === "string" ? content : texts(content))}`;
}

function texts(content: unknown): string {
  const blocks = Array.isArray(content) ? (content as { text?: string }[]) : [];
  return blocks.map((block) => block.text ?? "").join("");
}
