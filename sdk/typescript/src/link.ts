import { Final } from './sink.js';
import type { Sink } from './sink.js';

const queueSize = 256; // events that wait; the oldest is dropped for the next
const batchSize = 16; // events handed over at once
const flushMs = 100;
const idleMs = 90_000;
const firstPauseMs = 100; // after a failure; doubles
const longestPauseMs = 3000;
const eventRate = 20; // a second; the arena refuses more
const eventBurst = 40;

/**
 * Carries the events of one match, whatever their round, from the handlers to the arena. It ends when no
 * handler has been at work for a while.
 */
export class Link {
  readonly #sink: Sink;
  readonly #drop: (n: number) => void;
  readonly #over: () => void;
  #token = ''; // of the queued events
  #queue: string[] = [];
  #broken = false; // nothing is sent under this token any more
  #users = 0; // handlers at work on the match
  #waiting: (() => void)[] = []; // in flush
  #sending = false;
  #hopeless = false; // the last batch failed: no call waits for it
  #ended = false;
  #idle: NodeJS.Timeout | undefined;
  #pause: { timer: NodeJS.Timeout; wake: () => void } | undefined;
  #tokens = eventBurst;
  #filled = performance.now();

  constructor(sink: Sink, drop: (n: number) => void, over: () => void) {
    this.#sink = sink;
    this.#drop = drop;
    this.#over = over;
  }

  /** Counts a handler that will push. */
  acquire(): void {
    this.#users++;
    clearTimeout(this.#idle);
  }

  /** Takes back an acquire. */
  done(): void {
    this.#users--;
    this.#rest();
  }

  /**
   * Queues an event reported under a token. Events of an earlier token are of a round that is over: the arena would
   * take them for the new one's.
   */
  push(token: string, event: string): void {
    if (token !== this.#token) {
      this.#forget(this.#queue.length);
      this.#token = token;
      this.#broken = false;
    }
    if (this.#broken || this.#ended) {
      this.#drop(1);
      return;
    }
    if (this.#queue.length === queueSize) this.#forget(1);
    this.#queue.push(event);
    this.#hopeless = false;
    if (!this.#sending) void this.#run();
  }

  /** Waits until what was pushed is in the arena's hands, 100 ms have passed, or there is no hope. */
  async flush(): Promise<void> {
    if (!this.#sending || this.#hopeless) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, flushMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Ends the link and drops what waits. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#forget(this.#queue.length);
    this.#release();
    clearTimeout(this.#idle);
    this.#pause?.wake();
    this.#sink.close();
    this.#over();
  }

  async #run(): Promise<void> {
    this.#sending = true;
    let pause = firstPauseMs;
    while (this.#queue.length > 0) {
      const token = this.#token;
      const batch = this.#queue.splice(0, batchSize);
      await this.#pace(batch.length);
      if (this.#ended) {
        this.#drop(batch.length);
        break;
      }
      const left = { batch };
      try {
        await this.#sink.send(token, left);
        pause = firstPauseMs;
      } catch (error) {
        if (error instanceof Final) {
          this.#giveUp(token, left.batch.length);
        } else {
          this.#putBack(token, left.batch);
          await this.#sleep(pause * (1 + Math.random()));
          pause = Math.min(2 * pause, longestPauseMs);
        }
      }
    }
    this.#sending = false;
    this.#release();
    this.#rest();
  }

  /** Waits until the arena takes n more events. */
  async #pace(n: number): Promise<void> {
    const now = performance.now();
    this.#tokens = Math.min(eventBurst, this.#tokens + ((now - this.#filled) * eventRate) / 1000) - n;
    this.#filled = now;
    if (this.#tokens < 0) await this.#sleep((-this.#tokens * 1000) / eventRate);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#ended) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(resolve, ms);
      this.#pause = { timer, wake };
    });
    this.#pause = undefined;
  }

  #putBack(token: string, batch: string[]): void {
    this.#hopeless = true;
    this.#release();
    if (token !== this.#token || this.#ended) {
      this.#drop(batch.length);
      return;
    }
    this.#queue.unshift(...batch);
    this.#forget(Math.max(this.#queue.length - queueSize, 0));
  }

  #giveUp(token: string, lost: number): void {
    this.#drop(lost);
    if (token === this.#token) {
      this.#broken = true;
      this.#forget(this.#queue.length);
    }
  }

  #forget(n: number): void {
    if (n > 0) this.#drop(n);
    this.#queue.splice(0, n);
  }

  #release(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Begins to count the time after which an unused link ends. */
  #rest(): void {
    clearTimeout(this.#idle);
    if (this.#users > 0 || this.#sending || this.#ended) return;
    this.#idle = setTimeout(() => this.end(), idleMs);
    this.#idle.unref();
  }
}
