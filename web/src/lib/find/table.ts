import type { Standing } from '../api/contract';

// The order and the filter of a table of ratings, as they stand in the address. Pure.

export const COLUMNS = ['rank', 'agent', 'rating', 'score', 'record', 'matches'] as const;
export type Column = (typeof COLUMNS)[number];

export interface Order {
  readonly column: Column;
  readonly up: boolean;
}

/** The order in which a column is sorted first: names from A, figures from the largest. */
const first = (column: Column): boolean => column === 'rank' || column === 'agent';

/** Which games count in a league of games: all, or those that no error ended. */
export const RESULTS = ['all', 'played_out'] as const;
export type GameResults = (typeof RESULTS)[number];

export const resultsOf = (query: URLSearchParams): GameResults => RESULTS.find((r) => r === query.get('results')) ?? 'all';

/** The same address with another choice of games, in the order that comes first there. */
export function resultsLink(path: string, query: URLSearchParams, results: GameResults): string {
  const next = new URLSearchParams(query);
  next.delete('sort');
  if (results === 'all') next.delete('results');
  else next.set('results', results);
  const written = next.toString();
  return written ? `${path}?${written}` : path;
}

/** A table of games that were played out begins with the best score in them. */
const usual = (query: URLSearchParams): Column => (resultsOf(query) === 'played_out' ? 'score' : 'rank');

export function orderOf(query: URLSearchParams): Order {
  const text = query.get('sort') ?? '';
  const column = COLUMNS.find((c) => c === text.replace(/^-/, '')) ?? usual(query);
  return { column, up: text.startsWith('-') ? !first(column) : first(column) };
}

/** The order after a press on a column's head: its own first, then the other way. */
export const pressed = (now: Order, column: Column): Order => ({ column, up: now.column === column ? !now.up : first(column) });

/** The same address with another order or filter. */
export function tableLink(path: string, query: URLSearchParams, { order, text }: { order?: Order; text?: string }): string {
  const next = new URLSearchParams(query);
  if (order) {
    next.set('sort', `${order.up === first(order.column) ? '' : '-'}${order.column}`);
    if (next.get('sort') === usual(next)) next.delete('sort');
  }
  if (text !== undefined) next.set('q', text);
  if (!next.get('q')) next.delete('q');
  const written = next.toString();
  return written ? `${path}?${written}` : path;
}

/** What a table shows as the record of a line: of its games where the league has them, else of its matches. */
export const recordOf = (s: Standing, results: GameResults): { wins: number; draws: number; losses: number } => s.games?.[results] ?? s;

/** The share of a record that was won, a draw counting half; -1: nothing was played. */
export const shareOf = ({ wins, draws, losses }: { wins: number; draws: number; losses: number }): number => {
  const all = wins + draws + losses;
  return all ? (wins + draws / 2) / all : -1;
};

/** By rank; one without a rank stands before the first ranked one with a lower rating. */
function byRank(standings: readonly Standing[]): Standing[] {
  const list = standings.filter((s) => s.rank).sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  for (const s of standings.filter((s) => !s.rank).sort((a, b) => b.rating - a.rating)) {
    const below = list.findIndex((other) => other.rating < s.rating);
    list.splice(below < 0 ? list.length : below, 0, s);
  }
  return list;
}

const compare: Readonly<Record<Exclude<Column, 'rank'>, (a: Standing, b: Standing, results: GameResults) => number>> = {
  agent: (a, b) => a.name.localeCompare(b.name),
  rating: (a, b) => a.rating - b.rating,
  score: (a, b, results) => shareOf(recordOf(a, results)) - shareOf(recordOf(b, results)),
  record: (a, b, results) => shareOf(recordOf(a, results)) - shareOf(recordOf(b, results)),
  matches: (a, b) => a.rated_matches - b.rated_matches,
};

/** The lines of a table. */
export function ordered(standings: readonly Standing[], { column, up }: Order, text = '', results: GameResults = 'all'): Standing[] {
  const wanted = text.trim().toLocaleLowerCase();
  const list = standings.filter((s) => s.name.toLocaleLowerCase().includes(wanted));
  const sorted = column === 'rank' ? byRank(list) : byRank(list).sort((a, b) => (up ? 1 : -1) * compare[column](a, b, results));
  return column === 'rank' && !up ? sorted.reverse() : sorted;
}
