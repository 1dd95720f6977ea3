// Measures the time that plugin and engine add to a turn, on a thread that does other work while it waits for them.

import { performance } from "node:perf_hooks";

/** Duration of a part of a turn, in ms. */
export interface Wait {
  /** Time until the host had its answer. */
  waited: number;
  /**
   * The part of it during which the thread was blocked or worked for us. In the rest the host did necessary work of its
   * own.
   */
  added: number;
}

export class Clock {
  /** Total time that the thread has worked for us, in ms. */
  #worked = 0;
  /** Number of tasks in progress for us, and the start of the first one. */
  #open = 0;
  #since = 0;

  /** Counts the duration of a function as work for us, including the host's work inside of it. */
  work<T>(what: () => T): T {
    this.#begin();
    try {
      return what();
    } finally {
      this.#end();
    }
  }

  /** Counts the time until an asynchronous function completes as work for us. */
  async working<T>(what: () => Promise<T>): Promise<T> {
    this.#begin();
    try {
      return await what();
    } finally {
      this.#end();
    }
  }

  /** Begins a wait of the host. The returned function ends it. */
  wait(): () => Wait {
    const [begun, worked, before] = [performance.now(), this.#worked, performance.eventLoopUtilization()];
    return () => {
      const waited = performance.now() - begun;
      const { idle } = performance.eventLoopUtilization(before);
      return { waited, added: Math.min(waited, idle + this.#worked - worked) };
    };
  }

  #begin(): void {
    if (this.#open === 0) this.#since = performance.now();
    this.#open += 1;
  }

  #end(): void {
    this.#open -= 1;
    if (this.#open === 0) this.#worked += performance.now() - this.#since;
  }
}
