import type { Pairing, WholeSeason } from '../api/contract';

// The tree of a knockout or a double elimination, with what is still to come.
// A column has one round; series k of a column that halves the one before is
// fed by its series 2k-1 and 2k, of a column as long as the one before by
// series k and by one that drops from the winners.

export type SeriesState = 'ahead' | 'open' | 'decided' | 'bye' | 'empty';

export interface Side {
  readonly id: string;
  readonly name: string;
  /** Games won; a draw is half of one. */
  readonly score: number;
  readonly won: boolean;
}

export interface Series {
  readonly slot: number;
  readonly state: SeriesState;
  readonly sides: readonly [Side | undefined, Side | undefined];
  readonly forfeit: boolean;
  /** The match that decides or decided it. */
  readonly match?: string;
}

export interface Column {
  /** Of the season. */
  readonly round: number;
  /** True when it has half as many series as the column before. */
  readonly halves: boolean;
  readonly series: readonly Series[];
}

export interface Branch {
  readonly name: 'knockout' | 'winners' | 'losers' | 'final';
  readonly columns: readonly Column[];
}

interface Plan {
  readonly round: number;
  /** The slot of its first series. */
  readonly from: number;
  readonly count: number;
}

/** The branches to draw, none when there is nobody to meet. bestOf is how many games a series has at most. */
export function bracketOf(s: WholeSeason, bestOf = 1): Branch[] {
  const starters = s.entrants.filter((e) => e.round <= 1).length;
  if (starters < 2) return [];
  let depth = 1;
  while (2 ** depth < starters) depth++;
  const draw = new Draw(s, Math.max(1, bestOf));
  if (s.format === 'knockout') return [{ name: 'knockout', columns: draw.columns(halving(depth)) }];
  const winners = draw.columns(winnersPlan(depth));
  const losers = draw.columns(losersPlan(depth), true);
  const last = (columns: readonly Column[]) => winnerOf(columns[columns.length - 1]?.series[0]);
  const finals = [2 * depth, 2 * depth + 1].filter((round, i) => i === 0 || draw.has(round));
  const fed = [last(winners), losers.length ? last(losers) : undefined] as const;
  return [
    { name: 'winners', columns: winners },
    ...(losers.length ? [{ name: 'losers' as const, columns: losers }] : []),
    { name: 'final', columns: finals.map((round) => ({ round, halves: false, series: [draw.series(round, 1, fed)] })) },
  ];
}

const halving = (depth: number): Plan[] =>
  Array.from({ length: depth }, (_, i) => ({ round: i + 1, from: 1, count: 2 ** (depth - 1 - i) }));

const winnersPlan = (depth: number): Plan[] => halving(depth).map((p, i) => ({ ...p, round: i === 0 ? 1 : 2 * i }));

function losersPlan(depth: number): Plan[] {
  const plans: Plan[] = [];
  for (let i = 1; i < depth; i++) {
    const count = 2 ** (depth - 1 - i);
    plans.push({ round: 2 * i, from: 1 + count, count }, { round: 2 * i + 1, from: 1, count });
  }
  return plans;
}

const winnerOf = (s: Series | undefined): Side | undefined => s?.sides.find((side) => side?.won);

class Draw {
  readonly #games = new Map<string, Pairing[]>();
  readonly #last: number;
  readonly #names: ReadonlyMap<string, string>;
  readonly #bestOf: number;
  /** Of a season that is over. */
  readonly #champion: string | undefined;

  constructor(s: WholeSeason, bestOf: number) {
    this.#bestOf = bestOf;
    this.#champion = s.status === 'finished' ? s.table[0]?.agent_id : undefined;
    this.#names = new Map(s.entrants.map((e) => [e.agent_id, e.name]));
    this.#last = Math.max(0, ...s.rounds.map((r) => r.round));
    for (const r of s.rounds) {
      for (const p of r.pairings) {
        const key = `${r.round}/${p.slot}`;
        this.#games.set(key, [...(this.#games.get(key) ?? []), p]);
      }
    }
  }

  has(round: number): boolean {
    return this.#games.has(`${round}/1`);
  }

  columns(plans: readonly Plan[], drops = false): Column[] {
    const columns: Column[] = [];
    plans.forEach((plan, i) => {
      const before = columns[i - 1];
      const halves = before !== undefined && before.series.length > plan.count;
      const series = Array.from({ length: plan.count }, (_, k) => {
        const fed = !before
          ? []
          : halves
            ? [winnerOf(before.series[2 * k]), winnerOf(before.series[2 * k + 1])]
            : drops
              ? [winnerOf(before.series[k])]
              : [];
        return this.series(plan.round, plan.from + k, fed);
      });
      columns.push({ round: plan.round, halves, series });
    });
    // Who goes on has won, whatever the games say: the better seed wins a series that nobody does.
    return columns.map((column, i) => ({ ...column, series: column.series.map((s, k) => goneOn(s, columns[i + 1], k)) }));
  }

  series(round: number, slot: number, fed: readonly (Side | undefined)[]): Series {
    const games = this.#games.get(`${round}/${slot}`) ?? [];
    const ahead = (side: Side | undefined) => side && { ...side, score: 0, won: false };
    const first = games[0];
    if (!first) {
      const state = round <= this.#last ? 'empty' : 'ahead';
      return { slot, state, sides: state === 'empty' ? [undefined, undefined] : [ahead(fed[0]), ahead(fed[1])], forfeit: false };
    }
    const ids = first.agents.map((a) => a.agent_id).sort((a, b) => place(fed, a) - place(fed, b));
    const won = round === this.#last && this.#champion && ids.includes(this.#champion) ? this.#champion : this.#winner(games, ids);
    const side = (id: string | undefined): Side | undefined =>
      id === undefined
        ? undefined
        : { id, name: this.#names.get(id) ?? '', score: games.reduce((n, g) => n + gain(g, id), 0), won: id === won };
    const match = games.findLast((g) => g.match_id)?.match_id;
    return {
      slot,
      state: first.result === 'bye' ? 'bye' : won ? 'decided' : 'open',
      sides: [side(ids[0]), side(ids[1])],
      forfeit: games.some((g) => g.result === 'forfeit'),
      ...(match ? { match } : {}),
    };
  }

  #winner(games: readonly Pairing[], ids: readonly string[]): string | undefined {
    if (ids.length === 1) return ids[0];
    if (games.some((g) => !g.result)) return undefined;
    const forfeit = games.find((g) => g.result === 'forfeit');
    if (forfeit) return ids.find((id) => gain(forfeit, id) > 0);
    return ids.find((id) => 2 * games.filter((g) => gain(g, id) === 1).length > this.#bestOf);
  }
}

function goneOn(s: Series, next: Column | undefined, k: number): Series {
  if (s.state !== 'open' || !next) return s;
  const fed = next.series[next.halves ? Math.floor(k / 2) : k];
  if (!fed || fed.state === 'ahead' || fed.state === 'empty') return s;
  const on = fed.sides.find((side) => s.sides.some((mine) => mine?.id === side?.id))?.id;
  if (!on) return s;
  const mark = (side: Side | undefined) => side && { ...side, won: side.id === on };
  return { ...s, state: 'decided', sides: [mark(s.sides[0]), mark(s.sides[1])] };
}

/** Whoever comes from the upper series stands above. */
const place = (fed: readonly (Side | undefined)[], id: string): number => (fed[0]?.id === id ? 0 : fed[1]?.id === id ? 2 : 1);

const gain = (p: Pairing, id: string): number => p.agents.find((a) => a.agent_id === id)?.score ?? 0;
