import type { ArenaEvent, SeatBrief, VoidCode } from '../api/contract';
import { closedTurn, openTurn } from '../game/turn';
import { debateOf } from './debate';
import { emptyMatch, shownAs, type Entry, type Lane, type MatchState, type Phase, type Round, type Seat } from './state';

// The reducer: a match's state after one more event of its log. It is pure,
// total (an event that it does not know only moves seq on) and idempotent
// (an event at or before seq changes nothing).

type Of<T extends ArenaEvent['type']> = Extract<ArenaEvent, { type: T }>;

/** The members that every event has; the rest is the body of its type. */
const COMMON = new Set(['seq', 'match_id', 'round', 'agent_id', 'ts', 'type', 'commitment']);

export function applyEvents(state: MatchState, events: readonly ArenaEvent[]): MatchState {
  return events.reduce(applyEvent, state);
}

export function applyEvent(state: MatchState, event: ArenaEvent): MatchState {
  if (event.type === 'viewers') return { ...state, viewers: event.count };
  const seq = event.seq ?? 0;
  if (seq <= state.seq) return state;
  return { ...dispatch(state, event), seq };
}

/**
 * Whether a match_void event is that of a canceled match: one that has not begun and was ended by somebody, unless its
 * snapshot says that it is void.
 */
function canceled(state: MatchState, code: VoidCode): boolean {
  if (state.startedAt || state.madeVoid) return false;
  return code === 'operator' || code === 'season_finished' || code.startsWith('cancelled_');
}

function dispatch(state: MatchState, event: ArenaEvent): MatchState {
  switch (event.type) {
    case 'match_scheduled':
      // The first event of a log: what a snapshot knew of the end is not shown yet.
      return withSeats(
        {
          ...emptyMatch(state.id),
          viewers: state.viewers,
          counted: state.counted,
          league: event.league,
          rated: event.rated,
          startsAt: event.starts_at,
          ...(state.madeVoid ? { madeVoid: true } : {}),
          ...(event.unrated_reason ? { unrated: event.unrated_reason } : {}),
        },
        event.seats,
      );
    case 'match_started':
      return withSeats(
        {
          ...state,
          league: event.league,
          format: event.format,
          ...shownAs(event.visibility),
          rated: event.rated,
          totalRounds: event.total_rounds ?? null,
          status: 'running',
          startedAt: event.ts,
        },
        event.seats,
      );
    case 'round_started':
      return roundStarted(state, event);
    case 'seat_outcome':
      return seatOutcome(state, event);
    case 'vote_opened':
      return withRound(state, event.round, (round) => ({
        ...round,
        vote: { until: event.until, criteria: event.criteria, entries: event.entries },
      }));
    case 'reveal':
      return reveal(state, event);
    case 'round_closed':
      return roundClosed(state, event);
    case 'agent_left':
      return agentLeft(state, event);
    case 'match_finished':
      return matchFinished(state, event);
    case 'match_void':
      return {
        ...state,
        status: canceled(state, event.void_code) ? 'cancelled' : 'void',
        voidReason: event.reason,
        voidCode: event.void_code,
        finishedAt: event.ts,
      };
    case 'thinking':
    case 'spawn_subagent':
    case 'tool_call':
    case 'tool_response':
    case 'subagent_done':
    case 'intermediate_result':
    case 'answer':
    case 'error':
    case 'agent_paused':
    case 'agent_resumed':
      return laneEvent(state, event);
    default:
      return state;
  }
}

function withSeats(state: MatchState, briefs: readonly SeatBrief[]): MatchState {
  const seats: Record<string, Seat> = {};
  for (const b of briefs) {
    seats[b.agent_id] = {
      id: b.agent_id,
      name: b.name,
      ...(b.version ? { version: b.version } : {}),
      points: 0,
      place: 0,
      state: 'active',
      outRound: 0,
    };
  }
  return { ...state, seats, order: briefs.map((b) => b.agent_id) };
}

function roundStarted(state: MatchState, e: Of<'round_started'>): MatchState {
  const no = e.round ?? state.rounds.length + 1;
  const before = state.rounds.find((r) => r.no === no);
  const lanes: Record<string, Lane> = { ...before?.lanes };
  const turn = openTurn(e);
  for (const id of turn?.toAct ?? state.order) {
    if (state.seats[id]?.state === 'active') lanes[id] ??= newLane(id);
  }
  const round: Round = {
    no,
    task: e.task,
    ...(e.debate ? { debate: debateOf(e.debate) } : {}),
    ...(e.sudden_death ? { suddenDeath: e.sudden_death } : {}),
    ...(turn ? { turn } : {}),
    ballots: [],
    limitSeconds: e.time_limit_seconds,
    startedAt: e.ts,
    deadline: e.deadline,
    interrupted: e.interrupted ?? false,
    revealed: false,
    lanes,
    standings: [],
  };
  const rounds = before ? state.rounds.map((r) => (r === before ? round : r)) : [...state.rounds, round];
  return { ...state, status: 'running', rounds };
}

const newLane = (agentId: string): Lane => ({ agentId, phase: 'idle', entries: [], outcomeSeq: 0 });

function laneEvent(state: MatchState, e: Exclude<ArenaEvent, Of<'viewers'>>): MatchState {
  return withLane(state, e, (lane) => {
    const phase = lane.outcomeSeq ? lane.phase : phaseAfter(lane.phase, e.type);
    return { ...lane, phase, entries: addEntry(lane.entries, e) };
  });
}

function phaseAfter(phase: Phase, type: ArenaEvent['type']): Phase {
  switch (type) {
    case 'tool_call':
      return 'tool';
    case 'error':
    case 'agent_paused':
    case 'agent_resumed':
      return phase;
    default:
      return 'thinking';
  }
}

function addEntry(entries: readonly Entry[], e: ArenaEvent): readonly Entry[] {
  const body = bodyOf(e);
  const commitment = 'commitment' in e ? e.commitment : undefined;
  if (e.type === 'tool_response' || e.type === 'subagent_done') {
    const at = entries.findLastIndex((x) => !x.end && closes(e.type, body, x));
    const open = entries[at];
    if (open) return entries.with(at, { ...open, end: { seq: e.seq ?? 0, ts: e.ts, body } });
  }
  return [...entries, { seq: e.seq ?? 0, ts: e.ts, type: e.type, body, revealed: false, ...(commitment ? { commitment } : {}) }];
}

function closes(type: ArenaEvent['type'], body: Record<string, unknown>, x: Entry): boolean {
  return type === 'tool_response' ? x.type === 'tool_call' : x.type === 'spawn_subagent' && x.body['name'] === body['name'];
}

function bodyOf(e: ArenaEvent): Record<string, unknown> {
  return Object.fromEntries(Object.entries(e).filter(([key]) => !COMMON.has(key)));
}

function seatOutcome(state: MatchState, e: Of<'seat_outcome'>): MatchState {
  return withLane(state, e, (lane) => ({
    ...lane,
    phase: e.outcome === 'answered' ? 'answered' : 'failed',
    outcomeSeq: e.seq ?? 0,
    outcome: e.outcome,
    elapsedMs: e.elapsed_ms,
    attempts: e.attempts,
    ...(e.reason ? { reason: e.reason } : {}),
    ...(e.commitment ? { commitment: e.commitment } : {}),
    ...(e.answer === undefined ? {} : { answer: answerOf(bodyOf(e)) }),
  }));
}

/** The answer's members, wherever they came from: an outcome in the open, or a hidden part. */
function answerOf(body: Record<string, unknown>): Lane['answer'] {
  const { outcome: _o, reason: _r, elapsed_ms: _e, attempts: _a, over_max_tokens: _t, nonce: _n, ...answer } = body;
  return answer;
}

function reveal(state: MatchState, e: Of<'reveal'>): MatchState {
  const hidden = new Map(e.events.map((x) => [x.seq, x.hidden]));
  // The end of a match of games reveals all its rounds.
  const rounds = state.rounds.map((round) => {
    if (round.no !== e.round && !round.turn) return round;
    const lanes: Record<string, Lane> = {};
    for (const [id, lane] of Object.entries(round.lanes)) lanes[id] = revealLane(lane, hidden);
    return { ...round, revealed: true, lanes };
  });
  return { ...state, rounds };
}

function revealLane(lane: Lane, hidden: ReadonlyMap<number, Record<string, unknown>>): Lane {
  const entries = lane.entries.map((x) => {
    const own = hidden.get(x.seq);
    const end = x.end && hidden.get(x.end.seq);
    if (!own && !end) return x;
    return {
      ...x,
      revealed: true,
      body: own ? { ...x.body, ...withoutNonce(own) } : x.body,
      ...(x.end ? { end: end ? { ...x.end, body: { ...x.end.body, ...withoutNonce(end) } } : x.end } : {}),
    };
  });
  const answer = hidden.get(lane.outcomeSeq);
  return { ...lane, entries, ...(answer ? { answer: answerOf(answer) } : {}) };
}

function withoutNonce({ nonce: _, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest;
}

function roundClosed(state: MatchState, e: Of<'round_closed'>): MatchState {
  const next = withRound(state, e.round, (round) => {
    const lanes: Record<string, Lane> = { ...round.lanes };
    for (const s of e.seats) {
      const lane = lanes[s.agent_id] ?? newLane(s.agent_id);
      lanes[s.agent_id] = {
        ...lane,
        phase: s.outcome === 'answered' ? 'answered' : 'failed',
        outcome: s.outcome,
        points: s.points,
        elapsedMs: s.elapsed_ms,
        ...(s.reason ? { reason: s.reason } : {}),
        ...(s.over_max_tokens ? { overTokens: true } : {}),
        ...(s.answer === null ? {} : { answer: { ...lane.answer, answer: s.answer } }),
      };
    }
    return {
      ...round,
      ...(round.turn ? { turn: closedTurn(round.turn, e) } : {}),
      lanes,
      closedAt: e.ts,
      revealed: round.revealed || !round.turn,
      standings: e.standings,
      ballots: e.ballots ?? [],
      ...(e.correct === undefined ? {} : { correct: e.correct }),
    };
  });
  return { ...next, seats: withStandings(next.seats, e.standings, e.round ?? 0) };
}

function withStandings(
  before: MatchState['seats'],
  lines: readonly { agent_id: string; points: number; place: number; state: Seat['state'] }[],
  round: number,
): MatchState['seats'] {
  const seats: Record<string, Seat> = { ...before };
  for (const line of lines) {
    const seat = seats[line.agent_id];
    if (!seat) continue;
    const outRound = seat.outRound || (line.state === 'active' ? 0 : round);
    seats[line.agent_id] = { ...seat, points: line.points, place: line.place, state: line.state, outRound };
  }
  return seats;
}

function agentLeft(state: MatchState, e: Of<'agent_left'>): MatchState {
  const id = e.agent_id ?? '';
  const seat = state.seats[id];
  if (!seat) return state;
  const next = withLane(state, e, (lane) => ({
    ...lane,
    phase: 'failed',
    outcome: lane.outcome ?? e.outcome,
    ...(e.reason ? { reason: e.reason } : {}),
  }));
  return { ...next, seats: { ...next.seats, [id]: { ...seat, state: 'left', outRound: e.round ?? state.rounds.length } } };
}

function matchFinished(state: MatchState, e: Of<'match_finished'>): MatchState {
  const changes = e.rating_changes ?? [];
  const seats: Record<string, Seat> = { ...withStandings(state.seats, e.seats, state.rounds.length) };
  for (const c of changes) {
    const seat = seats[c.agent_id];
    if (seat)
      seats[c.agent_id] = {
        ...seat,
        ratingBefore: c.rating_before,
        ratingDelta: c.rating_delta,
        ...(c.matches === undefined ? {} : { ratedMatches: c.matches }),
      };
  }
  return { ...state, status: 'finished', finishedAt: e.ts, rated: e.rated, seats, changes };
}

function withRound(state: MatchState, no: number | undefined, change: (round: Round) => Round): MatchState {
  const at = state.rounds.findIndex((r) => r.no === no);
  const round = state.rounds[at];
  return round ? { ...state, rounds: state.rounds.with(at, change(round)) } : state;
}

function withLane(state: MatchState, e: { round?: number; agent_id?: string }, change: (lane: Lane) => Lane): MatchState {
  const id = e.agent_id;
  if (!id || !state.seats[id]) return state;
  return withRound(state, e.round ?? state.rounds[state.rounds.length - 1]?.no, (round) => ({
    ...round,
    lanes: { ...round.lanes, [id]: change(round.lanes[id] ?? newLane(id)) },
  }));
}
