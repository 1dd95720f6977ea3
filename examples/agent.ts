// An agent with a history that never ends, in 60 lines: the engine keeps it, and makes the prompt that fits.
//
//     node examples/agent.ts --url http://127.0.0.1:8080/v1 --model NAME --db agent.sqlite [--budget TOKENS]
//
// A line on stdin is a message of the person; the answer goes to stdout. Any Chat Completions server will do. The calls of
// the engine are described in docs/protocol.md. Node 24 runs this file as it is.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

type Message = { role: string; content: string };
type Prompt = { system: string[]; messages: Message[] };
type Answer = { choices: { message: Message }[]; usage?: { prompt_tokens?: number } };

const text = (otherwise?: string) => ({ type: "string" as const, default: otherwise });
const options = { url: text(), model: text(), db: text("agent.sqlite"), lane: text("example"), unforget: text("unforget"), budget: text("16000") };
const { values: args } = parseArgs({ options });
if (!args.url || !args.model) throw new Error("--url and --model are needed");

const engine = spawn(args.unforget!, ["engine", "--stdio", "--db", args.db!], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
createInterface({ input: engine.stdout }).on("line", (line) => {
  const { id, result, error } = JSON.parse(line);
  const call = waiting.get(id);
  waiting.delete(id);
  if (error) call?.reject(new Error(error.message));
  else call?.resolve(result);
});

let calls = 0;

/** One call of the engine. */
function call<T>(method: string, params: object): Promise<T> {
  const id = ++calls;
  const lane = { lane: args.lane, form: "openai-chat" };
  engine.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...lane, ...params } })}\n`);
  return new Promise((resolve, reject) => waiting.set(id, { resolve: resolve as (result: unknown) => void, reject }));
}

/** The model's answer. */
async function ask(messages: Message[]): Promise<Answer> {
  const body = JSON.stringify({ model: args.model, messages });
  const answer = await fetch(`${args.url}/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body });
  if (!answer.ok) throw new Error(`the model says ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

for await (const line of createInterface({ input: process.stdin })) {
  const turn = `${Date.now()}-${calls}`;
  const said = { role: "user", content: line };
  // Durable before the model is asked: no crash loses it.
  await call("beginTurn", { turn, messages: [{ message: said }] });
  const question = { budget: Number(args.budget), dialect: "openai-chat", model: args.model, isFirst: true };
  const prompt = await call<Prompt>("assemble", question);
  const system = prompt.system.length > 0 ? [{ role: "system", content: prompt.system.join("\n\n") }] : [];
  const answer = await ask([...system, ...prompt.messages]);
  const given = { role: "assistant", content: answer.choices[0]!.message.content };
  await call("commitTurn", { turn, messages: [{ message: said }, { message: given }] });
  await call("answered", { inputTokens: answer.usage?.prompt_tokens ?? 0 });
  console.log(given.content);
}
engine.stdin.end();
