// The official TypeScript SDKs at the gateway; sdk_python.py describes the common behaviour.

import { deflateSync, crc32 as crc } from "node:zlib";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"], additionalProperties: false };

// Node 20 has no crc32 of its own.
function crc32(bytes) {
  if (crc) return crc(bytes);
  let value = ~0;
  for (const byte of bytes) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return ~value >>> 0;
}

function png() {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, 16, 0, 0, 0, 16, 8, 2, 0, 0, 0]);
  const row = (index) => Buffer.from([0, ...Array(16).fill([index * 16, 128, 255 - index * 16]).flat()]);
  const rows = Buffer.concat(Array.from({ length: 16 }, (_, index) => row(index)));
  const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [start, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat(parts).toString("base64");
}

const result = (name, tokens) =>
  `${name} says: words that are worth reading twice, here and there. `.repeat(Math.max(1, Math.floor(tokens / 16)));

const headers = [];
function note(response) {
  const names = ["x-unforget-authority", "x-unforget-overhead-ms", "x-unforget-prompt-tokens"];
  headers.push(Object.fromEntries(names.map((name) => [name, response.headers.get(name)])));
}

function messages(url, tokens) {
  const client = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
  const held = [];
  const tools = [{ name: "read", description: "Reads a file", input_schema: SCHEMA }];
  return {
    held,
    say(text, image) {
      const content = [{ type: "text", text }];
      if (image) content.push({ type: "image", source: { type: "base64", media_type: "image/png", data: png() } });
      held.push({ role: "user", content });
    },
    async ask(streamed) {
      const asked = { model: "scripted", max_tokens: 1024, system: "You are helpful.", messages: held, tools };
      let answer;
      if (streamed) {
        const stream = client.messages.stream(asked);
        note((await stream.withResponse()).response);
        answer = await stream.finalMessage();
      } else {
        const { data, response } = await client.messages.create(asked).withResponse();
        note(response);
        answer = data;
      }
      held.push({ role: "assistant", content: answer.content });
      const calls = answer.content.filter((block) => block.type === "tool_use");
      const results = calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: result(call.input.path, tokens) }));
      if (calls.length) held.push({ role: "user", content: results });
      return calls.length > 0;
    },
  };
}

function chat(url, tokens) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 });
  const held = [];
  const tools = [{ type: "function", function: { name: "read", parameters: SCHEMA } }];
  return {
    held,
    say(text, image) {
      const content = [{ type: "text", text }];
      if (image) content.push({ type: "image_url", image_url: { url: `data:image/png;base64,${png()}` } });
      held.push({ role: "user", content });
    },
    async ask(streamed) {
      const system = { role: "system", content: "You are helpful." };
      const asked = { model: "scripted", max_completion_tokens: 1024, messages: [system, ...held], tools };
      let message;
      if (streamed) {
        const { data, response } = await client.chat.completions.create({ ...asked, stream: true }).withResponse();
        note(response);
        message = { role: "assistant", content: null };
        for await (const chunk of data) {
          const delta = chunk.choices[0]?.delta ?? {};
          if (delta.content != null) message.content = (message.content ?? "") + delta.content;
          for (const call of delta.tool_calls ?? []) {
            message.tool_calls ??= [];
            const known = (message.tool_calls[call.index] ??= { id: call.id, type: "function", function: { name: "", arguments: "" } });
            known.function.name += call.function.name ?? "";
            known.function.arguments += call.function.arguments ?? "";
          }
        }
      } else {
        const { data, response } = await client.chat.completions.create(asked).withResponse();
        note(response);
        message = data.choices[0].message;
      }
      held.push(message);
      for (const call of message.tool_calls ?? []) {
        const { path } = JSON.parse(call.function.arguments);
        held.push({ role: "tool", tool_call_id: call.id, content: result(path, tokens) });
      }
      return (message.tool_calls ?? []).length > 0;
    },
  };
}

function responses(url, tokens, chained) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "k", maxRetries: 0 });
  const held = [];
  let [last, fresh] = [undefined, 0];
  const tools = [{ type: "function", name: "read", description: "Reads a file", parameters: SCHEMA, strict: true }];
  return {
    held,
    say(text, image) {
      const content = [{ type: "input_text", text }];
      if (image) content.push({ type: "input_image", image_url: `data:image/png;base64,${png()}`, detail: "auto" });
      held.push({ role: "user", content });
    },
    async ask(streamed) {
      const asked = { model: "scripted", max_output_tokens: 1024, instructions: "You are helpful.", input: held, tools };
      if (chained) Object.assign(asked, { input: held.slice(fresh), previous_response_id: last });
      else asked.store = false;
      let answer;
      if (streamed) {
        const { data, response } = await client.responses.create({ ...asked, stream: true }).withResponse();
        note(response);
        for await (const event of data) if (event.type === "response.completed") answer = event.response;
      } else {
        const { data, response } = await client.responses.create(asked).withResponse();
        note(response);
        answer = data;
      }
      last = answer.id;
      for (const { id, ...item } of answer.output) held.push(chained ? { id, ...item } : item);
      fresh = held.length;
      const calls = answer.output.filter((item) => item.type === "function_call");
      for (const call of calls) {
        const { path } = JSON.parse(call.arguments);
        held.push({ type: "function_call_output", call_id: call.call_id, output: result(path, tokens) });
      }
      return calls.length > 0;
    },
  };
}

const [api, turns, tokens, url] = process.argv.slice(2);
const make = { messages, chat, responses, chained: (at, size) => responses(at, size, true) }[api];
const talk = make(url, Number(tokens));
for (let turn = 0; turn < Number(turns); turn++) {
  talk.say(`Question ${turn}: what is in the next file? Remember the word w${turn}x.`, turn % 10 === 3);
  while (await talk.ask(turn % 2 === 0));
}
console.log(JSON.stringify({ held: talk.held, headers }));
