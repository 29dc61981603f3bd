import { getContext, setContext } from 'svelte';
import { fastNow } from '../now.svelte';

// The clock of the match that is shown: the server's, or that of a replay.

export interface MatchTime {
  /** Milliseconds since 1970; follows it where it is read. */
  now(): number;
  /** How fast it runs: 1 is real time, 0 stands still. */
  rate(): number;
}

const KEY = Symbol('match time');
/** The clock of a match that is shown while it runs, so many milliseconds late. */
export const liveTime = (delayMs: () => number): MatchTime => ({ now: () => fastNow() - delayMs(), rate: () => 1 });
const live = liveTime(() => 0);

export const setMatchTime = (time: MatchTime): MatchTime => setContext(KEY, time);
export const matchTime = (): MatchTime => getContext<MatchTime | undefined>(KEY) ?? live;
