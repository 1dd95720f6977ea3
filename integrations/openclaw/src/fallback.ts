// What the model gets while the engine is away: the host's own messages, as many of the newest as fit.

import type { Message } from "./host.js";

/** Characters per token, low on purpose: too few messages are better than a refused call. */
const CHARS = 3;

export function tokensOf(messages: Message[]): number {
  return Math.ceil(JSON.stringify(messages).length / CHARS);
}

/**
 * The newest messages that fit, from a user's message on, so that no call is parted from its result. All of the last turn
 * goes, whatever it weighs: the host has its own ways with a call that is refused.
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
