import { ApiError } from './api/client';
import type { ArenaEvent, Match } from './api/contract';
import { contact } from './contact';
import { FrameQueue } from './frame';
import { applyToLists, emptyLists, listsOf, type MatchLists } from './lobby';
import { Stream, type Topic } from './stream';

const RETRY_MS = 4_000;

/**
 * The matches of the arena or of one league, live. Its stream has no past, so
 * the lists are read anew each time that a connection begins; events that came
 * in meanwhile are applied on top.
 */
export class LiveList {
  lists = $state.raw<MatchLists>(emptyLists);
  ready = $state(false);
  error = $state.raw<ApiError>();

  readonly #league: string | undefined;
  readonly #read: (signal: AbortSignal) => Promise<readonly Match[]>;
  readonly #over: ((league: string) => void) | undefined;
  readonly #queue = new FrameQueue<ArenaEvent>((events) => this.#apply(events));
  #pending: ArenaEvent[] | undefined;
  #abort: AbortController | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  /** read gives the lists; over is called with the league of each match that ends. */
  constructor(league: string | undefined, read: (signal: AbortSignal) => Promise<readonly Match[]>, over?: (league: string) => void) {
    this.#league = league;
    this.#read = read;
    this.#over = over;
  }

  start(): () => void {
    const topic: Topic = this.#league === undefined ? { lobby: true } : { league: this.#league };
    const stream = new Stream(topic, {
      hello: () => void this.load(),
      event: (e) => this.#queue.push(e),
    });
    void this.load();
    stream.start();
    // A stream that stands has missed nothing; one that comes back reads anew by itself.
    const returned = contact.onReturn(() => this.error && void this.load());
    return () => {
      returned();
      stream.stop();
      this.#queue.stop();
      this.#abort?.abort();
      clearTimeout(this.#retry);
    };
  }

  /** Reads the lists anew; a read under way is dropped. */
  async load(): Promise<void> {
    this.#abort?.abort();
    clearTimeout(this.#retry);
    const abort = new AbortController();
    this.#abort = abort;
    this.#pending ??= [];
    try {
      const matches = await this.#read(abort.signal);
      if (abort.signal.aborted) return;
      this.lists = this.#pending.reduce(applyToLists, listsOf(matches));
      this.#pending = undefined;
      this.error = undefined;
      this.ready = true;
    } catch (cause) {
      if (abort.signal.aborted) return;
      this.error = cause instanceof ApiError ? cause : new ApiError(0, 'network', String(cause));
      if (this.error.status === 0 || this.error.status >= 429)
        this.#retry = setTimeout(() => void this.load(), Math.max(RETRY_MS, this.error.waitMs));
    }
  }

  #apply(events: ArenaEvent[]): void {
    for (const e of events) {
      this.#pending?.push(e);
      if (e.type === 'match_finished') this.#over?.(e.league);
    }
    this.lists = events.reduce(applyToLists, this.lists);
  }
}
