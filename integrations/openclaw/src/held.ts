// Keeps the newest prompts, so that the engine need not send the common beginning of the next prompt.

import type { Message } from "./host.js";

/** Number of lanes with a kept prompt; a prompt may be a megabyte. */
const LANES = 8;

/** A prompt as the engine identifies it: by length and digest. */
export interface Base {
  length: number;
  digest: string;
}

/** A kept prompt. */
export interface Prompt {
  given: Base;
  /** Its messages as text, because the host owns the messages it was given and may change them. */
  texts: string[];
  /** Parsed copies not yet given to the host. */
  ready?: Message[];
}

/** The engine's answer: a prompt without its first `same` messages, which equal those of the held prompt. */
export interface Given {
  messages: Message[];
  same?: number;
  given?: Base;
}

export class Held {
  /** Prompts by lane, the most recently used one last. */
  readonly #prompts = new Map<string, Prompt>();

  /** The held prompt of a lane; an empty one if there is none. */
  of(lane: string): Prompt {
    return this.#prompts.get(lane) ?? { given: { length: 0, digest: "" }, texts: [] };
  }

  /**
   * All messages of a prompt, for the host to keep.
   *
   * * `old` - the held prompt that was named to the engine.
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

  /** Makes copies for the next prompt at a time when the host does not wait. */
  prepare(lane: string): void {
    const prompt = this.#prompts.get(lane);
    if (prompt) prompt.ready ??= parsed(prompt.texts);
  }
}

function parsed(texts: string[]): Message[] {
  return texts.map((text) => JSON.parse(text) as Message);
}
