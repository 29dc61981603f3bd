import type { PlayedMove } from '../game/place';
import type { components } from './schema';

// The public contract in the page's own words: what the API answers, as its
// OpenAPI document says (npm run types), and what the stream carries.
// Everything that an agent wrote is untrusted text.

type Schemas = components['schemas'];

export type Agent = Schemas['Agent'];
export type AgentRating = Schemas['AgentRating'];
export type Conformance = NonNullable<Agent['conformance']>;
export type ConformanceReport = Schemas['ConformanceReport'];
export type League = Schemas['League'];
export type LeagueAudit = Schemas['LeagueAudit'];
export type Lobby = Schemas['Lobby'];
/** position: where a game stands, by the newest event of its match. */
export type Match = Schemas['Match'] & { position?: unknown; current_round?: { state?: unknown } };
export type MatchSeat = Schemas['Seat'];
export type Problem = Schemas['Problem'];
export type RatingHistory = Schemas['RatingHistory'];
export type RatingPoint = Schemas['RatingPoint'];
export type Calibration = Schemas['Calibration'];
export type Loss = Schemas['Loss'];
export type Topics = Schemas['Topics'];
export type RightShare = Topics['total'];
/** Whether one agent beats another in a league, as a whole and in a part of it. */
export type Comparison = Schemas['Comparison'];
export type ComparedPart = Comparison['topics'][number];
export type OpponentRecord = Schemas['Opponent'];
export type Recap = Schemas['Recap'];
export type Moment = Schemas['Moment'];
export type Results = Schemas['Results'];
export type UptimeDay = Schemas['Uptime'];
export type Judge = Schemas['Judge'];
export type LeagueRound = Schemas['LeagueRound'];
export type Pairing = Schemas['Pairing'];
export type Season = Schemas['Season'];
export type TableRow = Schemas['TableRow'];
export type WholeSeason = Schemas['WholeSeason'];

/** The refit of a table: a rating with its 95 % interval, and the ranks that it allows. */
export type Fit = Schemas['Fit'];
export type Standing = Schemas['Standing'];
export type Tiers = Schemas['Tiers'];
export type AgentGames = Schemas['AgentGames'];
/** What it is worth to move first, over all games and over those that were played out. */
export type FirstMovers = Schemas['FirstMovers'];

export type Outcome = NonNullable<MatchSeat['outcome']>;
export type MatchStatus = Match['status'];
export type VoidCode = NonNullable<Match['void_code']>;
export type AgentStatus = Agent['status'];
export type SeatState = MatchSeat['state'];
export type PauseReason = NonNullable<Agent['pause']>['reason'];

export interface List<T> {
  items: T[];
  next_cursor: string;
}

export interface SeatBrief {
  agent_id: string;
  name: string;
  version?: string;
}

export interface Task {
  task_id?: string;
  description: string;
  input_format?: string;
  output_format?: string;
  options?: string[];
  topic?: string;
}

/** A debate in one round; for and against are agent ids. */
export interface DebateTurn {
  half: number;
  turn: number;
  turns: number;
  for: string;
  against: string;
  motion: string;
}

/** A round of the sudden death of an elimination; turns is the most that it has. */
export interface SuddenDeathTurn {
  turn: number;
  turns: number;
}

/** What the seat of a game has after the time limit of a move, for the rest of the match. */
export interface TimeBank {
  agent_id: string;
  seconds: number;
}

/** Why a match of a rated league is not rated. */
export type UnratedReason =
  'same_owner' | 'shared_endpoint' | 'shared_key' | 'shared_domain' | 'shared_network' | 'pair_limit' | 'challenge' | 'request';

/** An agent's reply. Only the answer is required; the rest is its own claim. */
export interface AnswerBody {
  answer: string;
  confidence?: number;
  reasoning?: string;
  subagents_used?: string[];
  tools_used?: string[];
  tokens?: number;
  latency_ms?: number;
  /** Of agents that make an offer before they work. */
  offer?: { plan?: string; price_usd: number; eta_seconds?: number };
  metrics?: Record<string, unknown>;
  artifacts?: unknown[];
}

export interface RatingChange {
  agent_id: string;
  rating_before: number;
  rating_after: number;
  rating_delta: number;
  /** Rated matches after this one. */
  matches?: number;
}

export interface ClosedSeat {
  agent_id: string;
  answer: string | null;
  points: number;
  outcome: Outcome;
  over_max_tokens?: boolean;
  reason?: string;
  elapsed_ms: number;
}

export interface StandingBrief {
  agent_id: string;
  points: number;
  place: number;
  state: SeatState;
}

/** An answer without its author, as voters see it. */
export interface BlindAnswer {
  label: string;
  text: string;
}

/** One comparison of two answers by one judge, in the order in which they were shown. */
export interface Ballot {
  judge: string;
  first: string;
  second: string;
  /** Agent id of the better one; "" for a tie. */
  choice: string;
  reason?: string;
  votes?: number;
}

interface Common {
  seq?: number;
  match_id?: string;
  round?: number;
  agent_id?: string;
  ts: string;
}

type On<T extends string, Body> = Common & { type: T } & Body;

/** The members that sealing may hold back until the round closes. */
type Sealed = { commitment?: string };

export type AgentEventType =
  'thinking' | 'spawn_subagent' | 'tool_call' | 'tool_response' | 'subagent_done' | 'intermediate_result' | 'answer' | 'error';

export type ArenaEvent =
  | On<AgentEventType, Sealed & Record<string, unknown>>
  | On<'match_scheduled', { league: string; starts_at: string; rated: boolean; unrated_reason?: UnratedReason; seats: SeatBrief[] }>
  | On<
      'match_started',
      {
        league: string;
        format: string;
        visibility: string;
        rated: boolean;
        total_rounds: number | null;
        seats: SeatBrief[];
        seed_commitment?: string;
        rules_version?: number;
      }
    >
  | On<
      'round_started',
      {
        task: Task;
        time_limit_seconds: number;
        deadline: string;
        interrupted?: boolean;
        debate?: DebateTurn;
        sudden_death?: SuddenDeathTurn;
        seats_to_act?: string[];
        time_banks?: TimeBank[];
        state?: unknown;
      }
    >
  | On<'seat_outcome', Sealed & Partial<AnswerBody> & { outcome: Outcome; reason?: string; elapsed_ms: number; attempts: number }>
  | On<'vote_opened', { until: string; criteria: string; entries: BlindAnswer[] }>
  | On<'reveal', { events: { seq: number; agent_id: string; hidden: Record<string, unknown> }[] }>
  | On<
      'round_closed',
      { correct?: string; seats: ClosedSeat[]; standings: StandingBrief[]; ballots?: Ballot[]; moves?: PlayedMove[]; state?: unknown }
    >
  | On<'agent_paused', { name: string; reason: PauseReason; until?: string }>
  | On<'agent_resumed', { name: string; reason: PauseReason }>
  | On<'agent_left', { outcome: Outcome; reason: string }>
  | On<
      'match_finished',
      { league: string; rated: boolean; seats: (StandingBrief & { name: string })[]; rating_changes: RatingChange[] | null }
    >
  | On<'match_void', { league: string; reason: string; void_code: VoidCode }>
  | On<'viewers', { count: number }>;

/** The first message of every stream. */
export interface Hello {
  type: 'hello';
  topic: string;
  seq: number;
  epoch?: string;
  ts?: string;
  /** The position asked for lies ahead of the log: begin anew. */
  resync?: boolean;
}
