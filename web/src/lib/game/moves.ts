import { t } from '../i18n';
import type { Lane, MatchState, Round, Seat } from '../match/state';
import { formOf } from './forms';
import { latest, type Place, type PlayedMove, type Turn } from './place';

// The moves and the games of a match, as far as its state goes: a state of an
// earlier position has none of the later ones.

/** How a move came about. */
export type Manner = 'played' | 'retried' | 'default' | 'forfeit';

export interface ListedMove {
  readonly round: Round;
  readonly game: number;
  /** Number of the turn in its game, from 1. */
  readonly turn: number;
  readonly agentId: string;
  readonly player: number;
  /** In the canonical form; "" where the agent gave none. */
  readonly move: string;
  readonly manner: Manner;
  readonly lane: Lane | undefined;
}

export interface PlayedGame {
  readonly game: number;
  /** Points by agent; undefined while it is played. */
  readonly points?: Readonly<Record<string, number>>;
  /** Who lost it without a move. */
  readonly forfeits: readonly string[];
  readonly moves: readonly ListedMove[];
}

/** The games of a match that have begun, with their moves, up to a round. */
export function gamesOf(m: MatchState, upTo: number): PlayedGame[] {
  const games = new Map<number, { points?: Record<string, number>; forfeits: string[]; moves: ListedMove[] }>();
  for (const round of m.rounds) {
    if (!round.turn || round.no > upTo) continue;
    const { game } = round.turn.opened.place;
    const at = games.get(game) ?? { forfeits: [], moves: [] };
    games.set(game, at);
    const turn = round.turn.opened.place.turn || at.moves.length + 1;
    const moves = round.turn.moves.map((move) => listed(round, round.turn!.opened.place, turn, move));
    at.moves.push(...moves);
    const end = round.turn.closed?.place;
    if (!end?.over || end.game !== game) continue;
    at.points = Object.fromEntries(end.players.map((id, i) => [id, end.points[i] ?? 0]));
    at.forfeits = moves.filter((x) => x.manner === 'forfeit').map((x) => x.agentId);
  }
  return [...games].map(([game, g]) => ({ game, ...g }));
}

function listed(round: Round, place: Place, turn: number, { agent_id: agentId, move, legal }: PlayedMove): ListedMove {
  const lane = round.lanes[agentId];
  const manner = !move ? 'forfeit' : !legal ? 'default' : (lane?.attempts ?? 1) > 1 ? 'retried' : 'played';
  return { round, game: place.game, turn, agentId, player: place.players.indexOf(agentId), move, manner, lane };
}

/** A move in words: its canonical form, with what the number is where it is that of a column. */
export function moveText(move: string, turn: Turn | undefined): string {
  const column = /^\d{1,2}$/.test(move) ? Number(move) : 0;
  const form = column ? formOf(turn?.closed?.state) : undefined;
  const dropped = form?.kind === 'grid' && form.last.some((cell) => cell % form.columns === column - 1);
  return dropped ? t('match.column', { n: column }) : move;
}

/** Why an agent gave no legal move: a key of the texts why.*. Undefined where it gave one. */
export function whyOf(lane: Lane | undefined): 'illegal' | 'late' | 'left' | 'broken' | undefined {
  if (!lane?.outcome || (lane.outcome === 'answered' && !lane.reason)) return undefined;
  if (lane.reason === 'illegal_move') return 'illegal';
  if (lane.outcome === 'timeout') return 'late';
  return lane.outcome === 'unavailable' ? 'left' : 'broken';
}

/** What a player does in the turn that is shown. */
export interface Seated {
  readonly seat: Seat;
  readonly player: number;
  /** It must move, and has not yet. */
  readonly moves: boolean;
  /** It has moved, and others have not. */
  readonly locked: boolean;
  /** Seconds of its time bank when the turn opened. */
  readonly bank: number | undefined;
}

/** The players of a turn in the order of seats. */
export function seatedOf(m: MatchState, round: Round, turn: Turn): Seated[] {
  const { players } = latest(turn).place;
  return m.order.flatMap((id) => {
    const [seat, player] = [m.seats[id], players.indexOf(id)];
    if (!seat || player < 0) return [];
    const acts = !round.closedAt && turn.toAct.includes(id);
    const done = !!round.lanes[id]?.outcome;
    return [{ seat, player, moves: acts && !done, locked: acts && done, bank: turn.banks[id] }];
  });
}

/** Seconds of a time bank that are left so long after the turn opened. */
export const bankLeft = (bank: number, limitSeconds: number, elapsedMs: number): number =>
  Math.max(0, bank - Math.max(0, elapsedMs / 1000 - limitSeconds));

/** True where the players of a game do not sit as in the game before: their sides have been swapped. */
export const swapped = (m: MatchState, place: Place): boolean => place.players.some((id, i) => m.order[i] !== id);
