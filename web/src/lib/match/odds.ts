import type { Agent } from '../api/contract';
import { expected, SCALE, START_ELO } from '../rating';
import { isOver, type MatchState, type Round } from './state';

// Who is likely to win a duel: the ratings before the match and the score so
// far (docs/rules.md, section 5).

/** What was known of a seat's rating when the match began. */
export interface Prior {
  readonly rating: number;
  /** Rated matches before this one. */
  readonly matches?: number;
}

export type Priors = Readonly<Record<string, Prior>>;

/**
 * The ratings before a match: those that its result states, else those that the agents have now. An agent without a rating in
 * the league starts at 1500. whole is the match as far as it is known, whatever part of it is shown.
 */
export function priorsOf(whole: MatchState, agents: Readonly<Record<string, Agent>>): Priors {
  const priors: Record<string, Prior> = {};
  for (const id of whole.order) {
    const seat = whole.seats[id];
    if (seat?.ratingBefore !== undefined) {
      priors[id] = { rating: seat.ratingBefore, ...(seat.ratedMatches === undefined ? {} : { matches: seat.ratedMatches - 1 }) };
    } else if (agents[id]) {
      const now = agents[id].ratings[whole.league];
      priors[id] = { rating: now?.rating ?? START_ELO, matches: now?.rated_matches ?? 0 };
    }
  }
  return priors;
}

export interface Score {
  /** The first rating minus the second. */
  readonly gap: number;
  /** The first one's points minus the second one's. */
  readonly lead: number;
  /** Rounds to come, the open one included. */
  readonly left: number;
  readonly total: number;
  /** Ratings compare round by round, not whole matches. */
  readonly byRound?: boolean;
}

/**
 * The win probability of the first of two seats, a draw counted as one half:
 * 1 / (1 + 10^−x) with x = gap/scale · √(left/total) + lead/√left.
 *
 * Where ratings compare round by round, E is the expected score of each round, and x = (lead + left · (2E − 1)) / √left.
 */
export function winChance({ gap, lead, left, total, byRound = false }: Score): number {
  if (Math.abs(lead) > left) return lead > 0 ? 1 : 0; // a round gives at most one point
  if (left <= 0) return 0.5;
  const x = byRound
    ? (lead + left * (2 * expected(gap, 0) - 1)) / Math.sqrt(left)
    : (gap / SCALE) * Math.sqrt(left / Math.max(total, left)) + lead / Math.sqrt(left);
  return 1 / (1 + 10 ** -x);
}

/** How a duel stands. */
export interface Odds {
  /** chance: the win probability. points: the share of the points, where the number of rounds is not known. result: the winner has all. */
  readonly kind: 'chance' | 'points' | 'result';
  /** The first seat's share, 0 to 1; the other one's is the rest. */
  readonly first: number;
}

/** What a duel is decided by: its rounds, the halves of a debate, or games; 0 where their number is open, and for other matches. */
export function spanOf(m: MatchState): number {
  if (m.order.length !== 2) return 0;
  if (m.rounds.some((r) => r.debate)) return 2; // judged once in each half
  return m.rounds.at(-1)?.turn?.opened.place.games ?? m.totalRounds ?? 0;
}

/** The rounds so far that gave points. */
const judgedOf = (m: MatchState): Round[] =>
  m.rounds.filter((r) => r.closedAt && (!r.debate || r.debate.closes) && (!r.turn || r.turn.closed?.place.over));

/** The win probability of the first seat of a duel after so many of its rounds. */
function chanceAfter(m: MatchState, judged: number, lead: number, priors: Priors, byRound: boolean): number {
  const total = spanOf(m);
  const [ra, rb] = m.order.map((id) => priors[id]?.rating);
  const gap = ra === undefined || rb === undefined ? 0 : ra - rb;
  return winChance({ gap, lead, left: Math.max(0, total - judged), total, byRound });
}

/** How a duel stands, as far as it is shown; undefined for other matches, and before the first event. */
export function oddsOf(m: MatchState, priors: Priors, byRound = false): Odds | undefined {
  const [a, b] = m.order.map((id) => m.seats[id]);
  if (!a || !b || m.order.length !== 2 || m.status === 'void' || m.status === 'cancelled' || !m.format) return undefined;
  if (isOver(m)) return { kind: 'result', first: a.place === b.place ? 0.5 : a.place === 1 ? 1 : 0 };
  if (!spanOf(m)) return { kind: 'points', first: a.points + b.points > 0 ? a.points / (a.points + b.points) : 0.5 };
  return { kind: 'chance', first: chanceAfter(m, judgedOf(m).length, a.points - b.points, priors, byRound) };
}

/** The win probability of the first seat after a round; without one, before the first. */
export interface Chance {
  readonly round?: Round;
  readonly first: number;
}

/** How the win probability of a duel changed, as far as it is shown; the last one of a match that is over is its result. */
export function chancesOf(m: MatchState, priors: Priors, byRound = false): readonly Chance[] {
  const now = oddsOf(m, priors, byRound);
  if (!now || !spanOf(m)) return [];
  const judged = judgedOf(m);
  const [a, b] = m.order;
  return [
    { first: chanceAfter(m, 0, 0, priors, byRound) },
    ...judged.map((round, i) => {
      if (i === judged.length - 1) return { round, first: now.first };
      const points = (id: string | undefined) => round.standings.find((s) => s.agent_id === id)?.points ?? 0;
      return { round, first: chanceAfter(m, i + 1, points(a) - points(b), priors, byRound) };
    }),
  ];
}

/** A smaller change is not a swing. */
const SWING = 0.15;
const MOST_SWINGS = 3;

/** Where the chance changed most: indexes of chances, in their order. */
export function swingsOf(chances: readonly Chance[]): readonly number[] {
  const size = (i: number) => Math.abs(chances[i]!.first - chances[i - 1]!.first);
  return chances
    .map((_, i) => i)
    .slice(1)
    .filter((i) => size(i) >= SWING)
    .sort((i, j) => size(j) - size(i))
    .slice(0, MOST_SWINGS)
    .sort((i, j) => i - j);
}

/** A probability as a percentage that is 0 or 100 only where the match is decided. */
export const shownChance = (p: number): number => (p <= 0 || p >= 1 ? p : Math.min(0.99, Math.max(0.01, p)));
