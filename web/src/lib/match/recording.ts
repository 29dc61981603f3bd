import type { ArenaEvent } from '../api/contract';
import { lockInsOf } from './activity';
import { applyEvent } from './apply';
import { isTurn, type Turn } from './moments';
import { lastRound, type MatchState } from './state';

// A match's log that can be played and scrubbed. A position counts events: 0 is
// before the first one, length is the newest. A snapshot is kept every EVERY
// events, so that any other state is a few steps of the reducer away.
//
// Beside the server's times there is the playback time, in milliseconds from the
// first event. Within a round it advances as the server's time does, with a beat
// before the reveal; between rounds it shortens long gaps, and every result stays
// visible for a while.

const EVERY = 128;

/** The longest pause of the playback after an event outside of an open round. */
const PAUSE_MS = 3_000;
/** The shortest pause after a closed round. */
const RESULT_MS = 1_500;

/** The shortest time between the last answer of a round and what tells who was right. */
export const BEAT_MS = 900;

/** A round's place in the log. */
export interface Chapter {
  readonly no: number;
  /** The position after its first event. */
  readonly from: number;
  /** The position after it has closed; 0 while it is open. */
  closed: number;
}

/** The recording of a match that may still grow: its events, and its state at every position. */
export class Recording {
  readonly #snapshots: MatchState[];
  readonly #events: ArenaEvent[] = [];
  readonly #offsets: number[] = [0];
  readonly #times: number[] = [];
  /** The position at which all answers of the newest judged round were in. */
  #allIn = 0;
  readonly chapters: Chapter[] = [];
  readonly turns: Turn[] = [];
  #head: MatchState;
  #open = false;
  /** The state asked for last: playing forward goes on from it. */
  #near: { position: number; state: MatchState };

  constructor(start: MatchState) {
    this.#snapshots = [start];
    this.#head = start;
    this.#near = { position: 0, state: start };
  }

  get length(): number {
    return this.#events.length;
  }

  /** The state after everything that came in. */
  get head(): MatchState {
    return this.#head;
  }

  push(events: readonly ArenaEvent[]): void {
    for (const e of events) this.#push(e);
  }

  #push(e: ArenaEvent): void {
    const before = this.#head;
    this.#head = applyEvent(before, e);
    if (this.#head.seq === before.seq) return; // seen before, or without a number: not part of the log
    const last = this.#events.at(-1);
    // The server's clock may be set back; playback time never runs backwards.
    const at = Math.max(Date.parse(e.ts) || 0, this.#times.at(-1) ?? 0);
    const gap = last ? at - this.#times.at(-1)! : 0;
    const reveals = (e.type === 'reveal' || e.type === 'round_closed') && isAllIn(before);
    if (reveals) this.#allIn = this.length;
    const pause = reveals
      ? Math.max(BEAT_MS, gap)
      : last?.type === 'round_closed'
        ? Math.max(RESULT_MS, Math.min(gap, PAUSE_MS))
        : this.#open
          ? gap
          : Math.min(gap, PAUSE_MS);
    this.#offsets.push(this.#offsets.at(-1)! + pause);
    this.#times.push(at);
    this.#events.push(e);
    this.#track(e);
    if (isTurn(e)) this.turns.push({ position: this.length, event: e });
    if (this.length % EVERY === 0) this.#snapshots.push(this.#head);
  }

  #track(e: ArenaEvent): void {
    const chapter = this.chapters.at(-1);
    if (e.type === 'round_started') {
      this.#open = true;
      const no = e.round ?? this.chapters.length + 1;
      if (chapter?.no !== no) this.chapters.push({ no, from: this.length, closed: 0 }); // else it goes on after an interruption
    } else if (e.type === 'round_closed') {
      this.#open = false;
      if (chapter) chapter.closed = this.length;
    }
  }

  /** The state after so many events. */
  at(position: number): MatchState {
    const to = Math.max(0, Math.min(position, this.length));
    if (to === this.length) return this.#head;
    const snapshot = Math.floor(to / EVERY);
    let [from, state] = [snapshot * EVERY, this.#snapshots[snapshot]!];
    if (this.#near.position > from && this.#near.position <= to) ({ position: from, state } = this.#near);
    for (let i = from; i < to; i++) state = applyEvent(state, this.#events[i]!);
    this.#near = { position: to, state };
    return state;
  }

  /** The position that is shown live for a beat after the last answer of a round, at a time of the server. */
  heldAt(now: number): number | undefined {
    const left = (this.#times[this.#allIn - 1] ?? 0) + BEAT_MS - now;
    return left > 0 && left <= BEAT_MS ? this.#allIn : undefined; // times in a file may be in the future
  }

  /** The last event at a position. */
  event(position: number): ArenaEvent | undefined {
    return this.#events[position - 1];
  }

  /** The position after the event with this number, or after the last one before it. */
  positionOf(seq: number): number {
    return below(this.length, (i) => (this.#events[i]!.seq ?? 0) <= seq);
  }

  /** The playback time of a position. */
  offset(position: number): number {
    return this.#offsets[Math.max(0, Math.min(position, this.length))] ?? 0;
  }

  /** The position at a playback time. */
  positionAt(offset: number): number {
    return below(this.length, (i) => this.#offsets[i + 1]! <= offset);
  }

  /** The server's time at a playback time. */
  timeAt(offset: number): number {
    const position = Math.max(1, this.positionAt(offset));
    const time = this.#times[position - 1] ?? 0;
    const next = this.#times[position] ?? time;
    return Math.min(time + Math.max(0, offset - this.offset(position)), next);
  }

  /** Where a position stands in the row of rounds: 2.5 is the middle of the third. */
  place(position: number): number {
    const at = this.chapters.findLastIndex((c) => c.from <= position);
    if (at < 0) return 0;
    const [from, to] = this.#span(at);
    return at + (to > from ? Math.min(1, (this.offset(position) - from) / (to - from)) : 0);
  }

  /** The position at a place in the row of rounds. */
  positionAtPlace(place: number): number {
    const at = Math.min(Math.max(0, Math.floor(place)), this.chapters.length - 1);
    if (at < 0) return this.length;
    if (place >= this.chapters.length) return this.length;
    const [from, to] = this.#span(at);
    return Math.max(this.chapters[at]!.from, this.positionAt(from + (place - at) * (to - from)));
  }

  #span(chapter: number): [number, number] {
    const next = this.chapters[chapter + 1];
    return [this.offset(this.chapters[chapter]!.from), this.offset(next ? next.from : this.length)];
  }
}

/** Whether every seat has answered a round that is about to be judged. A move and a speech before the end of its half are not. */
function isAllIn(m: MatchState): boolean {
  const round = lastRound(m);
  if (!round || round.revealed || round.turn || (round.debate && !round.debate.closes)) return false;
  const locks = lockInsOf(m, round);
  return !!locks && locks.locked.length === locks.total;
}

/** How many of 0 … n-1 come before the first that is not so; those that are so come first. */
function below(n: number, so: (i: number) => boolean): number {
  let [low, high] = [0, n];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (so(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
