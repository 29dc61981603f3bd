// The server's clock, guessed from what the server says. Every sample proves a
// lower bound: at the moment it came in, the server's clock stood at or after
// the sample's time. The best bound is kept, so a slow network or an old event
// can only be ignored, never pull the clock back. That holds against a clock that
// nobody sets: one set forward would keep the present ahead for good.

export class ServerClock {
  #offset = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  constructor(now: () => number = () => performance.timeOrigin + performance.now()) {
    this.#now = now;
  }

  /** Takes a time that the server wrote: an event's, or a Date header (cut to whole seconds). */
  sample(ts: string | undefined | null): void {
    const at = ts ? Date.parse(ts) : Number.NaN;
    if (Number.isFinite(at)) this.#offset = Math.max(this.#offset, at - this.#now());
  }

  /** Milliseconds of the server's clock; the local clock before any sample. */
  now(): number {
    return this.#now() + (Number.isFinite(this.#offset) ? this.#offset : 0);
  }
}

export const clock = new ServerClock();
