// The real host: its configuration, its gateway as a child process, and calls through its own client.

import { execFile, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const TOKEN = "loopback-only";

/** A folder for a suite, kept if the suite fails or UNFORGET_KEEP is set. */
export function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "unforget-openclaw-"));
  process.on("exit", (code) => {
    if (code === 0 && !process.env.UNFORGET_KEEP) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    else console.log(`kept: ${folder}`);
  });
  return folder;
}

/**
 * * `app` - folder of the OpenClaw installation.
 * * `folder` - for its state, logs and workspace.
 * * `hasFiles` - whether it is a host with transcript files (up to 2026.7).
 * * `models` - window by model; the first is the default.
 * * `settings` - settings of the plugin; false: the host does not have the plugin.
 */
export class Host {
  constructor({ app, folder, plugin, models, modelUrl, database, unforget, settings = {}, more = {}, hasFiles = false }) {
    Object.assign(this, { app, folder, plugin, models, modelUrl, database, unforget, settings, more, hasFiles });
    this.state = join(folder, "state");
    this.workspace = join(folder, "workspace");
    for (const path of [this.state, this.workspace]) mkdirSync(path, { recursive: true });
    this.log = join(folder, "gateway.log");
    /** Additional environment variables. */
    this.own = {};
  }

  get program() {
    return join(this.app, "node_modules/openclaw/openclaw.mjs");
  }

  get env() {
    return {
      ...process.env,
      ...this.own,
      HOME: this.folder,
      OPENCLAW_HOME: this.folder,
      OPENCLAW_STATE_DIR: this.state,
      OPENCLAW_CONFIG_PATH: join(this.folder, "openclaw.json"),
      OPENCLAW_NO_AUTO_UPDATE: "1",
      OPENCLAW_DISABLE_BONJOUR: "1",
      OPENCLAW_GATEWAY_TOKEN: TOKEN,
      NO_COLOR: "1",
    };
  }

  /** Runs the host's own command line. */
  run(...args) {
    return execFileSync(process.execPath, [this.program, ...args], { env: this.env, cwd: this.workspace, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Changes a setting; only while the gateway is stopped. */
  set(path, value) {
    const file = join(this.folder, "openclaw.json");
    const config = JSON.parse(readFileSync(file, "utf8"));
    const names = path.split(".");
    const last = names.pop();
    names.reduce((at, name) => (at[name] ??= {}), config)[last] = value;
    writeFileSync(file, JSON.stringify(config, null, 1));
  }

  /** Starts an engine at a socket, replacing the running one. */
  async listen(path) {
    const ended = this.listening && new Promise((resolve) => this.listening.once("exit", resolve));
    this.listening?.kill("SIGKILL");
    await ended;
    this.listening = spawn(this.unforget, ["--db", this.database, "engine", "--socket", path], { env: this.env, stdio: "ignore" });
    this.listening.unref();
    const isThere = () => new Promise((resolve) => createConnection(path).once("connect", function () { resolve(true), this.destroy(); }).once("error", () => resolve(false)));
    await until(isThere, 30_000, "the engine does not listen");
  }

  /** Installs the plugin with the host's own command, as a person would. */
  install(...what) {
    const consent = this.hasFiles ? [] : ["--force", "--accept-capabilities"];
    return this.run("plugins", "install", ...what, ...consent);
  }

  async configure() {
    this.port = await freePort();
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const names = Object.keys(this.models);
    const models = names.map((id) => ({ id, name: id, reasoning: false, input: ["text", "image"], cost, contextWindow: this.models[id], maxTokens: 1024 }));
    const own = { binary: this.unforget, database: this.database, ...this.settings };
    const used = {
      allow: ["unforget"],
      slots: { contextEngine: "unforget", memory: "none" },
      entries: { unforget: { enabled: true, config: own } },
    };
    const config = {
      gateway: { mode: "local", bind: "loopback", port: this.port, auth: { mode: "token", token: TOKEN } },
      models: { mode: "replace", providers: { scripted: { baseUrl: this.modelUrl, apiKey: "none", api: "openai-completions", models } } },
      agents: {
        // A heartbeat is a turn of the host's own, at an unpredictable moment.
        defaults: { model: { primary: `scripted/${names[0]}` }, workspace: this.workspace, skipBootstrap: true, sandbox: { mode: "off" }, heartbeat: { every: "0m" } },
      },
      plugins: {
        ...(this.plugin ? { load: { paths: [this.plugin] } } : {}),
        ...(this.settings ? used : {}),
      },
      tools: { exec: { security: "full", ask: "off" } },
      update: { checkOnStart: false },
      discovery: { mdns: { mode: "off" } },
      ...this.more,
    };
    writeFileSync(join(this.folder, "openclaw.json"), JSON.stringify(config, null, 1));
  }

  /** Starts the gateway and connects. */
  async start() {
    const log = createWriteStream(this.log, { flags: "a" });
    this.process = spawn(process.execPath, [this.program, "gateway", "run", "--port", String(this.port)], {
      env: this.env,
      cwd: this.workspace,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process.stdout.pipe(log, { end: false });

    this.process.stderr.pipe(log, { end: false });
    this.ended = new Promise((resolve) => this.process.once("exit", resolve));
    await until(() => fetch(`http://127.0.0.1:${this.port}/readyz`).then((answer) => answer.ok, () => false), 120_000, "the gateway is not ready");
    await this.connect();
  }

  async connect() {
    const sdk = join(this.app, "node_modules/openclaw/dist/plugin-sdk/gateway-runtime.js");
    Object.assign(process.env, { OPENCLAW_STATE_DIR: this.state, OPENCLAW_CONFIG_PATH: join(this.folder, "openclaw.json"), OPENCLAW_HOME: this.folder });
    const { GatewayClient } = await import(pathToFileURL(sdk));
    await new Promise((resolve, reject) => {
      this.client = new GatewayClient({
        url: `ws://127.0.0.1:${this.port}`,
        token: TOKEN,
        clientName: "gateway-client",
        clientVersion: "0",
        mode: "backend",
        role: "operator",
        scopes: ["operator.admin", "operator.read", "operator.write"],
        onHelloOk: resolve,
        onConnectError: reject,
        onEvent: () => {},
      });
      this.client.start();
    });
  }

  call(method, params = {}, options = {}) {
    return this.client.request(method, params, { timeoutMs: 60_000, ...options });
  }

  /** Runs a turn to its end. Returns the agent's answer. */
  async turn(sessionKey, message, { model, timeoutMs = 90_000 } = {}) {
    const params = { sessionKey, message, ...(model ? { model: `scripted/${model}` } : {}), deliver: false };
    // The host refuses a turn while it indexes a transcript, resumes a turn, or another process touches the session; and,
    // on a slow machine, for a moment after its own clean-up of a new agent's database (with any plugins, and none).
    const isLater = (error) => /rebuilding|Retry|Agent database cleanup failed/.test(error.message);
    const ask = () => this.call("agent", { ...params, idempotencyKey: randomUUID() }, { expectFinal: true, timeoutMs });
    const refused = (error) => (isLater(error) ? undefined : Promise.reject(error));
    const answer = await until(() => ask().catch(refused), 60_000, "the host accepts no turn in this session");
    return { status: answer.status, text: (answer.result?.payloads ?? []).map((one) => one.text ?? "").join("\n"), answer };
  }

  /** Begins a turn without waiting for its end. Returns its run. */
  async begin(sessionKey, message, more = {}) {
    const runId = randomUUID();
    const done = this.call("chat.send", { sessionKey, message, idempotencyKey: runId, ...more });
    return { runId, accepted: await done };
  }

  /** Runs a command of a plugin as typed by a person. Returns its output. */
  async command(sessionKey, text) {
    const textOf = ({ content }) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n"));
    const said = async () => (await this.call("chat.history", { sessionKey, limit: 20 })).messages.filter(({ role }) => role !== "user").map(textOf);
    const before = (await said()).length;
    const known = (await said()).at(-1);
    await this.begin(sessionKey, text);
    return until(async () => {
      const now = await said();
      return (now.length !== before || now.at(-1) !== known) && now.at(-1);
    }, 30_000, `${text}: no answer`);
  }

  /** Makes the host believe that a lane has been idle for the given time. */
  async idle(sessionKey, ms) {
    const sdk = pathToFileURL(join(this.app, "node_modules/openclaw/dist/plugin-sdk/session-store-runtime.js")).href;
    const at = Date.now() - ms;
    const entry = JSON.stringify({ agentId: sessionKey.split(":")[1], sessionKey, preserveActivity: true });
    const change = JSON.stringify({ lastInteractionAt: at, sessionStartedAt: at });
    const code = `const { patchSessionEntry } = await import("${sdk}"); await patchSessionEntry({ ...${entry}, update: () => (${change}) }); process.exit(0);`;
    // In a process of its own: the host does not start again while another process has its database open.
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], { env: this.env });
  }

  /** Ends the gateway by its process group, which belongs to this test alone. */
  async stop(signal = "SIGTERM") {
    try {
      this.client?.stop();
    } catch {}
    const { pid } = this.process;
    const group = (sent) => {
      try {
        process.kill(-pid, sent);
      } catch {}
    };
    group(signal);
    const late = setTimeout(() => group("SIGKILL"), 20_000);
    await this.ended;
    clearTimeout(late);
    if (signal === "SIGKILL") await new Promise((resolve) => setTimeout(resolve, 300));
  }

  said() {
    return readFileSync(this.log, "utf8");
  }

  /** Process ids of the engine below the gateway. */
  engines() {
    return readdirSync("/proc").filter((pid) => {
      if (!/^\d+$/.test(pid)) return false;
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        return line.startsWith(this.unforget) && line.includes(this.database);
      } catch {
        return false;
      }
    }).map(Number);
  }
}

async function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export async function until(is, ms, what) {
  for (const end = Date.now() + ms; Date.now() < end; ) {
    const value = await is();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(what);
}
