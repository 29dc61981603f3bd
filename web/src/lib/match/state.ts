import type {
  AnswerBody,
  ArenaEvent,
  Ballot,
  BlindAnswer,
  Match,
  MatchStatus,
  Outcome,
  RatingChange,
  SeatState,
  StandingBrief,
  SuddenDeathTurn,
  Task,
  UnratedReason,
  VoidCode,
} from '../api/contract';
import type { Turn } from '../game/place';
import type { Debate } from './debate';

// What a spectator knows of one match. Every value is read-only and shared
// between states: what did not change keeps its identity, so that only what
// changed is drawn again.

/** What a seat is doing in a round. */
export type Phase = 'idle' | 'thinking' | 'tool' | 'answered' | 'failed';

/** How a seat's round was judged; "said" where nothing is judged: a speech before the end of its half, and a move. */
export type Verdict = 'right' | 'partial' | 'wrong' | 'none' | 'said';

/** A vote of the spectators on the answers of a round. */
export interface OpenVote {
  readonly until: string;
  readonly criteria: string;
  readonly entries: readonly BlindAnswer[];
}

/** One line of a lane. A tool's response and a sub-agent's end join the line that they close. */
export interface Entry {
  readonly seq: number;
  readonly ts: string;
  readonly type: ArenaEvent['type'];
  readonly body: Readonly<Record<string, unknown>>;
  /** The SHA-256 of a part that is not shown yet. */
  readonly commitment?: string;
  /** True once the hidden part has been shown. */
  readonly revealed: boolean;
  /** The event that closed this line. */
  readonly end?: { readonly seq: number; readonly ts: string; readonly body: Readonly<Record<string, unknown>> };
}

/** One seat's part in one round. */
export interface Lane {
  readonly agentId: string;
  readonly phase: Phase;
  readonly entries: readonly Entry[];
  /** Seq of the outcome, for the reveal; 0 before it. */
  readonly outcomeSeq: number;
  readonly outcome?: Outcome;
  readonly reason?: string;
  readonly elapsedMs?: number;
  /** Requests, the first included. */
  readonly attempts?: number;
  readonly commitment?: string;
  readonly answer?: Partial<AnswerBody>;
  readonly points?: number;
  /** The answer exceeded max_tokens. */
  readonly overTokens?: boolean;
}

export interface Round {
  readonly no: number;
  readonly task: Task;
  readonly limitSeconds: number;
  readonly startedAt: string;
  readonly deadline: string;
  readonly interrupted: boolean;
  readonly revealed: boolean;
  readonly closedAt?: string;
  readonly correct?: string;
  readonly debate?: Debate;
  readonly suddenDeath?: SuddenDeathTurn;
  /** The round is a turn of a game. */
  readonly turn?: Turn;
  /** The spectators may vote until the round closes. */
  readonly vote?: OpenVote;
  /** Of judges that were asked. */
  readonly ballots: readonly Ballot[];
  readonly lanes: Readonly<Record<string, Lane>>;
  readonly standings: readonly StandingBrief[];
}

export interface Seat {
  readonly id: string;
  readonly name: string;
  readonly version?: string;
  readonly points: number;
  /** 1 is best; 0 while unknown. */
  readonly place: number;
  readonly state: SeatState;
  /** The round in which the seat dropped out or left; 0 for none. */
  readonly outRound: number;
  readonly ratingBefore?: number;
  readonly ratingDelta?: number;
  /** Rated matches after this one. */
  readonly ratedMatches?: number;
}

export interface MatchState {
  readonly id: string;
  /** Seq of the last event taken in. */
  readonly seq: number;
  readonly league: string;
  readonly status: MatchStatus;
  readonly format: string;
  readonly sealed: boolean;
  /** How much later than it happens everything is shown, in milliseconds; mostly 0. */
  readonly delayMs: number;
  /** The visibility without its number; it names the texts that explain it. */
  readonly shown: Shown;
  readonly rated: boolean;
  /** Why it is not rated, in a rated league. */
  readonly unrated?: UnratedReason;
  readonly totalRounds: number | null;
  /** Rounds that the snapshot counted: at least so many are in the log. */
  readonly counted: number;
  readonly startsAt?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly voidReason?: string;
  /** The kind of voidReason. */
  readonly voidCode?: VoidCode;
  /** The snapshot says that the match is void; the log has one event for void and canceled matches. */
  readonly madeVoid?: true;
  readonly seats: Readonly<Record<string, Seat>>;
  /** Agent ids in seat order. */
  readonly order: readonly string[];
  readonly rounds: readonly Round[];
  readonly changes: readonly RatingChange[];
  readonly viewers: number;
  /** The log has not been read yet: what the seats do is unknown. */
  readonly unread?: true;
}

export type Shown = 'live' | 'sealed' | 'delayed';

/** What a match's visibility ("live", "sealed", "delayed:30") says. */
export const shownAs = (visibility: string): Pick<MatchState, 'sealed' | 'delayMs' | 'shown'> => {
  const delayMs = visibility.startsWith('delayed:') ? 1000 * (Number(visibility.slice('delayed:'.length)) || 0) : 0;
  const sealed = visibility === 'sealed';
  return { sealed, delayMs, shown: delayMs ? 'delayed' : sealed ? 'sealed' : 'live' };
};

export function emptyMatch(id: string): MatchState {
  return {
    id,
    seq: 0,
    league: '',
    status: 'scheduled',
    format: '',
    sealed: false,
    delayMs: 0,
    shown: 'live',
    rated: false,
    totalRounds: null,
    counted: 0,
    seats: {},
    order: [],
    rounds: [],
    changes: [],
    viewers: 0,
  };
}

/** The state before any event, with what the match's snapshot already tells. */
export function fromSnapshot(m: Match): MatchState {
  const seats: Record<string, Seat> = {};
  for (const s of m.seats) {
    seats[s.agent_id] = {
      id: s.agent_id,
      name: s.name,
      points: s.points,
      place: s.place ?? 0,
      state: s.state,
      outRound: s.out_round ?? 0,
      ...(s.rating_before === undefined ? {} : { ratingBefore: s.rating_before }),
      ...(s.rating_delta === undefined ? {} : { ratingDelta: s.rating_delta }),
    };
  }
  return {
    ...emptyMatch(m.match_id),
    format: m.format,
    ...shownAs(m.visibility),
    league: m.league,
    status: m.status,
    rated: m.rated,
    totalRounds: m.total_rounds,
    counted: m.round,
    startsAt: m.starts_at,
    ...(m.started_at ? { startedAt: m.started_at } : {}),
    ...(m.finished_at ? { finishedAt: m.finished_at } : {}),
    ...(m.unrated_reason ? { unrated: m.unrated_reason } : {}),
    ...(m.void_reason ? { voidReason: m.void_reason } : {}),
    ...(m.void_code ? { voidCode: m.void_code } : {}),
    ...(m.status === 'void' ? { madeVoid: true } : {}),
    seats,
    order: m.seats.map((s) => s.agent_id),
    viewers: m.viewers,
  };
}

export const isOver = (m: MatchState): boolean => m.status === 'finished' || m.status === 'void' || m.status === 'cancelled';

/** The seats that play a round, in seat order; before its log is read those still in the match. */
export const playersOf = (m: MatchState, round: Round | undefined): string[] =>
  !round ? [...m.order] : m.order.filter((id) => (m.unread ? m.seats[id]?.state === 'active' : round.lanes[id]));

export const lastRound = (m: MatchState): Round | undefined => m.rounds[m.rounds.length - 1];

/** How a lane's round was judged. Undefined while it is open. */
export function verdict(round: Round, lane: Lane): Verdict | undefined {
  if (!round.closedAt) return undefined;
  if (lane.outcome !== 'answered') return 'none';
  if (round.turn) return lane.reason ? 'none' : 'said';
  if (round.debate && !round.debate.closes) return 'said';
  const points = lane.points ?? 0;
  return points >= 1 ? 'right' : points > 0 ? 'partial' : 'wrong';
}

/**
 * What a closed round gave each of two seats, in the order of seats. Undefined where a round decides nothing, such as a move that does
 * not end its game, and for other numbers of seats.
 */
export function scoreOf(m: MatchState, round: Round): readonly [number, number] | undefined {
  const [a, b] = m.order;
  if (!a || !b || m.order.length > 2 || !round.closedAt) return undefined;
  const end = round.turn?.closed?.place;
  if (round.turn ? !end?.over : round.debate && !round.debate.closes) return undefined;
  const points = (id: string) => (end ? end.points[end.players.indexOf(id)] : round.lanes[id]?.points) ?? 0;
  return [points(a), points(b)];
}

/** Seats by points, then in seat order; once the match is over by place. */
export function ranking(m: MatchState): Seat[] {
  const at = new Map(m.order.map((id, i) => [id, i]));
  const seats = m.order.map((id) => m.seats[id]).filter((s) => s !== undefined);
  return seats.sort((a, b) => (a.place || 999) - (b.place || 999) || b.points - a.points || at.get(a.id)! - at.get(b.id)!);
}
