import type { Standing } from '../api/contract';
import { FRESH_MATCHES, RANKED } from '../rating';

// The order and the filters of a table of ratings, as they stand in the address. Pure.

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

/** The filters as they stand in the address; '' leaves out nothing. */
export interface BoardFilters {
  /** Part of a name. */
  readonly q: string;
  /** The id of an owner. */
  readonly owner: string;
  /** The protocol, or pull; see protocolOf. */
  readonly protocol: string;
  readonly model: string;
  readonly rating: string;
}

const FILTERS = ['q', 'owner', 'protocol', 'model', 'rating'] as const;
/** established: rated often enough that the rating is not provisional. */
export const RATINGS = ['established', 'provisional'] as const;

export function filtersOf(query: URLSearchParams): BoardFilters {
  const [q = '', owner = '', protocol = '', model = '', rating = ''] = FILTERS.map((name) => query.get(name)?.trim() ?? '');
  return { q, owner, protocol, model, rating: RATINGS.find((r) => r === rating) ?? '' };
}

/** How the arena and an agent reach each other: the protocol, or pull for an AAP agent that fetches its tasks. */
export const protocolOf = (s: Standing): string => (s.pull ? 'pull' : s.protocol);

const fits = (s: Standing, f: BoardFilters): boolean =>
  s.name.toLocaleLowerCase().includes(f.q.toLocaleLowerCase()) &&
  (!f.owner || s.owner_id === f.owner) &&
  (!f.protocol || protocolOf(s) === f.protocol) &&
  (!f.model || s.model === f.model) &&
  (!f.rating || s.provisional === (f.rating === 'provisional'));

/** The values that a table can be filtered by, each with its label. */
export function choices(standings: readonly Standing[]): Record<'owner' | 'protocol' | 'model', ReadonlyMap<string, string>> {
  const of = (value: (s: Standing) => string, label: (s: Standing) => string) =>
    new Map(standings.flatMap((s) => (value(s) ? [[value(s), label(s)] as const] : [])).sort(([, a], [, b]) => a.localeCompare(b)));
  return {
    owner: of(
      (s) => s.owner_id,
      (s) => s.owner_name,
    ),
    protocol: of(protocolOf, protocolOf),
    model: of(
      (s) => s.model ?? '',
      (s) => s.model ?? '',
    ),
  };
}

/** What an agent lacks for a rank, or a ranked one for an established rating. recent: a rated match in the last 30 days. */
export function needs(s: Standing): { of: 'matches' | 'opponents' | 'established'; n: number } | { of: 'recent' } | undefined {
  if (s.built_in) return undefined; // it never has a rank
  if (s.rank) return s.provisional ? { of: 'established', n: FRESH_MATCHES - s.rated_matches } : undefined;
  if (s.rated_matches < RANKED.matches) return { of: 'matches', n: RANKED.matches - s.rated_matches };
  if (s.opponent_groups < RANKED.groups) return { of: 'opponents', n: RANKED.groups - s.opponent_groups };
  return { of: 'recent' };
}

/** The same address with another order or other filters. */
export function tableLink(
  path: string,
  query: URLSearchParams,
  { order, filters = {} }: { order?: Order; filters?: Partial<BoardFilters> },
): string {
  const next = new URLSearchParams(query);
  if (order) {
    next.set('sort', `${order.up === first(order.column) ? '' : '-'}${order.column}`);
    if (next.get('sort') === usual(next)) next.delete('sort');
  }
  for (const name of FILTERS) {
    if (filters[name] !== undefined) next.set(name, filters[name]);
    if (!next.get(name)) next.delete(name);
  }
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

/**
 * By place: the tier, and within it the rating. Those that nothing was tested for follow by rank; one without
 * a rank stands before the first ranked one with a lower rating.
 */
function byPlace(standings: readonly Standing[]): Standing[] {
  const list = standings.filter((s) => s.rank && !s.tier).sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  for (const s of standings.filter((s) => !s.rank && !s.tier).sort((a, b) => b.rating - a.rating)) {
    const below = list.findIndex((other) => other.rating < s.rating);
    list.splice(below < 0 ? list.length : below, 0, s);
  }
  const placed = standings.filter((s) => s.tier).sort((a, b) => (a.tier ?? 0) - (b.tier ?? 0) || b.rating - a.rating);
  return [...placed, ...list];
}

/** The lowest and the highest strength that the intervals of a table reach; undefined: there are none to draw. */
export function scaleOf(standings: readonly Standing[]): { readonly low: number; readonly high: number } | undefined {
  const fits = standings.flatMap((s) => (s.tier && s.fit ? [s.fit] : []));
  return fits.length ? { low: Math.min(...fits.map((f) => f.low)), high: Math.max(...fits.map((f) => f.high)) } : undefined;
}

const compare: Readonly<Record<Exclude<Column, 'rank'>, (a: Standing, b: Standing, results: GameResults) => number>> = {
  agent: (a, b) => a.name.localeCompare(b.name),
  rating: (a, b) => a.rating - b.rating,
  score: (a, b, results) => shareOf(recordOf(a, results)) - shareOf(recordOf(b, results)),
  record: (a, b, results) => shareOf(recordOf(a, results)) - shareOf(recordOf(b, results)),
  matches: (a, b) => a.rated_matches - b.rated_matches,
};

/** The lines of a table. */
export function ordered(
  standings: readonly Standing[],
  { column, up }: Order,
  filters: BoardFilters,
  results: GameResults = 'all',
): Standing[] {
  const list = standings.filter((s) => fits(s, filters));
  const sorted = column === 'rank' ? byPlace(list) : byPlace(list).sort((a, b) => (up ? 1 : -1) * compare[column](a, b, results));
  return column === 'rank' && !up ? sorted.reverse() : sorted;
}
