import { rating } from './api/catalog.json';

// What a rating says (docs/rules.md, section 7): the score that it promises
// against another one, and how far it can be from the strength behind it.

/** Every agent starts here in every league. */
export const START_ELO = rating.start;

/** The difference at which ten games are won for one that is lost. */
export const SCALE = rating.scale;

export const K = { fresh: rating.k_provisional, settled: rating.k, top: rating.k_top } as const;
/** From this rating on K is K.top. */
export const TOP_ELO = rating.top;
/** Matches with K.fresh: the first ones, and those after a new version. */
export const FRESH_MATCHES = rating.provisional_matches;
export const VERSION_MATCHES = rating.new_version_matches;
/** What a rank needs: rated matches, and groups of owners among the opponents. */
export const RANKED = { matches: rating.ranked_matches, groups: rating.ranked_groups } as const;
/** The standard deviation of strengths before the first match. */
const PRIOR_ELO = 200;
/** 95 % of a normal distribution lie within so many standard deviations. */
const Z95 = 1.96;

export const startVariance = PRIOR_ELO ** 2;

/**
 * The variance of a rating's error after one more match. Between equals a match moves a rating by ±K/2 at random and removes
 * the share K·ln 10/(4 · scale) of its error.
 */
export function varianceAfter(variance: number, k: number): number {
  const kept = 1 - (k * Math.LN10) / (4 * SCALE);
  return kept * kept * variance + (k * k) / 4;
}

/** Half the width of the 95 % interval of a variance. */
export const halfWidth = (variance: number): number => Z95 * Math.sqrt(variance);

/** From here on the spread changes by less than a tenth of a point. */
const LEVEL = 300;

/** The ± of a rating after so many rated matches, in Elo: half the width of its 95 % interval. */
export function spread(matches: number): number {
  let variance = startVariance;
  for (let n = 0; n < Math.min(matches, LEVEL); n++) variance = varianceAfter(variance, n < FRESH_MATCHES ? K.fresh : K.settled);
  return halfWidth(variance);
}

/** The expected score of a rating against another one, 0 to 1. */
export const expected = (own: number, other: number): number => 1 / (1 + 10 ** ((other - own) / SCALE));

/** A rating as it was before a match. */
export interface Before {
  readonly id: string;
  readonly rating: number;
  /** Rated matches behind it; absent: not known, and taken for many. */
  readonly matches?: number;
}

/** The ratings before a match of those whose rating it changed. */
export const ratingsBefore = (changes: readonly { agent_id: string; rating_before: number; matches?: number }[]): Before[] =>
  changes.map((c) => ({ id: c.agent_id, rating: c.rating_before, ...(c.matches === undefined ? {} : { matches: c.matches - 1 }) }));

/**
 * The expected score of the sole winner among its opponents, where its win was a surprise: it was rated lower by more than the
 * error of the ratings (95 %), with several opponents by the difference that their mean score stands for.
 */
export function surprise(winner: string, ratings: readonly Before[]): number | undefined {
  const own = ratings.find((r) => r.id === winner);
  const others = ratings.filter((r) => r.id !== winner);
  if (!own || !others.length) return undefined;
  const mean = (of: (r: Before) => number) => others.reduce((sum, o) => sum + of(o), 0) / others.length;
  const error = (r: Before) => spread(r.matches ?? LEVEL) ** 2;
  const score = mean((o) => expected(own.rating, o.rating));
  return SCALE * Math.log10(1 / score - 1) > Math.sqrt(error(own) + mean(error)) ? score : undefined;
}
