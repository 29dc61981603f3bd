import type { Comparison, ComparedPart } from '../api/contract';
import type { Params, PluralKey, Key } from '../i18n';

// Whether one agent beats another, in a sentence and as a band. Pure.

/** Elo at the ends of a drawn interval. */
export const AXIS = 400;

export interface Band {
  /** In percent of the width: the left end is the first agent's. */
  readonly left: number;
  readonly width: number;
  readonly mean: number;
}

/** Where an interval lies between the two agents; undefined without results. */
export function bandOf({ mean, low, high }: Comparison['elo']): Band | undefined {
  if (mean === null) return undefined;
  const at = (elo: number | null, beyond: number) => 50 - (50 * Math.max(-AXIS, Math.min(AXIS, elo ?? beyond))) / AXIS;
  const left = at(high, AXIS);
  return { left, width: at(low, -AXIS) - left, mean: at(mean, 0) };
}

export interface Sentence {
  /** With a number of things, base of the forms of a text; else a text. */
  readonly key: Key | PluralKey;
  readonly params: Params;
  readonly n?: number;
}

/** What a comparison of two agents says, for t, or for tn if it has a number of things. */
export function sentenceOf(c: Comparison, a: string, b: string, league: string, percent: (share: number) => string): Sentence {
  const decided = c.won + c.lost;
  const say = (key: Key, params: Params = {}): Sentence => ({ key, params: { league, ...params } });
  if (c.verdict !== 'too_few') {
    const [winner, loser, won] = c.verdict === 'better' ? [a, b, c.won] : [b, a, c.lost];
    return say(`compare.beats.${c.unit}`, { a: winner, b: loser, share: percent(won / decided), n: decided });
  }
  if (c.reason === 'frozen') return say('compare.frozen');
  if (c.reason === 'no_matches') return say('compare.never');
  if (c.reason === 'few_tasks') return say('compare.tasks', { n: c.tasks });
  if (c.reason === 'all_even') return say(`compare.even.${c.unit}`, { n: c.even });
  if (!c.needed.matches) return say('compare.close', { n: c.matches });
  return { key: 'compare.few', params: { league }, n: c.needed.matches };
}

/** Whom a part favors, if it does. */
export const betterIn = (part: ComparedPart, a: string, b: string): string | undefined =>
  part.verdict === 'better' ? a : part.verdict === 'worse' ? b : undefined;
