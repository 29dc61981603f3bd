import { verdict, type MatchState, type Round } from '../match/state';

// What the rules of the commentary ask of closed rounds. Pure: everything comes
// from rounds that are closed in the state, so nothing that is still sealed or
// still to come has an effect.

/** A closed round that was judged, and how the match stood before and after it. */
export interface Facts {
  readonly round: Round;
  /** Agents with an outcome, in seat order. */
  readonly played: readonly string[];
  readonly right: readonly string[];
  readonly late: readonly string[];
  readonly before: ReadonlyMap<string, number>;
  readonly after: ReadonlyMap<string, number>;
  /** Agents that dropped out in this round. */
  readonly out: readonly string[];
  /** Agents still in after it. */
  readonly left: readonly string[];
  /** Points that each agent got in the round. */
  readonly gained: ReadonlyMap<string, number>;
  /** Right answers in a row up to this round, by agent. */
  readonly streaks: ReadonlyMap<string, number>;
  /** The only agent with the most points after the round. */
  readonly leader: string | undefined;
  /** Agents that led alone after an earlier round, the last one at the end. */
  readonly led: readonly string[];
}

/** The facts of the judged rounds up to a round, in order. */
export function factsOf(m: MatchState, upTo: number): Facts[] {
  const all: Facts[] = [];
  for (const round of m.rounds) {
    if (round.no > upTo || !round.closedAt || (round.debate && !round.debate.closes)) continue;
    all.push(next(m, round, all.at(-1)));
  }
  return all;
}

function next(m: MatchState, round: Round, last: Facts | undefined): Facts {
  const before = last?.after ?? new Map(m.order.map((id) => [id, 0]));
  const after = new Map(before);
  const states = new Map(round.standings.map((s) => [s.agent_id, s.state]));
  for (const s of round.standings) after.set(s.agent_id, s.points);
  const wasIn = last?.left ?? m.order;
  const lane = (id: string) => round.lanes[id];
  const played = m.order.filter((id) => lane(id)?.outcome !== undefined && lane(id)?.outcome !== 'unavailable');
  const right = played.filter((id) => verdict(round, lane(id)!) === 'right');
  const streaks = new Map(right.map((id) => [id, (last?.streaks.get(id) ?? 0) + 1]));
  return {
    round,
    played,
    right,
    before,
    after,
    streaks,
    late: played.filter((id) => lane(id)?.outcome === 'timeout'),
    gained: new Map(played.map((id) => [id, lane(id)?.points ?? 0])),
    out: wasIn.filter((id) => states.get(id) === 'out'),
    left: wasIn.filter((id) => (states.get(id) ?? 'active') === 'active'),
    leader: leaderOf(after),
    led: last?.leader ? [...last.led.filter((id) => id !== last.leader), last.leader] : (last?.led ?? []),
  };
}

/** The only agent with the most points. */
export function leaderOf(points: ReadonlyMap<string, number>): string | undefined {
  const most = Math.max(...points.values());
  const first = [...points].filter(([, p]) => p === most);
  return first.length === 1 ? first[0]![0] : undefined;
}

/** How far the first of two seats was behind the other at most, after the rounds. */
export const deficit = (facts: readonly Facts[], id: string, other: string): number =>
  Math.max(0, ...facts.map((f) => (f.after.get(other) ?? 0) - (f.after.get(id) ?? 0)));
