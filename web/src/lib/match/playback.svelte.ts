import { untrack } from 'svelte';
import { calm } from '../motion';
import { momentsOf, type Moment } from './moments';
import { BEAT_MS, type Recording } from './recording';
import type { MatchState } from './state';
import { liveTime, type MatchTime } from './time';

export const SPEEDS = [0.5, 1, 2, 4, 8, 16] as const;

/** What can be played: a match that is followed, or one from a file. */
export interface Source {
  /** The state at the end of what is known. */
  readonly state: MatchState | undefined;
  readonly recording: Recording;
  /** True while more may come. */
  readonly growing: boolean;
}

/** The longest advance of one frame, so that a page that was suspended does not leap. */
const FRAME_MS = 100;

/** Where a reader stands in a match, and how it moves. Without a position it is at the end of what is known: live. */
export class Playback implements MatchTime {
  position = $state<number>();
  playing = $state(false);
  speed = $state<number>(1);
  #offset = 0;
  #time = $state(0);
  #frame = 0;
  #last = 0;
  readonly #source: () => Source;
  readonly #live = liveTime(() => this.#source().state?.delayMs ?? 0);
  readonly state: MatchState | undefined = $derived.by(() => {
    const { state, recording } = this.#source();
    if (!state) return state;
    if (this.position !== undefined) return recording.at(this.position);
    const held = state === recording.head && calm(BEAT_MS) ? recording.heldAt(untrack(() => this.#live.now())) : undefined;
    if (held === undefined) return state;
    this.#live.now(); // asks again until it is over
    return recording.at(held);
  });
  readonly length: number = $derived.by(() => {
    const { state, recording } = this.#source();
    return state ? recording.length : 0; // grows with the state
  });
  readonly moments: readonly Moment[] = $derived(this.length ? momentsOf(this.recording.turns) : []);

  constructor(source: () => Source) {
    this.#source = source;
    $effect(() => this.stop);
  }

  get recording(): Recording {
    return this.#source().recording;
  }

  /** Where it stands, wherever that is. */
  get here(): number {
    return this.position ?? this.length;
  }

  /** The clock by which what is shown is to be read. */
  now(): number {
    return this.position === undefined ? this.#live.now() : this.#time;
  }

  /** What is shown moves on by itself: nobody holds it or looks for a moment. */
  get moving(): boolean {
    return this.position === undefined || this.playing;
  }

  /** How fast that clock runs; 0 while it stands. */
  rate(): number {
    return this.position === undefined ? this.#live.rate() : this.playing ? this.speed : 0;
  }

  /** Goes to a position; at the end of a match that goes on nothing is held back any more. */
  seek(position: number): void {
    const { recording, growing } = this.#source();
    const to = Math.max(1, position);
    if (to > recording.length || (to === recording.length && (!growing || this.playing))) return this.leave();
    this.position = to;
    this.#offset = recording.offset(to);
    this.#time = recording.timeAt(this.#offset);
  }

  /** To the end of what is known: the result, or live. */
  leave(): void {
    this.stop();
    this.position = undefined;
  }

  toggle(): void {
    if (this.playing) return this.stop();
    const { growing } = this.#source();
    if (this.position !== undefined) return this.play();
    if (growing) return this.seek(this.length); // holds what is live
    this.seek(this.recording.chapters[0]?.from ?? 1); // from the beginning
    this.play();
  }

  play(): void {
    this.playing = true;
    this.#last = performance.now();
    this.#frame = requestAnimationFrame(this.#tick);
  }

  readonly stop = (): void => {
    this.playing = false;
    cancelAnimationFrame(this.#frame);
  };

  step(by: number): void {
    this.stop();
    this.seek(this.here + by);
  }

  /** To the beginning of the next round, or of this one, or when it has just begun of the one before. */
  round(by: 1 | -1): void {
    const { chapters } = this.recording;
    const to = by > 0 ? chapters.find((c) => c.from > this.here) : chapters.findLast((c) => c.from < this.here);
    if (to) this.seek(to.from);
    else if (by > 0) this.seek(this.length);
  }

  /** To the beginning of the first round. */
  first(): void {
    this.stop();
    this.seek(this.recording.chapters[0]?.from ?? 1);
  }

  /** To a round as it ended; the newest one is the end of what is known. */
  result(no: number): void {
    this.stop();
    const { growing, recording } = this.#source();
    const chapter = recording.chapters.find((c) => c.no === no);
    if (chapter?.closed && !(growing && chapter === recording.chapters.at(-1))) this.seek(chapter.closed);
    else this.leave();
  }

  /** The next moment at which the match turns; at the end of a match its first one. */
  get next(): Moment | undefined {
    const { growing } = this.#source();
    if (this.position === undefined && growing) return undefined;
    return this.moments.find((m) => m.position > (this.position ?? 0));
  }

  moment(): void {
    if (this.next) this.seek(this.next.position);
  }

  readonly #tick = (at: number): void => {
    if (!this.playing) return;
    const { recording } = this.#source();
    this.#offset += Math.min(FRAME_MS, Math.max(0, at - this.#last)) * this.speed;
    this.#last = at;
    const position = recording.positionAt(this.#offset);
    if (position >= recording.length) return this.leave();
    if (position !== this.position) this.position = position;
    const time = recording.timeAt(this.#offset);
    if (Math.abs(time - this.#time) >= 50) this.#time = time;
    this.#frame = requestAnimationFrame(this.#tick);
  };
}
