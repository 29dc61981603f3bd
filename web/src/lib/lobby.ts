import type { ArenaEvent, League, Match, MatchSeat, SeatBrief, StandingBrief } from './api/contract';
import { nothingKnown, ordered, type Known } from './next/pick';

// What the lobby and a league's page know of their matches: the lists of the
// API, kept current by the stream's events. Pure.

export interface MatchLists {
  readonly live: readonly Match[];
  readonly next: readonly Match[];
  readonly recent: readonly Match[];
}

export const emptyLists: MatchLists = { live: [], next: [], recent: [] };

/** How many finished matches are kept in sight. */
export const RECENT = 12;

export function listsOf(matches: readonly Match[]): MatchLists {
  return {
    live: matches.filter((m) => m.status === 'running' || m.status === 'ready'),
    next: matches.filter((m) => m.status === 'scheduled').sort((a, b) => a.starts_at.localeCompare(b.starts_at)),
    recent: matches
      .filter((m) => m.status === 'finished' || m.status === 'void')
      .sort((a, b) => (b.finished_at ?? '').localeCompare(a.finished_at ?? ''))
      .slice(0, RECENT),
  };
}

export function applyToLists(lists: MatchLists, e: ArenaEvent): MatchLists {
  const id = e.match_id;
  if (!id) return lists;
  const known = find(lists, id);
  if (known && e.seq !== undefined && e.seq <= known.seq) return lists;
  const next = change(known, id, e);
  return next ? place(lists, e.seq === undefined ? next : { ...next, seq: e.seq }) : lists;
}

function find(lists: MatchLists, id: string): Match | undefined {
  return [...lists.live, ...lists.next, ...lists.recent].find((m) => m.match_id === id);
}

function change(known: Match | undefined, id: string, e: ArenaEvent): Match | undefined {
  switch (e.type) {
    case 'match_scheduled':
      return {
        ...blank(id, e.ts),
        ...known,
        league: e.league,
        rated: e.rated,
        starts_at: e.starts_at,
        status: 'scheduled',
        seats: seated(e.seats),
      };
    case 'match_started':
      return {
        ...blank(id, e.ts),
        ...known,
        league: e.league,
        format: e.format,
        visibility: e.visibility,
        rated: e.rated,
        total_rounds: e.total_rounds,
        status: 'running',
        started_at: e.ts,
        seats: seated(e.seats, known?.seats),
      };
    case 'round_started':
      return known && { ...known, round: e.round ?? known.round, ...opened(e), ...positioned(e.state) };
    case 'round_closed':
      return known && { ...known, seats: scored(known.seats, e.standings), ...closed(known), ...positioned(e.state) };
    case 'match_finished':
      return (
        known && {
          ...known,
          status: 'finished',
          finished_at: e.ts,
          rated: e.rated,
          seats: scored(known.seats, e.seats).map((s) => {
            const delta = e.rating_changes?.find((c) => c.agent_id === s.agent_id);
            return delta ? { ...s, rating_before: delta.rating_before, rating_delta: delta.rating_delta } : s;
          }),
        }
      );
    case 'match_void':
      return known && { ...known, status: 'void', void_reason: e.reason, void_code: e.void_code, finished_at: e.ts };
    case 'viewers':
      return known && { ...known, viewers: e.count };
    default:
      return known;
  }
}

function blank(id: string, ts: string): Match {
  return {
    match_id: id,
    league: '',
    status: 'scheduled',
    format: '',
    judge: '',
    visibility: 'live',
    rated: false,
    round: 0,
    total_rounds: null,
    time_limit_seconds: 0,
    seats: [],
    created_at: ts,
    starts_at: ts,
    started_at: null,
    finished_at: null,
    seq: 0,
    viewers: 0,
  };
}

/** The open round as a snapshot has it. */
function opened(e: Extract<ArenaEvent, { type: 'round_started' }>): Partial<Match> {
  const { seq: _seq, match_id: _id, type: _type, ts: started_at, round, time_limit_seconds, ...of } = e;
  return round ? { time_limit_seconds, current_round: { ...of, round, started_at, closed: false } } : {};
}

const closed = ({ current_round: now }: Match): Partial<Match> => (now ? { current_round: { ...now, closed: true } } : {});

const positioned = (state: unknown) => (state === undefined ? {} : { position: state });

function seated(briefs: readonly SeatBrief[], known: readonly MatchSeat[] = []): MatchSeat[] {
  return briefs.map((b) => ({
    owner_id: '',
    points: 0,
    state: 'active',
    ...known.find((k) => k.agent_id === b.agent_id),
    agent_id: b.agent_id,
    name: b.name,
  }));
}

function scored(seats: readonly MatchSeat[], lines: readonly StandingBrief[]): MatchSeat[] {
  return seats.map((s) => {
    const line = lines.find((l) => l.agent_id === s.agent_id);
    return line ? { ...s, points: line.points, place: line.place, state: line.state } : s;
  });
}

function place(lists: MatchLists, m: Match): MatchLists {
  const put = (list: readonly Match[], here: boolean) => {
    const at = list.findIndex((x) => x.match_id === m.match_id);
    if (!here) return at < 0 ? list : list.toSpliced(at, 1);
    return at < 0 ? undefined : list.with(at, m);
  };
  const live = put(lists.live, m.status === 'running' || m.status === 'ready') ?? [m, ...lists.live];
  const next = put(lists.next, m.status === 'scheduled') ?? [...lists.next, m].sort((a, b) => a.starts_at.localeCompare(b.starts_at));
  const over = m.status === 'finished' || m.status === 'void';
  const recent = put(lists.recent, over) ?? [m, ...lists.recent].slice(0, RECENT);
  return { live, next, recent };
}

/** The leagues that start matches next, the soonest first. */
export const coming = (leagues: readonly League[]): League[] =>
  leagues
    .filter((l) => l.next_run_at && !l.note && ['running', 'frozen'].includes(l.status))
    .sort((a, b) => (a.next_run_at ?? '').localeCompare(b.next_run_at ?? ''));

/** Ratings of agents, by league and agent. */
export type Ratings = Readonly<Record<string, Readonly<Record<string, number>>>>;

/**
 * The matches in their places. Each keeps its place while it is wanted; the
 * next one takes the place of a match that has ended, which shows its result
 * until then. What is on the stage has no place.
 */
export function inPlaces(before: readonly Match[], lists: MatchLists, wanted: readonly string[], stage?: string): Match[] {
  const fresh = wanted.filter((id) => !before.some((m) => m.match_id === id));
  const kept = before
    .map((m) => (wanted.includes(m.match_id) ? m : (find(lists, fresh.shift() ?? '') ?? m)))
    .filter((m) => m.match_id !== stage);
  const added = fresh.map((id) => find(lists, id)).filter((m) => m !== undefined);
  return [...kept, ...added].map((m) => {
    const now = find(lists, m.match_id) ?? m;
    return now === m && lists.live.every((l) => l.match_id !== m.match_id) && m.status === 'running' ? { ...m, status: 'finished' } : now;
  });
}

/**
 * The matches beside the stage: those that were there stay while they are
 * live; free places go to the best of each league first, then to the best.
 */
export function beside(
  before: readonly string[],
  live: readonly Match[],
  stage: string | undefined,
  places: number,
  known: Known = nothingKnown,
): string[] {
  const open = ordered(live, known).filter((m) => m.match_id !== stage);
  const kept = before.filter((id) => open.some((m) => m.match_id === id)).slice(0, places);
  const leagues = new Set(open.filter((m) => kept.includes(m.match_id)).map((m) => m.league));
  const free = open.filter((m) => !kept.includes(m.match_id));
  const first = free.filter((m) => !leagues.has(m.league) && leagues.add(m.league));
  return [...kept, ...[...first, ...free.filter((m) => !first.includes(m))].map((m) => m.match_id)].slice(0, places);
}

/** The live matches in at most so many places beside the stage. */
export const placed = (before: readonly Match[], lists: MatchLists, places: number, stage?: string, known?: Known): Match[] => {
  const ids = before.map((m) => m.match_id);
  return inPlaces(before, lists, beside(ids, lists.live, stage, places, known), stage);
};

/** How many live matches are not among those shown. */
export const unplaced = (shown: readonly Match[], { live }: MatchLists): number =>
  live.filter((m) => !shown.some((s) => s.match_id === m.match_id)).length;
