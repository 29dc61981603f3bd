import type { Match } from '../api/contract';

// Where a turn of a game stands in its match: the part of a public state that
// all forms share. The rules of a game may be anybody's, so that every member
// is checked; forms.ts reads the position itself.

/** A position's place in the series of games of a match. */
export interface Place {
  /** 1-based. */
  readonly game: number;
  readonly games: number;
  /** 1-based, within the game; 0 once the game is over. */
  readonly turn: number;
  /** Agent ids by player number. */
  readonly players: readonly string[];
  readonly over: boolean;
  /** Of a game that is over, by player. */
  readonly points: readonly number[];
  /** How the game stands for each player, 0 (lost) to 1 (won); empty where the game cannot tell. */
  readonly evaluation: readonly number[];
}

/** A public state with its place. */
export interface Snapshot {
  readonly place: Place;
  /** As it came; forms.ts reads it. */
  readonly state: unknown;
}

/** A move as round_closed has it. An empty move loses the game; one that is not legal is the game's default. */
export interface PlayedMove {
  readonly agent_id: string;
  readonly move: string;
  readonly legal: boolean;
}

/** A round of a match that is a turn of a game. */
export interface Turn {
  /** Agents that must move. */
  readonly toAct: readonly string[];
  /** Seconds that agents have after the time limit of a move. */
  readonly banks: Readonly<Record<string, number>>;
  readonly opened: Snapshot;
  readonly closed?: Snapshot;
  readonly moves: readonly PlayedMove[];
}

const numbers = (v: unknown): readonly number[] =>
  Array.isArray(v) && v.every((n) => typeof n === 'number' && Number.isFinite(n)) ? (v as number[]) : [];
const whole = (v: unknown): number => (typeof v === 'number' && Number.isInteger(v) && v > 0 ? v : 0);

/** The place of a public state; undefined for what is none. */
export function snapshotOf(state: unknown): Snapshot | undefined {
  if (typeof state !== 'object' || state === null) return undefined;
  const s = state as Readonly<Record<string, unknown>>;
  const players = s['players'];
  if (!Array.isArray(players) || !players.length || !players.every((p) => typeof p === 'string')) return undefined;
  const of = (v: unknown) => (numbers(v).length === players.length ? numbers(v) : []);
  return {
    state,
    place: {
      game: whole(s['game']) || 1,
      games: whole(s['games']) || 1,
      turn: whole(s['turn']),
      players,
      over: s['over'] === true,
      points: of(s['points']),
      evaluation: of(s['evaluation']).map((e) => Math.min(1, Math.max(0, e))),
    },
  };
}

/** The newest position of a match of a list. */
export const positionOf = (m: Pick<Match, 'position' | 'current_round'>): Snapshot | undefined =>
  snapshotOf(m.position ?? m.current_round?.state);

/** What is known of the position of a turn: after its moves, else before them. */
export const latest = (turn: Turn): Snapshot => turn.closed ?? turn.opened;

/** A change of the evaluation by so much, or more, decides. */
export const SWING = 0.25;

/** How much a player's evaluation rose most between two positions of one game, and whose it was. */
export function swingOf(before: Place | undefined, after: Place): { readonly by: number; readonly agentId: string } | undefined {
  if (!before || before.game !== after.game || !before.evaluation.length || !after.evaluation.length) return undefined;
  const rises = after.evaluation.map((e, i) => e - (before.evaluation[i] ?? e));
  const by = Math.max(...rises);
  return by >= SWING ? { by, agentId: after.players[rises.indexOf(by)] ?? '' } : undefined;
}
