/** What goes back for a task. */
export interface Reply {
  status: number;
  body: string;
  /** Present when a handler outlived the time limit: resolves when it has returned. */
  ended?: Promise<unknown>;
}

/** A reply without an answer. */
export function failure(status: number, message: string): Reply {
  return { status, body: JSON.stringify({ error: message }) };
}

/** The work on one task. Every delivery of the task waits for it. */
export class Flight {
  readonly done: Promise<Reply>;
  land!: (reply: Reply) => void;

  constructor() {
    this.done = new Promise((resolve) => (this.land = resolve));
  }
}

const keptAnswers = 256; // for repeated deliveries

/**
 * Makes sure that a task delivered twice is worked on once. Answers are kept for later deliveries; a failure is not, so
 * that the arena's second attempt is a new try.
 */
export class Flights {
  readonly #byKey = new Map<string, Flight>();
  readonly #kept: string[] = [];

  /** The flight of a task; `first` is true for the caller that has to do the work and call `finish`. */
  join(key: string): { flight: Flight; first: boolean } {
    const old = this.#byKey.get(key);
    if (old !== undefined) return { flight: old, first: false };
    const flight = new Flight();
    this.#byKey.set(key, flight);
    return { flight, first: true };
  }

  finish(key: string, flight: Flight, reply: Reply): void {
    flight.land(reply);
    if (reply.status !== 200) {
      this.#byKey.delete(key);
      return;
    }
    this.#kept.push(key);
    if (this.#kept.length > keptAnswers) this.#byKey.delete(this.#kept.shift()!);
  }
}
