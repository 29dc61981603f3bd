import type { Match, WholeSeason } from '../api/contract';
import { winChance } from '../match/odds';
import type { Ratings } from '../lobby';
import { START_ELO } from '../rating';
import { boardsOf } from '../season/season';

// Which live match is worth watching next (docs/rules.md, section 5). Pure.

/** How long a result stays before the next match. */
export const RESULT_MS = 8_000;
/** A match stays at least this long before a final may take its place. */
export const STAY_MS = 20_000;
/** An elimination match with at most this many agents left counts as a final. */
export const FEW = 4;
/** Matches that are remembered as seen. */
const SEEN_MAX = 50;

/** What is known besides the matches themselves. */
export interface Known {
  readonly ratings: Ratings;
  /** Ids of matches that are the final of a bracket. */
  readonly finals: ReadonlySet<string>;
  /** Leagues whose ratings compare round by round. */
  readonly byRound: ReadonlySet<string>;
}

export const nothingKnown: Known = { ratings: {}, finals: new Set(), byRound: new Set() };

/** The matches of a season that are the final of its bracket. */
export function finalsOf(s: WholeSeason): string[] {
  const last = s.rounds.at(-1);
  const pairings =
    s.format === 'double_elimination'
      ? s.rounds.flatMap((r) => r.pairings.filter((p) => p.bracket === 'final'))
      : s.format === 'knockout' && last && boardsOf(last).length === 1
        ? last.pairings
        : [];
  return pairings.flatMap((p) => (p.match_id ? [p.match_id] : []));
}

/** Reports whether a match is a final: of a bracket, or an elimination match with few agents left. */
export function isFinal(m: Match, known: Known): boolean {
  if (known.finals.has(m.match_id)) return true;
  const left = m.seats.filter((s) => s.state === 'active').length;
  return m.format === 'elimination' && m.seats.length > FEW && left > 1 && left <= FEW;
}

/**
 * How close a match is, 0 to 1, times the rating of its two leaders, 1 for 1500. The two leaders are the seats with the most
 * points; their win chance counts as close at one half. Rounded to tenths, so that the rules that follow have a say.
 */
export function interest(m: Match, known: Known): number {
  const [a, b] = m.seats.filter((s) => s.state !== 'left').sort((x, y) => y.points - x.points);
  if (!a || !b) return 0;
  const of = (id: string) => known.ratings[m.league]?.[id] ?? START_ELO;
  const [ra, rb] = [of(a.agent_id), of(b.agent_id)];
  const lead = a.points - b.points;
  // Of an open end only the score is known: a lead of one point in two rounds leaves as much open as in a match of as many.
  const total = m.total_rounds ?? 2 * Math.max(1, m.round);
  const left = Math.max(0, total - Math.max(0, m.round - 1)); // the open round counts as left
  const p = winChance({ gap: ra - rb, lead, left, total, byRound: known.byRound.has(m.league) });
  return Math.round(10 * (1 - Math.abs(2 * p - 1)) * ((ra + rb) / (2 * START_ELO))) / 10;
}

/** Live matches in the order in which they are worth watching: finals, then the most interesting, the largest, the youngest. */
export function ranked(live: readonly Match[], known: Known = nothingKnown): Match[] {
  return live
    .filter((m) => m.status === 'running')
    .map((match) => ({ match, final: Number(isFinal(match, known)), interest: interest(match, known) }))
    .sort(
      (a, b) =>
        b.final - a.final ||
        b.interest - a.interest ||
        b.match.seats.length - a.match.seats.length ||
        (b.match.started_at ?? '').localeCompare(a.match.started_at ?? '') ||
        a.match.match_id.localeCompare(b.match.match_id),
    )
    .map((r) => r.match);
}

/** All matches that are on: the live ones as ranked, then those about to start. */
export function ordered(live: readonly Match[], known: Known): Match[] {
  const running = ranked(live, known);
  return [...running, ...live.filter((m) => !running.includes(m))];
}

/** The best live match other than the present one; one that was seen already only if every live match was. */
export function pick(live: readonly Match[], known: Known, seen: readonly string[] = [], present = ''): Match | undefined {
  const open = ranked(live, known).filter((m) => m.match_id !== present);
  return open.find((m) => !seen.includes(m.match_id)) ?? open[0];
}

/** The match that interrupts the present one: a final, once the present match has been on for STAY_MS and is none itself. */
export function interrupts(
  live: readonly Match[],
  known: Known,
  seen: readonly string[],
  present: Match,
  shownMs: number,
): Match | undefined {
  if (shownMs < STAY_MS || isFinal(present, known)) return undefined;
  return ranked(live, known).find((m) => m.match_id !== present.match_id && !seen.includes(m.match_id) && isFinal(m, known));
}

/** Matches seen, the newest last. */
export const withSeen = (seen: readonly string[], id: string): string[] => [...seen.filter((s) => s !== id), id].slice(-SEEN_MAX);

/** Reports whether a key press shows that the reader is busy with the page, as opposed to a shortcut of the browser or Escape. */
export function isReading(e: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>): boolean {
  if (e.ctrlKey || e.metaKey || e.altKey) return false;
  return e.key.length === 1 || /^(Arrow|Page|Home$|End$|Tab$|Enter$|Backspace$|Delete$)/.test(e.key);
}
