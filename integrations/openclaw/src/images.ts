// Images that a person attached. The transcript only names them, so the engine's prompt shows a note; the host loads the
// newest ones into its live array, and from there they are put back.

import type { Message } from "./host.js";

/** Most tokens that a provider counts for an image. */
const TOKENS = 1_600;

/**
 * The messages of a prompt with the images that the host has loaded, the newest first, as far as there is room.
 *
 * * `live` - the host's own messages.
 * * `room` - in tokens.
 */
export function withImages(messages: Message[], live: Message[], room: number): Message[] {
  const loaded = new Map<number | undefined, Block[]>();
  for (const { role, timestamp, content } of live) if (role === "user") loaded.set(timestamp, images(content));
  let left = Math.floor(room / TOKENS);
  const shown = messages.toReversed().map((message) => {
    const own = message.role === "user" && message.timestamp ? (loaded.get(message.timestamp) ?? []) : [];
    if (own.length === 0 || own.length > left || images(message.content).length > 0) return message;
    left -= own.length;
    return { ...message, content: [...blocks(message.content), ...own] };
  });
  return shown.reverse();
}

interface Block {
  type?: string;
  text?: string;
}

function blocks(content: unknown): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? (content as Block[]) : [];
}

function images(content: unknown): Block[] {
  return blocks(content).filter(({ type }) => type === "image");
}
