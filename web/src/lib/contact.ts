// Whether the arena answers: the one place that knows. Reads and streams report
// here what they see. While nothing answers, one probe asks for all of them, and
// the first answer wakes everything that waits.

/** A failure that is over sooner than this is not shown. */
export const GRACE_MS = 1_500;
/** The wait before a probe: at least half of it, and random, so that readers do not come back in one moment. */
export const PROBE_MS = 2_000;
/** A probe without an answer for this long has failed. */
const PROBE_TIMEOUT_MS = 5_000;

export interface Parts {
  /** Reports whether the arena answers. */
  probe(): Promise<boolean>;
  now(): number;
  random(): number;
}

async function probe(): Promise<boolean> {
  try {
    return !isOutage((await fetch('/v1/banner', { cache: 'no-store', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })).status);
  } catch {
    return false;
  }
}

/** The statuses by which a proxy, or a server that stops, says that the arena is not there. */
export const isOutage = (status: number): boolean => status >= 502 && status <= 504;

export class Contact {
  readonly #parts: Parts;
  readonly #returned = new Set<() => void>();
  readonly #changed = new Set<() => void>();
  readonly #lost = new Set<object>();
  #last: number;
  #down = false;
  #since: number | undefined;
  #grace: ReturnType<typeof setTimeout> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #probing = false;

  constructor(parts: Parts = { probe, now: Date.now, random: Math.random }) {
    this.#parts = parts;
    this.#last = parts.now();
    globalThis.addEventListener?.('online', () => void this.check());
  }

  /** When the arena was last heard, in milliseconds, while what is shown is stale. */
  get since(): number | undefined {
    return this.#since;
  }

  /** Nothing answers, for however short a time. */
  get down(): boolean {
    return this.#down;
  }

  /** Calls back when the arena answers again after an outage; the returned function ends that. */
  onReturn(then: () => void): () => void {
    this.#returned.add(then);
    return () => void this.#returned.delete(then);
  }

  /** Calls back when since or down changes; the returned function ends that. */
  onChange(then: () => void): () => void {
    this.#changed.add(then);
    return () => void this.#changed.delete(then);
  }

  /** A stream has said something. */
  heard(): void {
    this.#last = this.#parts.now();
  }

  /** The arena has answered a request. */
  answered(): void {
    this.heard();
    if (!this.#down) return;
    this.#down = false;
    clearTimeout(this.#timer);
    this.#settle();
    for (const then of [...this.#returned]) then();
  }

  /** A request had no answer. */
  failed(): void {
    if (this.#down) return;
    this.#down = true;
    this.#settle();
    this.#plan();
  }

  /** A stream has been lost; check finds out whether all of the arena is gone. */
  lost(stream: object): void {
    this.#lost.add(stream);
    this.#settle();
    void this.check();
  }

  /** A stream stands again, or nobody needs it any more. */
  found(stream: object): void {
    if (this.#lost.delete(stream)) this.#settle();
  }

  /** Asks the arena now; reports whether it answers. */
  async check(): Promise<boolean> {
    this.#probing = true;
    const answers = await this.#parts.probe();
    this.#probing = false;
    if (answers) this.answered();
    else if (this.#down) this.#plan();
    else this.failed();
    return answers;
  }

  #plan(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => !this.#probing && void this.check(), (PROBE_MS / 2) * (1 + this.#parts.random()));
  }

  #settle(): void {
    const stale = this.#down || this.#lost.size > 0;
    if (!stale) {
      clearTimeout(this.#grace);
      this.#grace = undefined;
      this.#since = undefined;
    } else {
      this.#grace ??= setTimeout(() => {
        this.#since = this.#last;
        this.#notify();
      }, GRACE_MS);
    }
    this.#notify();
  }

  #notify(): void {
    for (const then of [...this.#changed]) then();
  }
}

export const contact = new Contact();
