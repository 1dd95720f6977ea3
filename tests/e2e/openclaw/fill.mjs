// Adds messages to a session of a stopped host, with the host's own code. usage: node fill.mjs STATE KEY SESSION COUNT

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , state, sessionKey, sessionId, count] = process.argv;
process.env.OPENCLAW_STATE_DIR = state;
const sdk = join(process.env.OPENCLAW_APP, "node_modules/openclaw/dist/plugin-sdk/session-transcript-runtime.js");
const { appendSessionTranscriptMessagesByIdentity: append } = await import(pathToFileURL(sdk));

const usage = { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const begin = Date.now() - count * 1_000;
const words = (n) => Array.from({ length: 60 }, (_, at) => `word${(n * 31 + at * 17) % 5_000}`).join(" ");
const message = (n) => {
  const timestamp = begin + n * 1_000;
  if (n % 2 === 0) return { role: "user", content: `${n}: ${words(n)}`, timestamp };
  const content = [{ type: "text", text: `${n}: ${words(n)}` }];
  return { role: "assistant", content, api: "openai-completions", provider: "scripted", model: "large", usage, stopReason: "stop", timestamp };
};
for (let from = 0; from < count; from += 500) {
  const messages = Array.from({ length: Math.min(500, count - from) }, (_, at) => ({ message: message(from + at) }));
  await append({ agentId: "main", sessionKey, sessionId, messages });
}
