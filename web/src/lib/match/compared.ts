import type { Outcome } from '../api/contract';
import type { MatchState, Seat } from './state';

// What the ratings of a duel compare: the rounds that counted for both sides
// (docs/rules.md, section 7).

/** Outcomes with which a round counts for its seat. */
const COUNTED: ReadonlySet<Outcome | undefined> = new Set<Outcome>(['answered', 'timeout', 'error', 'invalid']);

export interface WonAndFell {
  readonly winner: Seat;
  /** Rounds that counted for one side only. */
  readonly leftOut: number;
  /** How the winner stood in the rounds that counted for both. */
  readonly stood: 'behind' | 'level' | 'ahead';
}

/** Why the winner of a duel lost rating; undefined when it did not. */
export function wonAndFell(m: MatchState): WonAndFell | undefined {
  const [winner, ...more] = m.order.map((id) => m.seats[id]).filter((s) => s?.place === 1);
  const other = m.order.find((id) => id !== winner?.id);
  if (m.status !== 'finished' || m.order.length !== 2 || !winner || more.length || !other || !((winner.ratingDelta ?? 0) < 0))
    return undefined;
  let [leftOut, common, lead] = [0, 0, 0];
  for (const round of m.rounds) {
    const [mine, theirs] = [round.lanes[winner.id], round.lanes[other]];
    const [one, two] = [COUNTED.has(mine?.outcome), COUNTED.has(theirs?.outcome)];
    if (one !== two) leftOut++;
    if (!one || !two) continue;
    common++;
    lead += Math.round(1000 * (mine?.points ?? 0)) - Math.round(1000 * (theirs?.points ?? 0)); // exact in thousandths
  }
  return common ? { winner, leftOut, stood: lead < 0 ? 'behind' : lead > 0 ? 'ahead' : 'level' } : undefined;
}
