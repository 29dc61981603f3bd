import type { DebateTurn } from '../api/contract';
import type { Lane, MatchState, Round } from './state';

// A debate: the first seat argues for the motion in the first half, the sides
// change at half time, and each half is judged in its last round.

export interface Debate {
  readonly motion: string;
  readonly half: number;
  /** 1-based, within the half. */
  readonly turn: number;
  readonly turns: number;
  /** The agent that argues for the motion. */
  readonly pro: string;
  /** The last turn of the half: it is judged. */
  readonly closes: boolean;
}

export type DebateSide = 'for' | 'against';

export const debateOf = (d: DebateTurn): Debate => ({
  motion: d.motion,
  half: d.half,
  turn: d.turn,
  turns: d.turns,
  pro: d.for,
  closes: d.turn === d.turns,
});

/** The side of an agent. */
export const sideOf = (debate: Debate, id: string): DebateSide => (debate.pro === id ? 'for' : 'against');

export interface Speech {
  readonly round: Round;
  readonly turn: number;
  readonly lane: Lane | undefined;
  readonly text: string | undefined;
}

/** The speeches of a seat in the half of a round, up to that round. */
export function speechesOf(match: MatchState, round: Round, id: string): Speech[] {
  return match.rounds
    .filter((r) => r.no <= round.no && r.debate?.half === round.debate?.half)
    .map((r) => ({ round: r, turn: r.debate?.turn ?? 0, lane: r.lanes[id], text: r.lanes[id]?.answer?.answer }));
}
