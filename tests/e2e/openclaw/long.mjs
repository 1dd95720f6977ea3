// A conversation of 300 turns on a window of 24k tokens with tool results of 4k characters to 40k tokens, and the time
// that plugin and engine add to a turn with 10,000 messages of history. usage: node long.mjs [TURNS] [MESSAGES]

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";

import { checkHost, checkRequests, checkStore, checkWords, session, transcript, want } from "./check.mjs";
import { Host, scratch } from "./host.mjs";
import { startModel, textOf } from "./model.mjs";

const { OPENCLAW_APP: app, UNFORGET_BIN: unforget, UNFORGET_PLUGIN: plugin } = process.env;
const turns = Number(process.argv[2] ?? 300);
const messages = Number(process.argv[3] ?? 10_000);
const FACT = "the gate code is MARIGOLD-4471";
const script = (text, steps) => `${text}\n#: ${JSON.stringify({ steps })}`;

async function stage(more = {}) {
  const folder = scratch();
  const models = { small: 24_000, large: 200_000 };
  const model = await startModel(models);
  const host = new Host({ app, folder, plugin, models, modelUrl: model.url, database: join(folder, "unforget.sqlite"), unforget, ...more });
  await host.configure();
  await host.start();
  return { host, model, folder };
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Text of about the given number of characters, different at every call. */
function words(count, seed) {
  const found = [];
  for (let n = 0; found.length * 9 < count; n++) found.push(`w${((n * 7919 + seed * 104_729) % 9_999_991).toString(36).padStart(6, "0")}`);
  return found.join(" ");
}

/** Length in characters of the common prefix of a request and the previous one. */
function shared(before, after) {
  const [a, b] = [before, after].map(({ body }) => body.messages.map((message) => JSON.stringify(message)));
  let same = 0;
  for (let index = 0; index < b.length && a[index] === b[index]; index++) same += b[index].length;
  return { same, total: b.reduce((sum, text) => sum + text.length, 0) };
}

async function conversation() {
  const { host, model } = await stage();
  const key = "agent:main:long";
  const begun = Date.now();
  let refused = 0;
  for (let turn = 1; turn <= turns; turn++) {
    // From 4k characters to 40k tokens: the largest exceeds the window, however the host truncates it.
    const size = [4_000, 16_000, 40_000, 80_000, 160_000][turn % 5];
    const file = `notes-${turn}.txt`;
    writeFileSync(join(host.workspace, file), words(size, turn));
    const said = turn === 3 ? `Remember that ${FACT}.` : `Turn ${turn}: read ${file}.`;
    const steps = turn === turns ? [{ call: ["tool_call", { id: "unforget_search", args: { query: "gate code" } }] }, { say: `done ${turn}` }] : [{ call: ["read", { path: file }] }, { say: `done ${turn}` }];
    const from = model.requests.length;
    const done = await host.turn(key, script(said, steps));
    if (done.status !== "ok" || !done.text.includes(`done ${turn}`)) {
      refused += 1;
      console.log(JSON.stringify({ turn, status: done.status, text: done.text.slice(0, 300) }));
    }
    checkWords(model.requests.slice(from), { has: [said] });
    if (turn % 50 === 0) console.log(JSON.stringify({ turn, seconds: Math.round((Date.now() - begun) / 1000), tokens: model.requests.at(-1).tokens }));
  }
  checkRequests(model.requests);
  await checkHost(host);
  want(refused === 0, `${refused} turns were refused`);
  const last = model.requests.at(-1).body.messages;
  want(!textOf(model.requests.at(-2).body.messages.map((message) => textOf(message.content)).join("\n")).includes("MARIGOLD-4471") || turns < 50, "the fact never left the prompt");
  want(last.some((message) => message.role === "tool" && textOf(message.content).includes("MARIGOLD-4471")), "the fact was not recalled");
  const reuse = model.requests.slice(1).map((request, index) => shared(model.requests[index], request));
  const [same, total] = [reuse.reduce((sum, one) => sum + one.same, 0), reuse.reduce((sum, one) => sum + one.total, 0)];
  const entries = checkStore(host, session(host, key));
  const overflows = model.requests.filter((request) => request.isRefused).length;
  const largest = Math.max(...model.requests.map((request) => request.tokens));
  const results = transcript(host, session(host, key)).flat().filter(({ message }) => message.role === "toolResult");
  const sizes = results.map(({ message }) => textOf(message.content).length).sort((a, b) => a - b);
  console.log(JSON.stringify({ test: "conversation", turns, requests: model.requests.length, refused, overflows, largest, entries, resultCharacters: [sizes[0], sizes.at(-1)], prefixReused: Math.round((same / total) * 1000) / 1000, seconds: Math.round((Date.now() - begun) / 1000) }));
  await host.stop();
  model.stop();
}

/** Time that plugin and engine add to a turn, by the plugin's own clock around all calls that the host waits for. */
async function overhead() {
  const { host, model } = await stage({ settings: { importMs: 300_000 } });
  const key = "agent:main:old";
  await host.turn(key, script("first", [{ say: "ok" }]));
  await host.stop();
  execFileSync(process.execPath, [join(import.meta.dirname, "fill.mjs"), host.state, key, session(host, key).id, String(messages)], { stdio: "ignore" });
  const measure = async (label) => {
    await host.start();
    const times = []; // in ms
    for (let turn = 0; turn < 23; turn++) {
      const from = model.requests.length;
      const begun = Date.now();
      await host.turn(key, script(`${label} ${turn}`, [{ say: "ok" }]), { model: "large" });
      times.push({ first: model.requests[from].at - begun, all: Date.now() - begun });
    }
    const said = await host.command(key, "/unforget status");
    await host.stop();
    return { times: times.slice(3), said };
  };
  const { times, said } = await measure("with");
  console.log(said);
  const [added, waited] = /time: ([0-9.]+) ms added .* within ([0-9.]+) ms/.exec(said)?.slice(1).map(Number) ?? [];
  console.log(JSON.stringify({ test: "overhead", load: loadavg()[0], messages, addedP50: added, waitedP50: waited, turnP50: median(times.map((one) => one.all)) }));
  want(added < 15, `${added} ms are added to a turn`);
  model.stop();
}

if (turns > 0) await conversation();
if (messages > 0) await overhead();
process.exit(0);
