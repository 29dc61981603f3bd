import { store, stored } from '../storage';
import type { Round } from './state';

// What the reader would have answered, kept in this browser for a day, and how often
// the reader and the agents were right in the rounds that the reader answered.

export interface Guesses {
  /** When the first guess was made; the score starts over a day later. */
  readonly since: number;
  readonly right: number;
  readonly of: number;
  readonly agentsRight: number;
  readonly agentsOf: number;
  /** By match and round. */
  readonly made: Readonly<Record<string, { readonly letter: string; readonly judged?: true }>>;
}

const KEY = 'arena.guesses';
export const DAY_MS = 24 * 3_600_000;

const none: Guesses = { since: 0, right: 0, of: 0, agentsRight: 0, agentsOf: 0, made: {} };

export const keyOf = (match: string, round: number): string => `${match} ${round}`;

/** The letter of an option by its place. */
export const letterOf = (i: number): string => String.fromCharCode(65 + i);

/** The letter of the right answer of a closed round; undefined where none is known. */
export function rightLetter(round: Pick<Round, 'correct' | 'task'>): string | undefined {
  const at = round.correct === undefined ? -1 : (round.task.options ?? []).indexOf(round.correct);
  return at < 0 ? undefined : letterOf(at);
}

/** What the browser kept; nothing if it is older than a day or not ours. */
export function read(now: number): Guesses {
  try {
    const kept = { ...none, ...(JSON.parse(stored(KEY) ?? '') as Partial<Guesses>) };
    const numbers = [kept.since, kept.right, kept.of, kept.agentsRight, kept.agentsOf].every((n) => Number.isFinite(n));
    if (numbers && typeof kept.made === 'object' && now - kept.since < DAY_MS) return kept;
  } catch {
    // Nothing yet.
  }
  return none;
}

function keep(g: Guesses): Guesses {
  store(KEY, JSON.stringify(g));
  return g;
}

/** Adds a guess; the first one of a round stays. */
export function guessed(g: Guesses, key: string, letter: string, now: number): Guesses {
  if (key in g.made) return g;
  return keep({ ...g, since: g.since || now, made: { ...g.made, [key]: { letter } } });
}

/** Counts the guess on a closed round, once. A round without a right answer counts for nobody. */
export function judged(g: Guesses, key: string, round: Pick<Round, 'correct' | 'task' | 'lanes'>): Guesses {
  const guess = g.made[key];
  if (!guess || guess.judged) return g;
  const { letter } = guess;
  const right = rightLetter(round);
  const made = { ...g.made, [key]: { letter, judged: true as const } };
  if (right === undefined) return keep({ ...g, made });
  const lanes = Object.values(round.lanes);
  return keep({
    ...g,
    made,
    right: g.right + Number(letter === right),
    of: g.of + 1,
    agentsRight: g.agentsRight + lanes.filter((l) => (l.points ?? 0) >= 1).length,
    agentsOf: g.agentsOf + lanes.length,
  });
}
