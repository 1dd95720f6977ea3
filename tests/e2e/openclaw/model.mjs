// The scripted model server: OpenAI Chat Completions on 127.0.0.1, with strict validation of requests.
//
// The newest message of a user that has a line `#: {…}` says with the last of them what is answered. The script's fields:
//   steps       what to answer, one after the other, a step per round of tool calls since that message:
//               {"say":"text"}, {"call":["tool",{…}]}, {"calls":[["tool",{…}],…]}, {"stall":ms} (begins to answer, then waits)
//   refuse      the first so many requests with this script are refused as too long
//   refuseOver  requests of more tokens are refused as too long
// After the last step, and without a script, the answer is "done". Asked for a record of entries (a summary), the model
// writes one under its name.

import http from "node:http";

/** Tokens of a request by this provider's count: four characters each. */
export const tokensOf = (body) => Math.ceil((JSON.stringify(body.messages).length + JSON.stringify(body.tools ?? []).length) / 4);

export const textOf = (content) =>
  typeof content === "string" ? content : Array.isArray(content) ? content.map((part) => part.text ?? "").join("\n") : "";

/** The defect of a request; undefined if a strict provider accepts it. */
export function violations({ messages }) {
  const wrong = [];
  let open = new Set();
  for (const [index, message] of messages.entries()) {
    const at = `message ${index} (${message.role})`;
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) wrong.push(`${at}: result without a call: ${message.tool_call_id}`);
      continue;
    }
    if (open.size > 0) wrong.push(`${at}: calls without results: ${[...open]}`);
    open = new Set((message.tool_calls ?? []).map((call) => call.id));
    if (open.size !== (message.tool_calls ?? []).length) wrong.push(`${at}: the same id twice`);
    if (!["system", "developer", "user", "assistant"].includes(message.role)) wrong.push(`${at}: no such role`);
    if (message.role === "user" && textOf(message.content) === "" && !Array.isArray(message.content)) wrong.push(`${at}: empty`);
    if (message.role === "assistant" && !message.tool_calls?.length && !textOf(message.content)) wrong.push(`${at}: says nothing`);
    for (const call of message.tool_calls ?? []) {
      try {
        JSON.parse(call.function.arguments);
      } catch {
        wrong.push(`${at}: arguments that are not JSON`);
      }
    }
  }
  if (open.size > 0) wrong.push(`calls without results: ${[...open]}`);
  if (!["user", "tool"].includes(messages.at(-1)?.role)) wrong.push(`ends with ${messages.at(-1)?.role}`);
  return wrong;
}

function scriptOf(messages) {
  for (let index = messages.length - 1; index >= 0; index--) {
    const line = messages[index].role === "user" && [...textOf(messages[index].content).matchAll(/^#: (\{.*\})$/gm)].at(-1);
    if (!line) continue;
    const rounds = messages.slice(index).filter((message) => message.role === "assistant" && message.tool_calls?.length).length;
    return { script: JSON.parse(line[1]), key: line[1], rounds };
  }
  return { script: {}, key: "", rounds: 0 };
}

/** A record of entries, if the request asks for one. */
function recordOf({ model, messages }) {
  if (!messages.some(({ content }) => textOf(content).startsWith("You keep the record of a "))) return undefined;
  const seqs = [...textOf(messages.at(-1).content).matchAll(/\bseq="?(\d+)/g)].map(([, seq]) => Number(seq));
  const text = `The model ${model} wrote down what was said.`;
  return JSON.stringify({ title: `A record by the model ${model}`, decisions: seqs.slice(0, 1).map((seq) => ({ text, seqs: [seq] })) });
}

/** Windows by model; larger requests are refused. */
export async function startModel(windows) {
  const requests = [];
  // Scripts answered without their steps from now on, for resumed turns.
  const forgiven = [];
  const refusals = new Map();
  const server = http.createServer((req, res) => {
    let raw = "";
    req.on("data", (data) => (raw += data));
    req.on("end", () => {
      if (req.method === "GET") return json(res, 200, { object: "list", data: Object.keys(windows).map((id) => ({ id, object: "model" })) });
      const body = JSON.parse(raw);
      const { script, key, rounds } = scriptOf(body.messages);
      const tokens = tokensOf(body);
      const number = requests.length + 1;
      const window = windows[body.model] ?? Infinity;
      const refused = refusals.get(key) ?? 0;
      const isRefused = tokens > window || tokens > (script.refuseOver ?? Infinity) || refused < (script.refuse ?? 0);
      const isForgiven = forgiven.some((words) => words.test(key));
      const record = recordOf(body);
      const step = record ? { say: record } : ((isForgiven ? { say: "taken up again" } : script.steps?.[rounds]) ?? { say: "done" });
      const isRecord = record !== undefined;
      const request = { number, at: Date.now(), model: body.model, tokens, window, body, key, isRefused, isRecord, violations: violations(body), step };
      requests.push(request);
      if (isRefused) {
        refusals.set(key, refused + 1);
        const limit = Math.min(window, script.refuseOver ?? window);
        const message = `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens.`;
        return json(res, 400, { error: { message, type: "invalid_request_error", param: "messages", code: "context_length_exceeded" } });
      }
      if (request.violations.length > 0) {
        return json(res, 400, { error: { message: request.violations[0], type: "invalid_request_error", code: "invalid_messages" } });
      }
      answer(res, body, step, number, tokens);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  /** From now on answers requests with these words without their steps, for resumed turns. */
  return { forgive: (words) => forgiven.push(words), url: `http://127.0.0.1:${server.address().port}/v1`, requests, stop: () => (server.closeAllConnections(), server.close()) };
}

function json(res, status, value) {
  res.statusCode = status;
  res.setHeader("content-type", "application/json");
  res.end(JSON.stringify(value));
}

function answer(res, body, step, number, tokens) {
  const called = step.calls ?? (step.call ? [step.call] : []);
  const calls = called.map(([name, args], index) => ({
    index,
    id: `call_${number}_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const text = calls.length > 0 ? "" : (step.say ?? "done");
  const output = Math.ceil((text.length + JSON.stringify(calls).length) / 4);
  const usage = { prompt_tokens: tokens, completion_tokens: output, total_tokens: tokens + output };
  const head = { id: `answer-${number}`, created: Math.floor(Date.now() / 1000), model: body.model };
  const finish = calls.length > 0 ? "tool_calls" : "stop";
  if (!body.stream) {
    const message = { role: "assistant", content: text || null, ...(calls.length > 0 ? { tool_calls: calls.map(({ index, ...call }) => call) } : {}) };
    return json(res, 200, { ...head, object: "chat.completion", choices: [{ index: 0, finish_reason: finish, message }], usage });
  }
  res.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta, finish_reason = null, more = {}) =>
    res.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`);
  const end = () => {
    send({}, finish);
    res.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], usage })}\n\n`);
    res.end("data: [DONE]\n\n");
  };
  send({ role: "assistant", content: "" });
  if (step.stall) {
    send({ content: "a part of an answer " });
    send({ tool_calls: [{ index: 0, id: `call_${number}_cut`, type: "function", function: { name: "read", arguments: '{"path": "par' } }] });
    setTimeout(() => res.destroy(), step.stall).unref();
    return;
  }
  if (text) send({ content: text });
  for (const call of calls) send({ tool_calls: [call] });
  end();
}
