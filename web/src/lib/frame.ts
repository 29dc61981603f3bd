// Collects what comes in and hands it on once per drawn frame, however many
// events a second there are; when very many come, eight times a second, which
// is as much as anyone can read. A hidden page draws no frames; a timer serves
// it.

const HIDDEN_MS = 500;
/** More than this in one frame is very many. */
const MANY = 8;
const PACE_MS = 125;

export class FrameQueue<T> {
  readonly #flush: (items: T[]) => void;
  #items: T[] = [];
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wait = 0;

  constructor(flush: (items: T[]) => void) {
    this.#flush = flush;
  }

  push(item: T): void {
    this.#items.push(item);
    if (this.#items.length > 1) return;
    if (this.#wait) this.#timer = setTimeout(this.flush, this.#wait);
    else {
      this.#frame = requestAnimationFrame(this.flush);
      this.#timer = setTimeout(this.flush, HIDDEN_MS);
    }
  }

  /** Hands everything on now. */
  readonly flush = (): void => {
    this.#disarm();
    if (!this.#items.length) return;
    const items = this.#items;
    this.#items = [];
    this.#wait = items.length > MANY ? PACE_MS : 0;
    this.#flush(items);
  };

  stop(): void {
    this.#disarm();
    this.#items = [];
  }

  #disarm(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
  }
}
