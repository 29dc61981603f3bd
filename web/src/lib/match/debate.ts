import type { Lane, MatchState, Round } from './state';

// A debate: the first seat argues for the motion in the first half, the sides
// change at half time, and each half is judged in its last round. The task of
// a round says so in words; nothing else does.

export interface Debate {
  readonly motion: string;
  readonly half: 1 | 2;
  /** 1-based, within the half. */
  readonly turn: number;
  readonly turns: number;
  /** The last turn of the half: it is judged. */
  readonly closes: boolean;
}

export type DebateSide = 'for' | 'against';

const TURN = /^Turn (\d+) of (\d+)\. $/;

/** Reads a round's task; undefined when it is none of a debate between these two. */
export function debateOf(description: string, no: number, names: readonly string[]): Debate | undefined {
  if (names.length !== 2) return undefined;
  for (const half of [1, 2] as const) {
    const [pro, contra] = half === 1 ? names : [names[1], names[0]];
    const sides = `For: ${pro}. Against: ${contra}.`;
    if (!description.endsWith(sides)) continue;
    const rest = description.slice(0, -sides.length);
    const cut = rest.lastIndexOf('\n\n');
    const found = TURN.exec(rest.slice(cut + 2));
    if (cut < 0 || !found) continue;
    const [turn, turns] = [Number(found[1]), Number(found[2])];
    if (no === (half - 1) * turns + turn && turn <= turns) return { motion: rest.slice(0, cut), half, turn, turns, closes: turn === turns };
  }
  return undefined;
}

/** What the seat at this place argues. */
export const sideOf = (debate: Debate, seat: number): DebateSide => ((debate.half === 1) === (seat === 0) ? 'for' : 'against');

export interface Speech {
  readonly round: Round;
  readonly turn: number;
  readonly lane: Lane | undefined;
  readonly text: string | undefined;
}

/** What a seat has said in the half of a round, up to that round. */
export function speechesOf(match: MatchState, round: Round, id: string): Speech[] {
  return match.rounds
    .filter((r) => r.no <= round.no && r.debate?.half === round.debate?.half)
    .map((r) => ({ round: r, turn: r.debate?.turn ?? 0, lane: r.lanes[id], text: r.lanes[id]?.answer?.answer }));
}
