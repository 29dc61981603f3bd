import type { ArenaEvent } from '../api/contract';
import { snapshotOf, type Turn } from './place';

// The events of a round of a game, read into its turn.

type Of<T extends ArenaEvent['type']> = Extract<ArenaEvent, { type: T }>;

/** The turn that a round opens; undefined for a round that is none of a game. */
export function openTurn(e: Of<'round_started'>): Turn | undefined {
  const opened = snapshotOf(e.state);
  if (!opened) return undefined;
  return {
    opened,
    toAct: e.seats_to_act ?? [],
    banks: Object.fromEntries((e.time_banks ?? []).map((b) => [b.agent_id, b.seconds])),
    moves: [],
  };
}

/** The turn after its moves. */
export function closedTurn(turn: Turn, e: Of<'round_closed'>): Turn {
  const closed = snapshotOf(e.state);
  return { ...turn, moves: e.moves ?? [], ...(closed ? { closed } : {}) };
}
