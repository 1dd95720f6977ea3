// The engine's process, or the daemon behind a socket: one per host process, started at the first use and restarted
// after its death.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname } from "node:path";

import { findBinary } from "./binary.js";
import { Clock } from "./clock.js";
import { Connection, Fault, type Question } from "./connection.js";
import type { Log } from "./host.js";
import type { Settings } from "./settings.js";

/** Pauses between failed starts. */
const PAUSE_MS = [0, 250, 1_000, 4_000, 15_000, 60_000];

/** Bytes that the engine stores per millisecond on a slow machine. */
const BYTES_PER_MS = 1_000;

/** Number of consecutive calls without an answer after which a process is taken for dead. */
const SILENT_MAX = 2;

export class Engine {
  #connection?: Connection;
  #child?: ChildProcess;
  #failures = 0;
  #notBefore = 0;
  #silent = 0;
  #isEnded = false;
  #offer?: Record<string, unknown>;
  /** Measures the time that the host's thread works for the engine. */
  readonly clock = new Clock();
  /** Number of starts so far. */
  starts = 0;
  /** Reason for the last failed start or connection. */
  lastFailure?: string;

  constructor(
    private readonly settings: Settings,
    private readonly log: Log,
    private readonly question: Question,
  ) {}

  /** Process id of the child, if one is running. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Time limit in milliseconds for a call of the given size in bytes. */
  patience(bytes: number): number {
    return this.settings.deadlineMs + Math.ceil(bytes / BYTES_PER_MS);
  }

  /** Offers the host's model, now and after every restart. */
  async offer(model: Record<string, unknown>): Promise<boolean> {
    this.#offer = { protocol: 1, client: "openclaw-unforget", model };
    const answer = (await this.call("initialize", this.#offer)) as { asksModel?: boolean };
    return answer.asksModel === true;
  }

  /**
   * Makes one call. If the process dies during the call, it is repeated once with the next process; every call may be
   * repeated.
   *
   * Rejects only with a Fault.
   */
  async call<T = unknown>(method: string, params: Record<string, unknown>, deadlineMs?: number): Promise<T> {
    const until = Date.now() + (deadlineMs ?? this.settings.deadlineMs);
    for (let attempt = 0; ; attempt++) {
      const connection = await this.#connect();
      try {
        const result = (await connection.call(method, params, Math.max(1, Math.ceil(until - Date.now())))) as T;
        this.#silent = 0;
        this.#failures = 0;
        return result;
      } catch (error) {
        const fault = error as Fault;
        if (fault.kind === "silent") this.#silence(connection);
        else if (fault.kind !== "away") this.#silent = 0;
        if (fault.kind !== "away" || attempt > 0 || Date.now() >= until) throw fault;
      }
    }
  }

  /**
   * Ends the connection, and with it the child, which exits at the end of its stdin. Later calls start no new process.
   */
  close(): void {
    this.#isEnded = true;
    this.#child?.stdin?.end();
    this.#connection?.close("the plugin closed it");
    this.#lost(this.#connection, "closed");
  }

  /** Ends a process that does not answer at all; the next call starts another one. */
  #silence(connection: Connection): void {
    this.#silent += 1;
    if (this.#silent < SILENT_MAX) return;
    this.#silent = 0;
    this.#giveUp(connection, "it does not answer");
  }

  /** Ends a remaining process or connection, because another engine may need its database. */
  #giveUp(connection: Connection, why: string): void {
    if (this.#connection === connection) this.#child?.kill("SIGKILL");
    this.#lost(connection, why);
  }

  async #connect(): Promise<Connection> {
    // The end of its pipes may be noticed before the end of the process.
    if (this.#connection?.isClosed) this.#giveUp(this.#connection, "its connection was closed");
    if (this.#connection) return this.#connection;
    if (this.#isEnded) throw new Fault("away", "the host stops the plugin");
    const pause = this.#notBefore - Date.now();
    if (pause > 0) throw new Fault("away", `the engine is down, and is started again in ${pause} ms: ${this.lastFailure}`);
    this.#notBefore = Date.now() + (PAUSE_MS[Math.min(this.#failures, PAUSE_MS.length - 1)] ?? 0);
    this.#failures += 1;
    try {
      const connection = this.settings.socket ? this.#dial(this.settings.socket) : this.#spawn();
      this.#connection = connection;
      this.starts += 1;
      if (this.#offer) connection.call("initialize", this.#offer, this.settings.deadlineMs).catch(() => {});
      return connection;
    } catch (error) {
      this.lastFailure = error instanceof Error ? error.message : String(error);
      throw new Fault("away", this.lastFailure);
    }
  }

  #spawn(): Connection {
    const { binary, database, autoPins } = this.settings;
    const program = findBinary(binary);
    mkdirSync(dirname(database), { recursive: true, mode: 0o700 });
    const args = ["engine", "--stdio", "--db", database, ...(autoPins ? ["--auto-pins"] : [])];
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
    const connection = new Connection(child.stdout, child.stdin, this.question, this.clock);
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      const line = text.trim();
      if (line) this.log.warn(`unforget engine: ${line.slice(0, 500)}`);
    });
    child.on("error", (error) => this.#lost(connection, error.message));
    child.on("exit", (code, signal) => this.#lost(connection, `it ended with ${signal ?? `exit code ${code}`}`));
    // The host decides when to exit; a call in flight keeps it alive with a timer of its own.
    child.unref();
    for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as unknown as { unref?(): void }).unref?.();
    this.#child = child;
    return connection;
  }

  #dial(path: string): Connection {
    const socket = createConnection(path);
    socket.unref();
    const connection = new Connection(socket, socket, this.question, this.clock);
    socket.on("close", () => this.#lost(connection, `${path} is closed`));
    return connection;
  }

  #lost(connection: Connection | undefined, why: string): void {
    if (!connection || this.#connection !== connection) return;
    this.lastFailure = why;
    this.#connection = undefined;
    this.#child = undefined;
    connection.close(`the engine is gone: ${why}`);
    if (why !== "closed") this.log.warn(`unforget: the engine is gone: ${why}`);
  }
}
