// The prompt while the engine is away: the newest messages of the host that fit.

import type { Message } from "./host.js";

/** Characters per token, deliberately low: too few messages are better than a refused call. */
const CHARS = 3;

export function tokensOf(messages: Message[]): number {
  return Math.ceil(JSON.stringify(messages).length / CHARS);
}

/**
 * The newest messages that fit, starting at a user's message, so that no call is separated from its result. The last
 * turn is always complete, whatever its size: the host handles refused calls itself.
 *
 * * `budget` - in tokens.
 */
export function newest(messages: Message[], budget: number): Message[] {
  if (tokensOf(messages) <= budget) return messages;
  let from = messages.length;
  let weight = 0;
  for (let index = messages.length - 1; index >= 0; index--) {
    weight += tokensOf([messages[index] as Message]);
    if (weight > budget && from < messages.length) break;
    if (messages[index]?.role === "user") from = index;
  }
  return messages.slice(from);
}
