// Qwen Code, Continue, Cline, Hermes and the OpenAI Agents SDK write histories; Unforget finds, reads and returns them.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startModel } from "../openclaw/model.mjs";

const { UNFORGET_BIN: unforget, UNFORGET_HOSTS: bin, UNFORGET_PYTHON: python } = process.env;

/** A turn whose words tell the scripted model what to do. */
const turn = (text, ...steps) => `${text}\n#: ${JSON.stringify({ steps })}`;

/**
 * For each agent: what it is set up with, two turns, and the format of its history. `database`: it keeps sessions in a database;
 * if it is a name, in one that the person names.
 */
const hosts = {
  qwen: {
    format: "qwen-code",
    turns: ({ work }) => [
      ["-p", turn("read the heron file", { call: ["read_file", { file_path: join(work, "a.txt") }] }, { say: "the heron is grey" })],
      ["-p", turn("and run it", { call: ["run_shell_command", { command: "echo egret; exit 3", description: "run", is_background: false }] }, { say: "it failed" }), "--continue"],
    ],
    options: () => ["--yolo", "--auth-type", "openai"],
  },
  cn: {
    format: "continue",
    setUp: ({ home, url }) => writeFileSync(join(home, "cn.yaml"), settings(url)),
    turns: ({ work }) => [
      ["-p", turn("read the heron file", { call: ["Read", { filepath: join(work, "a.txt") }] }, { say: "the heron is grey" })],
      ["-p", turn("and run it", { call: ["Bash", { command: "echo egret; exit 3" }] }, { say: "it failed" }), "--resume"],
    ],
    options: ({ home }) => ["--config", join(home, "cn.yaml"), "--auto"],
  },
  cline: {
    format: "cline",
    setUp: ({ run, url }) => run("auth", "--provider", "openai", "--apikey", "none", "--modelid", "large", "--baseurl", url),
    turns: () => [[turn("read the heron file", { call: ["run_commands", { commands: ["cat a.txt", "echo egret"] }] }, { call: ["submit_and_exit", { summary: "the heron is grey", verified: true }] }, { say: "it failed" })]],
    options: () => ["-y"],
  },
  hermes: {
    format: "hermes",
    bin: python,
    database: true,
    setUp: ({ home, url }) => {
      mkdirSync(join(home, ".hermes"));
      writeFileSync(join(home, ".hermes/config.yaml"), `model: { default: large, provider: custom, base_url: "${url}", context_length: 128000 }\n`);
    },
    turns: ({ work }) => [
      ["chat", "-Q", "-q", turn("read the heron file", { call: ["read_file", { path: join(work, "a.txt") }] }, { say: "the heron is grey" })],
      ["chat", "-Q", "--continue", "-q", turn("and run it", { call: ["terminal", { command: "echo egret; exit 3" }] }, { say: "it failed" })],
    ],
    options: () => ["--yolo"],
  },
  agents: {
    format: "openai-agents",
    bin: python,
    program: "python3",
    database: "sessions.db",
    turns: ({ work }) => [
      [turn("read the heron file", { call: ["run", { command: "cat a.txt" }] }, { say: "the heron is grey" })],
      [turn("and run it", { call: ["run", { command: "echo egret; exit 3" }] }, { say: "it failed" })],
    ].map(([words]) => [join(here, "sdk_session.py"), join(work, "sessions.db"), words]),
    options: () => [],
  },
};

const here = import.meta.dirname;

const settings = (url) => `name: scripted
version: 1.0.0
schema: v1
models:
  - { name: large, provider: openai, model: large, apiBase: "${url}", apiKey: none, roles: [chat], capabilities: [tool_use] }
`;

function want(is, what) {
  if (!is) throw new Error(what);
}

async function play(name, model) {
  const begun = Date.now();
  const folder = mkdtempSync(join(tmpdir(), `unforget-${name}-`));
  const [home, work] = [join(folder, "home"), join(folder, "work")];
  for (const path of [home, work]) mkdirSync(path);
  writeFileSync(join(work, "a.txt"), "the heron stands in the water\n");
  const env = { PATH: process.env.PATH, HOME: home, NO_COLOR: "1", OPENAI_API_KEY: "none", OPENAI_BASE_URL: model.url, OPENAI_MODEL: "large" };
  const host = hosts[name];
  const program = join(host.bin ?? bin, host.program ?? name);
  const run = (...args) => ended(spawn(program, args, { cwd: work, env, stdio: ["ignore", "pipe", "pipe"] }));
  const place = { home, work, url: model.url, run };
  await host.setUp?.(place);
  for (const words of host.turns(place)) await run(...words, ...host.options(place));
  const entries = check(host, { folder, work, env });
  console.log(JSON.stringify({ host: name, entries, seconds: Math.round((Date.now() - begun) / 100) / 10 }));
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Waits for the end of an agent, for a minute at most. */
function ended(child) {
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
    child.once("exit", (code) => {
      clearTimeout(late);
      if (code === 0) resolve(said);
      else reject(new Error(`${child.spawnfile}: exit code ${code}: ${said.slice(-2_000)}`));
    });
  });
}

/** Checks what is found and read, that the export is the host's file or its rows, and that a second import finds nothing new. */
function check({ format, database }, { folder, work, env }) {
  const call = (...args) => execFileSync(unforget, ["--db", join(folder, "kept.sqlite"), ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  const lines = (...args) => call(...args, "--json").toString().trim().split("\n").map((line) => JSON.parse(line));
  const read = () => (typeof database === "string" ? lines("import", join(work, database)) : lines("import", "--discover", "--yes"));
  const imported = read();
  const ours = imported.filter(({ conversation }) => conversation?.startsWith(`${format}:`));
  want(ours.length === 1, `one session of ${format}: ${JSON.stringify(imported)}`);
  const [{ conversation, path, added }] = ours;
  const text = call("show", conversation, "--no-pager").toString();
  for (const words of ["read the heron file", "grey", "the heron file"]) want(text.includes(words), `${words} is not in ${text}`);
  const results = call("grep", "egret").toString();
  want(results.includes("egret"), `the result of the command is not found: ${results}`);
  const exported = call("export", conversation);
  if (database) {
    const rows = exported.toString().trim().split("\n").map((line) => JSON.parse(line));
    want(rows.length === added && rows.every((row) => Object.keys(row)[0] === format), `the rows: ${JSON.stringify(rows).slice(0, 500)}`);
  } else {
    want(exported.equals(readFileSync(path)), "the export is not the file");
  }
  const again = read().filter((one) => one.conversation === conversation);
  want(again.every((one) => one.added === 0), `the second import: ${JSON.stringify(again)}`);
  call("verify");
  return added;
}

const wanted = process.argv.slice(2);
const model = await startModel({ large: 128_000 });
let failed = 0;
for (const name of Object.keys(hosts).filter((one) => wanted.length === 0 || wanted.includes(one))) {
  if (hosts[name].bin === "") {
    console.log(JSON.stringify({ host: name, skipped: "its packages cannot be installed" }));
    continue;
  }
  await play(name, model).catch((error) => {
    failed += 1;
    console.log(JSON.stringify({ host: name, ok: false, why: error.message }));
  });
}
model.stop();
process.exit(failed > 0 ? 1 : 0);
