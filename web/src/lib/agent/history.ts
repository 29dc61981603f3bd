import type { RatingPoint } from '../api/contract';

// What a rating graph shows beside the rating.

/** The rules of the rating (docs/rules.md): steps of 40 in the first 30 matches and in 10 after a new version, else of 20, of 10 from 2400 on. */
const K = { fresh: 40, settled: 20, top: 10 } as const;
const FRESH_MATCHES = 30;
const VERSION_MATCHES = 10;
const TOP_ELO = 2400;
/** How far strengths of newcomers lie apart: the standard deviation before the first match. */
const PRIOR_ELO = 200;
/** 95 % of a normal distribution lie within so many standard deviations. */
const Z95 = 1.96;

/**
 * Half the width of the band in which a strength lies in 19 of 20 cases, in Elo, at each point. Between equals a match moves
 * a rating by ±K/2 at random and takes the share K·ln 10/1600 of its error away; the variance of the error follows from both.
 * first is the number of the first point's match, 1-based.
 */
export function band(points: readonly RatingPoint[], first: number): number[] {
  let variance = PRIOR_ELO ** 2;
  let fresh = FRESH_MATCHES;
  const step = (k: number) => {
    const kept = 1 - (k * Math.LN10) / 1600;
    variance = kept * kept * variance + (k * k) / 4;
  };
  const pace = (rating: number) => (fresh-- > 0 ? K.fresh : rating >= TOP_ELO ? K.top : K.settled);
  for (let n = 1; n < first; n++) step(pace(0)); // matches before what is shown
  return points.map((p, i) => {
    if (i > 0 && p.version && p.version !== points[i - 1]?.version) fresh = Math.max(fresh, VERSION_MATCHES);
    step(pace(p.rating));
    return Z95 * Math.sqrt(variance);
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
