import type { ArenaEvent } from '../api/contract';
import { snapshotOf, swingOf, type Place } from '../game/place';

// The moments at which a match turns.

export type MomentKind = 'out' | 'lead' | 'game' | 'swing' | 'upset' | 'last' | 'end';

export interface Moment {
  /** The position after the event that is the moment. */
  readonly position: number;
  readonly kind: MomentKind;
  readonly round: number;
}

/** An event at which a match may turn, and the position after it. */
export interface Turn {
  readonly position: number;
  readonly event: ArenaEvent;
}

/** Few events are turns, however long a log is. */
const TURNS: ReadonlySet<ArenaEvent['type']> = new Set([
  'match_started',
  'round_started',
  'round_closed',
  'agent_left',
  'match_finished',
  'match_void',
]);

export const isTurn = (e: ArenaEvent): boolean => TURNS.has(e.type);

/** A round is an upset when the lowest rated beat the highest rated, and this lies between them. */
const UPSET_ELO = 100;

/** The moments of a log, in order; one for each turn at most, the weightiest. */
export function momentsOf(turns: readonly Turn[]): Moment[] {
  const events = turns.map((t) => t.event);
  const moments: Moment[] = [];
  const [top, bottom] = extremes(events);
  const gone = new Set<string>();
  const last = lastRound(events);
  let leader: string | undefined;
  let place: Place | undefined;
  for (const { position, event: e } of turns) {
    const round = e.round ?? moments.at(-1)?.round ?? 0;
    const add = (kind: MomentKind) => moments.push({ position, kind, round });
    if (e.type === 'match_finished' || e.type === 'match_void') add('end');
    else if (e.type === 'round_started' && e.state !== undefined) place = snapshotOf(e.state)?.place;
    else if (e.type === 'round_started' && round === last && !moments.some((m) => m.kind === 'last')) add('last');
    else if (e.type === 'agent_left') {
      gone.add(e.agent_id ?? '');
      add('out');
    } else if (e.type === 'round_closed') {
      const out = e.standings.filter((s) => s.state !== 'active' && !gone.has(s.agent_id));
      out.forEach((s) => gone.add(s.agent_id));
      const most = Math.max(...e.standings.map((s) => s.points));
      const first = e.standings.filter((s) => s.points === most);
      const now = first.length === 1 ? first[0]!.agent_id : leader;
      const points = new Map(e.seats.map((s) => [s.agent_id, s.points]));
      const after = snapshotOf(e.state)?.place;
      if (out.length) add('out');
      else if (leader && now !== leader) add('lead');
      else if (after?.over) add('game');
      else if (after && swingOf(place, after)) add('swing');
      else if (top && bottom && (points.get(bottom) ?? 0) > (points.get(top) ?? 0)) add('upset');
      leader = now;
    }
  }
  return moments;
}

/** The number of the last round: known from the start, or once the match is over. */
function lastRound(events: readonly ArenaEvent[]): number {
  const started = events.find((e) => e.type === 'match_started');
  if (started?.total_rounds) return started.total_rounds;
  const over = events.at(-1)?.type === 'match_finished';
  return (over && events.findLast((e) => e.type === 'round_started')?.round) || 0;
}

/** The highest and the lowest rated seat, when there is something between them. Known once a rated match is over. */
function extremes(events: readonly ArenaEvent[]): [string | undefined, string | undefined] {
  const end = events.findLast((e) => e.type === 'match_finished');
  const rated = [...(end?.rating_changes ?? [])].sort((a, b) => b.rating_before - a.rating_before);
  const [top, bottom] = [rated[0], rated.at(-1)];
  return top && bottom && top.rating_before - bottom.rating_before >= UPSET_ELO ? [top.agent_id, bottom.agent_id] : [undefined, undefined];
}
