// What plugin and engine add to a turn, on a thread that does other things while it waits for them.

import { performance } from "node:perf_hooks";

/** How long a part of a turn took, in ms. */
export interface Wait {
  /** Until the host had its answer. */
  waited: number;
  /** Of that: the thread stood still, or worked for us. In the rest the host did what it had to do anyway. */
  added: number;
}

export class Clock {
  /** What the thread worked for us so far, in ms. */
  #worked = 0;
  /** What it works on for us now, and since when. */
  #open = 0;
  #since = 0;

  /** Counts what is done here as worked for us, also what the host does in it. */
  work<T>(what: () => T): T {
    this.#begin();
    try {
      return what();
    } finally {
      this.#end();
    }
  }

  /** The same until what is done later is done. */
  async working<T>(what: () => Promise<T>): Promise<T> {
    this.#begin();
    try {
      return await what();
    } finally {
      this.#end();
    }
  }

  /** Begins a wait of the host. What it gives ends it. */
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
