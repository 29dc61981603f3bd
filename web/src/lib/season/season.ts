import { formatOf } from '../catalog';
import type { League, LeagueRound, List, Pairing, Season, TableRow, WholeSeason } from '../api/contract';

// A season in the terms of its page.

/** The games of one board of a round: a meeting, however often it was played. */
export interface Board {
  readonly slot: number;
  readonly games: readonly Pairing[];
  /** The game that counts, or is to be played. */
  readonly last: Pairing;
}

export function boardsOf(round: LeagueRound): Board[] {
  const slots = [...new Set(round.pairings.map((p) => p.slot))].sort((a, b) => a - b);
  return slots.flatMap((slot) => {
    const games = round.pairings.filter((p) => p.slot === slot).sort((a, b) => a.game - b.game);
    const last = games[games.length - 1];
    return last ? [{ slot, games, last }] : [];
  });
}

/** How many pairings of the newest round wait for their result. */
export function openIn(s: WholeSeason): number {
  return s.rounds[s.rounds.length - 1]?.pairings.filter((p) => !p.result).length ?? 0;
}

/** How many rounds a running season will have, where that is certain. */
export function roundsAhead(s: WholeSeason, league: League): number | undefined {
  const n = s.entrants.filter((e) => e.round <= 1).length;
  const o = league.format_options;
  if (s.status !== 'running' || n < 2) return undefined;
  switch (s.format) {
    case 'round_robin':
      return (n + (n % 2) - 1) * (o?.double ? 2 : 1);
    case 'knockout':
      return Math.ceil(Math.log2(n));
    default:
      return (formatOf(s.format)?.options.includes('rounds') && o?.rounds) || undefined;
  }
}

/** The names of the tie-breaks of a table, in the order in which they decide. */
export const tieBreaksOf = (table: readonly TableRow[]): string[] =>
  (table.find((r) => r.tie_breaks?.length)?.tie_breaks ?? []).map((t) => t.name);

/** Formats whose rounds are a tree. */
export const hasBracket = (format: string): boolean => !!formatOf(format)?.bracket;

/** Formats that are seasons first and ratings second. */
export const isTournament = (format: string): boolean => !!formatOf(format)?.table;

/** The places of a podium: up to three rows, equals included while they fit. */
export const podiumOf = (rows: readonly TableRow[]): TableRow[] => rows.filter((r) => r.rank <= 3).slice(0, 3);

/** The newest part of a list of seasons, read again, joined to what was known of older ones; without them when there is a gap between. */
export function renewed(known: List<Season> | undefined, fresh: List<Season>): List<Season> {
  const last = fresh.items[fresh.items.length - 1];
  if (!known || !last || !known.items.some((s) => s.season === last.season)) return fresh;
  const older = known.items.filter((s) => s.season < last.season);
  return older.length ? { items: [...fresh.items, ...older], next_cursor: known.next_cursor } : fresh;
}

/** A list of seasons with its next part. */
export const longer = (known: List<Season>, part: List<Season>): List<Season> => ({
  items: [...known.items, ...part.items],
  next_cursor: part.next_cursor,
});
