import { match as fetchMatch } from '../api/arena';
import { ApiError } from '../api/client';
import type { ArenaEvent, Match } from '../api/contract';
import { contact } from '../contact';
import { FrameQueue } from '../frame';
import { Stream } from '../stream';
import type { Source } from './playback.svelte';
import { Recording } from './recording';
import { emptyMatch, fromSnapshot, lastRound, type MatchState } from './state';
import { unread } from './unread';

/** If the log has not been read to its end by then, what there is of it is shown. */
const CATCH_UP_MS = 1_500;
const RETRY_MS = 3_000;

/**
 * A match as it happens: snapshot first, then its whole log, then live. What
 * is shown does not run through the past: the log is taken in silently up to
 * the point where the stream said it stands.
 */
export class LiveMatch implements Source {
  /** The state to draw; undefined until the log has been read, or until the snapshot is there if that is enough. */
  state = $state.raw<MatchState>();
  /** True once the log has been read up to the present. */
  caughtUp = $state(false);
  /** More may come. */
  growing = $state(true);
  /** The server refused to send the log: there is no such match. */
  refused = $state(false);
  error = $state.raw<ApiError>();

  /** The whole log, as far as it has been read. */
  recording: Recording;

  readonly id: string;
  readonly #early: boolean;
  readonly #first: Match | undefined;
  #target = Number.POSITIVE_INFINITY;
  #stream: Stream | undefined;
  #queue = new FrameQueue<ArenaEvent>((events) => this.#apply(events));
  #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  /** first: the snapshot, if it is known; it is shown at once. early: what the snapshot knows is shown while the log is read. */
  constructor(id: string, { first, early = true }: { first?: Match; early?: boolean } = {}) {
    this.id = id;
    this.#early = early;
    this.#first = first;
    this.recording = new Recording(emptyMatch(id));
    if (first) this.state = unread(first);
  }

  /** Begins to follow; the returned function ends it. */
  start(): () => void {
    void this.#load();
    const returned = contact.onReturn(() => this.#again());
    return () => {
      returned();
      this.#abort.abort();
      this.#stream?.stop();
      this.#queue.stop();
      clearTimeout(this.#timer);
      clearTimeout(this.#retry);
    };
  }

  async #load(): Promise<void> {
    try {
      const snapshot = this.#first ?? (await fetchMatch(this.id, this.#abort.signal));
      this.error = undefined;
      this.recording = new Recording(fromSnapshot(snapshot));
      this.#target = snapshot.seq;
      if (snapshot.seq === 0) this.#publish();
      else if (this.#early) this.state ??= unread(snapshot);
      this.#follow();
    } catch (cause) {
      if (this.#abort.signal.aborted) return;
      this.error = cause instanceof ApiError ? cause : new ApiError(0, 'network', String(cause));
      if (this.error.status === 404 || this.error.status === 400 || this.error.status === 422) return;
      this.#retry = setTimeout(() => void this.#load(), Math.max(RETRY_MS, this.error.waitMs));
    }
  }

  /** Reads now what a failure has put off. */
  #again(): void {
    if (!this.error || this.#stream) return;
    clearTimeout(this.#retry);
    void this.#load();
  }

  #follow(): void {
    this.#stream = new Stream(
      { match: this.id },
      {
        hello: (h) => {
          if (h.resync) this.#restart();
          if (!this.caughtUp && Number.isFinite(h.seq)) this.#target = Math.max(this.#target, h.seq);
        },
        event: (e) => this.#queue.push(e),
        end: (refused) => {
          this.growing = false;
          this.refused = refused;
          this.#finish();
        },
      },
    );
    this.#stream.start();
    this.#timer = setTimeout(() => this.#late(), CATCH_UP_MS);
  }

  /** Shows what there is of the log, unless the snapshot shows more. */
  #late(): void {
    const known = (m: MatchState) => lastRound(m)?.no ?? 0;
    const more = this.state?.unread && (!this.recording.length || known(this.recording.head) < known(this.state));
    if (!more) return this.#publish();
    this.#timer = setTimeout(() => this.#late(), CATCH_UP_MS);
  }

  /** The log began anew; what was shown stays until it has been read again. */
  #restart(): void {
    this.#queue.stop();
    this.recording = new Recording(emptyMatch(this.id));
    this.#target = 0;
    this.caughtUp = false;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#publish(), CATCH_UP_MS);
  }

  /** Nothing more will come: shows all of it. */
  #finish(): void {
    this.#queue.flush();
    this.#publish();
  }

  #apply(events: ArenaEvent[]): void {
    this.recording.push(events);
    if (this.caughtUp) this.state = this.recording.head;
    else if (this.recording.head.seq >= this.#target) this.#publish();
    // The snapshot may know the end already: only the log's own last event ends the reading.
    if (events.some((e) => e.type === 'match_finished' || e.type === 'match_void')) this.#over();
  }

  #publish(): void {
    clearTimeout(this.#timer);
    this.state = this.recording.head;
    this.caughtUp = true;
  }

  /** The last event of the log is in: no need to wait for the server to say so. */
  #over(): void {
    this.#stream?.stop();
    this.growing = false;
    this.#publish();
  }
}
