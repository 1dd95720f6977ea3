// The two example agents before the scripted model: the protocol does not depend on OpenClaw.

import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";

import { checkRequests, checkWords, want } from "./check.mjs";
import { scratch } from "./host.mjs";
import { startModel } from "./model.mjs";

const unforget = process.env.UNFORGET_BIN;
const folder = scratch();
const examples = join(import.meta.dirname, "../../../examples");

/** Runs an agent with some lines on its stdin; returns its output. */
function talk(program, file, db, url, lines) {
  const options = ["--url", url, "--model", "large", "--db", db, "--unforget", unforget, "--budget", "4000"];
  const agent = spawn(program, [join(examples, file), ...options], { stdio: ["pipe", "pipe", "inherit"] });
  let said = "";
  agent.stdout.on("data", (data) => (said += data));
  agent.stdin.end(lines.map((line) => `${line}\n`).join(""));
  return new Promise((resolve, reject) => agent.on("exit", (code) => (code === 0 ? resolve(said) : reject(new Error(`${file} ended with ${code}`)))));
}

for (const [program, file] of [["python3", "agent.py"], [process.execPath, "agent.ts"]]) {
  const model = await startModel({ large: 8_000 });
  const db = join(folder, `${file}.sqlite`);
  const long = (n) => `part ${n} ${"filler words of some length ".repeat(60)}`;
  await talk(program, file, db, model.url, ["the key is under the mat", ...Array.from({ length: 12 }, (_, n) => long(n))]);
  want(model.requests.length === 13, `${file} asked ${model.requests.length} times`);
  const from = model.requests.length;
  await talk(program, file, db, model.url, ["and after a restart"]);
  checkRequests(model.requests);
  checkWords(model.requests.slice(from), { has: ["and after a restart", "part 11"] });
  want(model.requests.at(-1).tokens < 4_500, `${model.requests.at(-1).tokens} tokens`);
  const lines = execFileSync(unforget, ["--db", db, "export", "journal:example"], { encoding: "utf8" }).trim().split("\n");
  const messages = lines.map((line) => JSON.parse(line)).filter((line) => line.is === "message");
  want(messages.length === 28, `${file}: ${messages.length} messages are stored`);
  model.stop();
  console.log(JSON.stringify({ scenario: file, ok: true, entries: messages.length }));
}
process.exit(0);
