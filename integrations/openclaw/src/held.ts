// The newest prompts, so that the engine need not send what the next one begins with alike.

import type { Message } from "./host.js";

/** Lanes whose prompt is kept: it may be a megabyte. */
const LANES = 8;

/** A prompt in the engine's words: how long it is, and its digest. */
export interface Base {
  length: number;
  digest: string;
}

/** A prompt that was given. */
export interface Prompt {
  given: Base;
  /** Its messages as text: what the host was given is the host's, and it may change it. */
  texts: string[];
  /** Copies that nobody has yet. */
  ready?: Message[];
}

/** What the engine says of a prompt: without its first `same` messages, which are those of the prompt that it was told of. */
export interface Given {
  messages: Message[];
  same?: number;
  given?: Base;
}

export class Held {
  /** By lane, the one used last at the end. */
  readonly #prompts = new Map<string, Prompt>();

  /** The prompt of a lane that is held; an empty one if there is none. */
  of(lane: string): Prompt {
    return this.#prompts.get(lane) ?? { given: { length: 0, digest: "" }, texts: [] };
  }

  /**
   * All messages of a prompt, for the host to keep.
   *
   * * `old` - the prompt that the engine was told of.
   */
  whole(lane: string, old: Prompt, { messages, same = 0, given }: Given): Message[] {
    const kept = old.texts.slice(0, same);
    const first = (old.ready ?? parsed(kept)).slice(0, same);
    old.ready = undefined;
    this.#prompts.delete(lane);
    if (given) this.#prompts.set(lane, { given, texts: [...kept, ...messages.map((message) => JSON.stringify(message))] });
    for (const oldest of this.#prompts.keys()) {
      if (this.#prompts.size <= LANES) break;
      this.#prompts.delete(oldest);
    }
    return [...first, ...messages];
  }

  /** Makes copies for the next prompt, where nobody waits. */
  prepare(lane: string): void {
    const prompt = this.#prompts.get(lane);
    if (prompt) prompt.ready ??= parsed(prompt.texts);
  }
}

function parsed(texts: string[]): Message[] {
  return texts.map((text) => JSON.parse(text) as Message);
}
