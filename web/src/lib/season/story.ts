import type { Pairing, TableRow, WholeSeason } from '../api/contract';
import { hasBracket, isTournament } from './season';

// The story of a finished season: who won it and its best moments, from its
// table and pairings alone. Pure.

export type MomentKind = 'final' | 'unbeaten' | 'close' | 'tiebreak' | 'streak' | 'climb';

/** One moment. Which fields it has depends on its kind. */
export interface SeasonMoment {
  readonly kind: MomentKind;
  /** Whose moment it is. */
  readonly agent: string;
  readonly name: string;
  readonly other?: string;
  readonly match?: string;
  /** final: how it ended for the winner of the season. */
  readonly score?: number;
  /** streak: wins. close: points between the first two. */
  readonly n?: number;
  /** climb: the seed, 1 for the highest rating, and the final rank. */
  readonly from?: number;
  readonly to?: number;
}

export interface SeasonStory {
  /** The row of the winner; of equals the first. */
  readonly winner: TableRow;
  /** How many share the first place. */
  readonly shared: number;
  readonly entrants: number;
  readonly matches: number;
  readonly moments: readonly SeasonMoment[];
}

/** Fewer wins in a row are no streak. */
const STREAK = 3;
/** Fewer places are no climb. */
const CLIMB = 3;
/** Points between the first two of a close finish, at most. */
const CLOSE = 1;

interface Meeting {
  readonly pairing: Pairing;
  /** The sides, the better one first. */
  readonly sides: readonly [Side, Side];
}

interface Side {
  readonly id: string;
  readonly name: string;
  readonly score: number;
}

/** The story of a season; undefined while it runs, and where it had no result. */
export function storyOf(s: WholeSeason): SeasonStory | undefined {
  const [winner, second] = s.table;
  if (s.status !== 'finished' || s.frozen || !winner) return undefined;
  const played = s.rounds.flatMap((r) => r.pairings).filter((p) => p.result === 'played');
  const meetings = played.flatMap(meetingOf);
  const shared = s.table.filter((r) => r.rank === winner.rank).length;
  const moments = [
    ...(shared === 1 ? [final(meetings, winner), unbeaten(winner), finish(s, winner, second)] : []),
    streak(meetings),
    climb(s),
  ].filter((m) => m !== undefined);
  return { winner, shared, entrants: s.entrants.length, matches: played.length, moments };
}

function meetingOf(pairing: Pairing): Meeting[] {
  const [a, b] = pairing.agents.map((x) => ({ id: x.agent_id, name: x.name, score: x.score ?? 0 }));
  if (!a || !b || pairing.agents.length !== 2) return [];
  return [{ pairing, sides: a.score >= b.score ? [a, b] : [b, a] }];
}

/** The last match of the winner. */
function final(meetings: readonly Meeting[], winner: TableRow): SeasonMoment | undefined {
  const last = meetings.findLast((m) => m.sides.some((x) => x.id === winner.agent_id));
  const own = last?.sides.find((x) => x.id === winner.agent_id);
  const other = last?.sides.find((x) => x.id !== winner.agent_id);
  if (!last || !own || !other) return undefined;
  return { kind: 'final', agent: own.id, name: own.name, other: other.name, score: own.score, ...link(last) };
}

function unbeaten(winner: TableRow): SeasonMoment | undefined {
  if (winner.losses || winner.wins + winner.draws < STREAK) return undefined;
  return { kind: 'unbeaten', agent: winner.agent_id, name: winner.name };
}

/** How narrow the win was. A bracket has no points to compare. */
function finish(s: WholeSeason, first: TableRow, second: TableRow | undefined): SeasonMoment | undefined {
  if (!second || hasBracket(s.format) || !isTournament(s.format)) return undefined;
  const n = first.score - second.score;
  if (n > CLOSE || n < 0) return undefined;
  return { kind: n === 0 ? 'tiebreak' : 'close', agent: first.agent_id, name: first.name, other: second.name, n };
}

/** The most wins in a row. Of equals the first to reach them. */
function streak(meetings: readonly Meeting[]): SeasonMoment | undefined {
  const now = new Map<string, number>();
  let best: SeasonMoment | undefined;
  for (const m of meetings) {
    const [won, lost] = m.sides;
    now.set(lost.id, 0);
    if (won.score === lost.score) now.set(won.id, 0);
    else {
      const n = (now.get(won.id) ?? 0) + 1;
      now.set(won.id, n);
      if (n > (best?.n ?? STREAK - 1)) best = { kind: 'streak', agent: won.id, name: won.name, n, ...link(m) };
    }
  }
  return best;
}

/** The agent that finished most places above its seed. */
function climb(s: WholeSeason): SeasonMoment | undefined {
  const seeds = new Map([...s.entrants].sort((a, b) => b.rating - a.rating).map((e, i) => [e.agent_id, i + 1]));
  let best: SeasonMoment | undefined;
  for (const r of s.table) {
    const from = seeds.get(r.agent_id) ?? r.rank;
    const places = from - r.rank;
    if (places >= CLIMB && places > (best ? best.from! - best.to! : 0))
      best = { kind: 'climb', agent: r.agent_id, name: r.name, from, to: r.rank };
  }
  return best;
}

const link = (m: Meeting): { match?: string } => (m.pairing.match_id ? { match: m.pairing.match_id } : {});
