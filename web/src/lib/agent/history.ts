import type { RatingPoint, RightShare } from '../api/contract';
import { FRESH_MATCHES, halfWidth, K, startVariance, TOP_ELO, varianceAfter, VERSION_MATCHES } from '../rating';

// What a rating graph shows beside the rating.

/**
 * Half the width of the 95 % interval at each point, in Elo: the spread of a rating, widened by declared versions.
 * first is the number of the first point's match, 1-based.
 */
export function band(points: readonly RatingPoint[], first: number): number[] {
  let variance = startVariance;
  let fresh: number = FRESH_MATCHES;
  const step = (k: number) => (variance = varianceAfter(variance, k));
  const pace = (rating: number) => (fresh-- > 0 ? K.fresh : rating >= TOP_ELO ? K.top : K.settled);
  for (let n = 1; n < first; n++) step(pace(0)); // matches before what is shown
  return points.map((p, i) => {
    if (i > 0 && p.version && p.version !== points[i - 1]?.version) fresh = Math.max(fresh, VERSION_MATCHES);
    step(pace(p.rating));
    return halfWidth(variance);
  });
}

/** A version of an agent, as far as a graph knows it. */
export interface Version {
  readonly version: string;
  /** Of its first match that is known. */
  readonly since: string;
  /** Index of that match's point. */
  readonly from: number;
  readonly matches: number;
  /** Elo won or lost with it. */
  readonly delta: number;
}

/** The versions of a graph, oldest first. One that comes back is another entry. */
export function versionsOf(points: readonly RatingPoint[]): Version[] {
  const versions: { version: string; since: string; from: number; matches: number; delta: number }[] = [];
  for (const [from, p] of points.entries()) {
    const version = p.version ?? '';
    if (versions.at(-1)?.version !== version) versions.push({ version, since: p.at, from, matches: 0, delta: 0 });
    const now = versions.at(-1)!;
    now.matches++;
    now.delta += p.delta;
  }
  return versions;
}

/** How much more often a version is right than an older one, with the 95 % interval of the difference (Newcombe's, of two Wilson intervals). */
export interface Difference {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly verdict: 'better' | 'worse' | 'too_few';
  /** How many more answers of the newer version tell a difference of TOLD; undefined: the older one has too few for that. */
  readonly needed: number | undefined;
}

/** A difference in the share of right answers that is worth telling: 50 Elo between two agents that answer the same questions. */
export const TOLD = 0.143;
/** Both sides of 5 %, and a power of 80 %, in standard errors. */
const TELLING = 1.96 + 0.842;

export function difference(newer: RightShare, older: RightShare): Difference {
  const mean = newer.share - older.share;
  const low = mean - Math.hypot(newer.share - newer.low, older.high - older.share);
  const high = mean + Math.hypot(newer.high - newer.share, older.share - older.low);
  const variance = (p: number) => Math.max(p * (1 - p), 0.05);
  const left = (TOLD / TELLING) ** 2 - variance(older.share) / older.answered;
  const needed = left > 0 ? Math.max(0, Math.ceil(variance(newer.share) / left) - newer.answered) : undefined;
  return { mean, low, high, verdict: low > 0 ? 'better' : high < 0 ? 'worse' : 'too_few', needed };
}

/** A day of health checks. */
export interface Day {
  /** UTC, 2026-01-31. */
  readonly day: string;
  readonly ok: number;
  readonly failed: number;
}

/** The last so many days up to today, oldest first; a day without a check has none. */
export function lastDays(known: readonly Day[], days: number, now: number): Day[] {
  const by = new Map(known.map((d) => [d.day, d]));
  return Array.from({ length: days }, (_, i) => {
    const day = new Date(now - (days - 1 - i) * 86_400_000).toISOString().slice(0, 10);
    return by.get(day) ?? { day, ok: 0, failed: 0 };
  });
}
