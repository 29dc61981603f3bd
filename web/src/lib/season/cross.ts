import type { Pairing, WholeSeason } from '../api/contract';

// Who met whom: one row and one column for each entrant.

/** More than this is no table that one can read. */
export const MOST = 16;

export interface Meeting {
  /** From the row's view; undefined while it is not decided. */
  readonly score?: number;
  readonly forfeit: boolean;
  readonly match?: string;
}

export interface CrossRow {
  readonly id: string;
  readonly name: string;
  /** By column; a row meets itself nowhere. */
  readonly cells: readonly (readonly Meeting[])[];
}

/** A void game that is not played again any more is a draw. */
const GAMES = 3;

/** The crosstable in the order of the table; undefined when there are too few or too many to draw one. */
export function crosstable(s: WholeSeason): CrossRow[] | undefined {
  const names = new Map(s.entrants.map((e) => [e.agent_id, e.name]));
  const ranked = s.table.map((r) => r.agent_id).filter((id) => names.has(id));
  const order = [...ranked, ...[...names.keys()].filter((id) => !ranked.includes(id))];
  if (order.length < 2 || order.length > MOST) return undefined;
  const pairings = s.rounds.flatMap((r) => r.pairings).filter((p) => p.agents.length === 2);
  return order.map((id) => ({
    id,
    name: names.get(id) ?? '',
    cells: order.map((other) => (other === id ? [] : meetings(pairings, id, other))),
  }));
}

function meetings(pairings: readonly Pairing[], id: string, other: string): Meeting[] {
  const found: Meeting[] = [];
  for (const p of pairings) {
    const me = p.agents.findIndex((a) => a.agent_id === id);
    if (me < 0 || p.agents[1 - me]?.agent_id !== other) continue;
    const drawn = p.result === 'void' && p.game >= GAMES;
    if (p.result === 'void' && !drawn) continue;
    const score = drawn ? 0.5 : p.agents[me]?.score;
    found.push({
      forfeit: p.result === 'forfeit',
      ...(score === undefined ? {} : { score }),
      ...(p.match_id ? { match: p.match_id } : {}),
    });
  }
  return found;
}
