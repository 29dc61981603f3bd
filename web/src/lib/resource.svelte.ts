import { ApiError } from './api/client';
import { contact } from './contact';

const RETRY_MS = 4_000;

/**
 * Something that the page reads from the API. It keeps what it has while it
 * reads anew, so that nothing jumps, and it tries again after a failure that
 * may pass: after a while, and at once when the arena is back.
 */
export class Resource<T> {
  data = $state.raw<T>();
  error = $state.raw<ApiError>();
  readonly #read: (signal: AbortSignal) => Promise<T>;
  #abort: AbortController | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #waiting: (() => void) | undefined;

  constructor(read: (signal: AbortSignal) => Promise<T>) {
    this.#read = read;
  }

  /** Reads now; a read under way is dropped. */
  readonly load = async (): Promise<void> => {
    this.stop();
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const data = await this.#read(abort.signal);
      if (abort.signal.aborted) return;
      this.data = data;
      this.error = undefined;
    } catch (cause) {
      if (abort.signal.aborted) return;
      this.error = cause instanceof ApiError ? cause : new ApiError(0, 'network', String(cause));
      if (this.error.status === 0 || this.error.status === 429 || this.error.status >= 500) {
        this.#retry = setTimeout(() => void this.load(), Math.max(RETRY_MS, this.error.waitMs));
        this.#waiting = contact.onReturn(() => void this.load());
      }
    } finally {
      if (this.#abort === abort) this.#abort = undefined;
    }
  };

  /** Reads now and every so many milliseconds, unless a read is under way or waits for its next try; the returned function ends it. */
  poll(everyMs: number): () => void {
    void this.load();
    const timer = setInterval(() => {
      if (!this.#abort && !this.#retry) void this.load();
    }, everyMs);
    const returned = contact.onReturn(() => void this.load());
    return () => {
      clearInterval(timer);
      returned();
      this.stop();
    };
  }

  readonly stop = (): void => {
    this.#abort?.abort();
    this.#abort = undefined;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#waiting?.();
  };
}
