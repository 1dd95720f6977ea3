// JSON-RPC 2.0 with the engine, one object per line (docs/protocol.md). Independent of processes and of the host.

import type { Readable, Writable } from "node:stream";

import type { Clock } from "./clock.js";

/** The reason why a call has no result. */
export class Fault extends Error {
  constructor(
    /**
     * The engine's `kind`. `deadline` is used by us too; `away` and `silent` (no message at all arrived in that time)
     * only by us.
     */
    readonly kind: string,
    message: string,
    /** Indices of messages whose bodies the engine lacks. */
    readonly need: number[] = [],
    /** `irreducible`: tokens by which the smallest prompt exceeds the budget. */
    readonly missing = 0,
  ) {
    super(message);
  }
}

/** Answers a call by the engine: `complete`. */
export type Question = (method: string, params: Record<string, unknown>) => Promise<unknown>;

interface Waiting {
  resolve(result: unknown): void;
  reject(fault: Fault): void;
  timer: NodeJS.Timeout;
}

/**
 * Additional time that we wait beyond the engine's own limit, because the engine's answer is more precise than our
 * timeout.
 */
const GRACE_MS = 300;

export class Connection {
  #next = 1;
  #waiting = new Map<number, Waiting>();
  #pieces: Buffer[] = [];
  #closed?: Fault;
  /** Number of lines received from the engine. */
  #heard = 0;

  constructor(
    input: Readable,
    private readonly output: Writable,
    private readonly question: Question,
    private readonly clock: Clock,
  ) {
    input.on("data", (bytes: Buffer) => this.clock.work(() => this.#read(bytes)));
    input.on("close", () => this.close("the engine closed the connection"));
    input.on("error", (error) => this.close(String(error)));
    output.on("error", (error) => this.close(String(error)));
  }

  /** Whether the connection is closed for further calls. */
  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  /**
   * Makes one call. Its timer keeps the process alive until there is an answer; nothing else here does.
   *
   * Rejects only with a Fault.
   */
  call(method: string, params: Record<string, unknown>, deadlineMs: number): Promise<unknown> {
    if (this.#closed) return Promise.reject(this.#closed);
    const id = this.#next++;
    const heard = this.#heard;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        this.#send({ jsonrpc: "2.0", method: "$/cancel", params: { id } });
        reject(new Fault(this.#heard === heard ? "silent" : "deadline", `${method} was not answered in ${deadlineMs} ms`));
      }, deadlineMs + GRACE_MS);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#send({ jsonrpc: "2.0", id, method, params: { ...params, deadlineMs } });
    });
  }

  /** Closes the connection and rejects all waiting calls. */
  close(why: string): void {
    this.#closed ??= new Fault("away", why);
    for (const waiting of this.#waiting.values()) {
      clearTimeout(waiting.timer);
      waiting.reject(this.#closed);
    }
    this.#waiting.clear();
  }

  #send(message: unknown): void {
    if (!this.#closed) this.clock.work(() => this.output.write(`${JSON.stringify(message)}\n`));
  }

  #read(bytes: Buffer): void {
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      this.#pieces.push(bytes.subarray(from, end));
      from = end + 1;
      const line = Buffer.concat(this.#pieces).toString("utf8");
      this.#pieces = [];
      this.#line(line);
    }
    if (from < bytes.length) this.#pieces.push(bytes.subarray(from));
  }

  #line(line: string): void {
    this.#heard += 1;
    let message: { id?: unknown; method?: string; params?: unknown; result?: unknown; error?: Failure };
    try {
      message = JSON.parse(line);
    } catch {
      this.close(`the engine wrote a line that is not JSON: ${line.slice(0, 200)}`);
      return;
    }
    if (message.method) {
      void this.#asked(message.id, message.method, (message.params ?? {}) as Record<string, unknown>);
      return;
    }
    const waiting = typeof message.id === "number" ? this.#waiting.get(message.id) : undefined;
    if (!waiting) return;
    this.#waiting.delete(message.id as number);
    clearTimeout(waiting.timer);
    if (message.error) waiting.reject(fault(message.error));
    else waiting.resolve(message.result);
  }

  async #asked(id: unknown, method: string, params: Record<string, unknown>): Promise<void> {
    try {
      this.#send({ jsonrpc: "2.0", id, result: await this.question(method, params) });
    } catch (error) {
      const data = error instanceof Fault ? { kind: error.kind } : { kind: "server" };
      this.#send({ jsonrpc: "2.0", id, error: { code: -32000, message: String(error), data } });
    }
  }
}

interface Failure {
  message?: string;
  data?: { kind?: string; need?: number[]; missing?: number; hint?: string };
}

function fault(error: Failure): Fault {
  const hint = error.data?.hint ? ` (${error.data.hint})` : "";
  const { kind = "internal", need = [], missing = 0 } = error.data ?? {};
  return new Fault(kind, `${error.message ?? "failed"}${hint}`, need, missing);
}
