import { formOf, type Cards, type Form } from '../game/forms';
import { gamesOf, moveText, whyOf, type ListedMove, type PlayedGame } from '../game/moves';
import { swingOf } from '../game/place';
import type { MatchState, Round } from '../match/state';
import type { Line, Said } from './commentary';

// The lines of a match of games: each follows from the public states and the
// moves of closed turns alone (docs/watching.md).

interface Scene {
  readonly m: MatchState;
  readonly round: Round;
  readonly game: PlayedGame;
  /** The games that are over, in order, this one included. */
  readonly over: readonly PlayedGame[];
  /** The moves of the turn. */
  readonly moves: readonly ListedMove[];
  readonly before: Form | undefined;
  readonly after: Form | undefined;
  readonly name: (id: string | undefined) => string;
}

/** The only move of a turn. */
const only = (s: Scene): ListedMove | undefined => (s.moves.length === 1 ? s.moves[0] : undefined);
const total = (games: readonly PlayedGame[], id: string): number => games.reduce((sum, g) => sum + (g.points?.[id] ?? 0), 0);
const lead = (m: MatchState, games: readonly PlayedGame[]): number => total(games, m.order[0] ?? '') - total(games, m.order[1] ?? '');
const left = (s: Scene): number => (s.round.turn?.opened.place.games ?? 0) - s.over.length;

/** The only agent with the most points of a game that is over. */
function winner(game: PlayedGame): string | undefined {
  const all = Object.entries(game.points ?? {});
  const most = Math.max(...all.map(([, p]) => p));
  const first = all.filter(([, p]) => p === most);
  return all.length && first.length === 1 ? first[0]![0] : undefined;
}

const cards = (f: Cards): readonly string[] => f.hands.flatMap((h) => h.cards);

/** A move that turned hidden cards up, after a move of another player: it called that one. Cards that are gone were folded. */
function called(s: Scene): { by: ListedMove; of: ListedMove } | undefined {
  const by = only(s);
  const of = s.game.moves[s.game.moves.indexOf(by!) - 1];
  if (!by?.move || !of || of.agentId === by.agentId || s.before?.kind !== 'cards' || s.after?.kind !== 'cards') return undefined;
  const [held, shown] = [cards(s.before), cards(s.after)];
  return held.includes('?') && shown.length && !shown.includes('?') ? { by, of } : undefined;
}

/** Chess, and how its notation marks a move. */
const chess = (s: Scene, mark: RegExp): ListedMove | undefined =>
  s.after?.kind === 'grid' && s.after.fen && mark.test(only(s)?.move ?? '') ? only(s) : undefined;

/** What a turn says, the weightiest first. */
const RULES: readonly { rule: string; say: (s: Scene) => Said | undefined }[] = [
  { rule: 'game_void', say: (s) => (Object.values(s.round.lanes).some((l) => l.outcome === 'void') ? {} : undefined) },
  {
    rule: 'series_decided',
    say: (s) => {
      if (!s.game.points || s.m.order.length !== 2 || left(s) <= 0) return undefined;
      const now = lead(s.m, s.over);
      const was = lead(s.m, s.over.slice(0, -1));
      const first = s.m.order[now > 0 ? 0 : 1];
      return Math.abs(now) > left(s) && Math.abs(was) <= left(s) + 1
        ? { name: s.name(first), points: [total(s.over, first!), total(s.over, first!) - Math.abs(now)], n: left(s) }
        : undefined;
    },
  },
  {
    rule: 'game_forfeit',
    say: (s) =>
      s.moves.some((x) => x.manner === 'forfeit')
        ? { name: s.name(s.moves.find((x) => x.manner === 'forfeit')!.agentId), n: s.game.game }
        : undefined,
  },
  { rule: 'game_mate', say: (s) => (chess(s, /#/) ? { name: s.name(only(s)?.agentId), n: s.game.game } : undefined) },
  {
    rule: 'game_line',
    say: (s) =>
      s.game.points && winner(s.game) && s.after?.kind === 'grid' && s.after.line.length
        ? { name: s.name(winner(s.game)), n: s.game.game }
        : undefined,
  },
  { rule: 'called_right', say: (s) => call(s, true) },
  { rule: 'called_wrong', say: (s) => call(s, false) },
  { rule: 'game_won', say: (s) => (s.game.points && winner(s.game) ? { name: s.name(winner(s.game)), n: s.game.game } : undefined) },
  { rule: 'game_drawn', say: (s) => (s.game.points ? { n: s.game.game } : undefined) },
  { rule: 'move_default', say: (s) => defaulted(s) },
  {
    rule: 'swing',
    say: (s) => {
      const turn = s.round.turn!;
      const swing = swingOf(turn.opened.place, turn.closed!.place);
      return swing ? { name: s.name(swing.agentId) } : undefined;
    },
  },
  { rule: 'check', say: (s) => (chess(s, /\+/) ? { name: s.name(only(s)?.agentId), move: only(s)!.move } : undefined) },
  { rule: 'capture', say: (s) => (chess(s, /x/) ? { name: s.name(only(s)?.agentId), move: only(s)!.move } : undefined) },
  {
    rule: 'move_again',
    say: (s) =>
      s.moves.some((x) => x.manner === 'retried') ? { name: s.name(s.moves.find((x) => x.manner === 'retried')!.agentId) } : undefined,
  },
  { rule: 'move', say: (s) => (only(s) ? { name: s.name(only(s)!.agentId), move: moveText(only(s)!.move, s.round.turn) } : undefined) },
  { rule: 'moves', say: (s) => ({ n: s.moves.length }) },
];

function defaulted(s: Scene): Said | undefined {
  const x = s.moves.find((y) => y.manner === 'default');
  return x && whyOf(x.lane) ? { name: s.name(x.agentId), move: moveText(x.move, s.round.turn) } : undefined;
}

/** right: the player who was called got the worse of it. */
function call(s: Scene, right: boolean): Said | undefined {
  const c = called(s);
  const place = s.round.turn?.closed?.place;
  if (!c || !place || s.before?.kind !== 'cards' || s.after?.kind !== 'cards') return undefined;
  const chips = (f: Cards, player: number) => f.hands.find((h) => h.player === player)?.chips ?? 0;
  const change = (player: number) =>
    place.over ? (place.points[player] ?? 0) : chips(s.after as Cards, player) - chips(s.before as Cards, player);
  const gap = change(c.by.player) - change(c.of.player);
  return gap !== 0 && gap > 0 === right ? { name: s.name(c.by.agentId), other: s.name(c.of.agentId) } : undefined;
}

/** The line of the newest closed turn up to a round; undefined before the first. */
export function gameLineOf(m: MatchState, shown: number): Line | undefined {
  const round = m.rounds.findLast((r) => r.no <= shown && r.turn?.closed);
  if (!round?.turn?.closed) return undefined;
  const games = gamesOf(m, round.no);
  const game = games.find((g) => g.game === round.turn!.opened.place.game);
  if (!game) return undefined;
  const scene: Scene = {
    m,
    round,
    game,
    over: games.filter((g) => g.points),
    moves: game.moves.filter((x) => x.round === round),
    name: (id) => m.seats[id ?? '']?.name ?? '',
    before: formOf(round.turn.opened.state),
    after: formOf(round.turn.closed.state),
  };
  for (const { rule, say } of RULES) {
    const said = say(scene);
    if (said) return { round: round.no, rule, ...said };
  }
  return undefined;
}

/** Names of all rules, for the dictionaries. */
export const GAME_RULES: readonly string[] = RULES.map((r) => r.rule);

/** Rules of results that count right answers and rounds. */
export const NOT_IN_GAMES: ReadonlySet<string> = new Set(['win_perfect', 'win_last_round', 'win_lost_rounds', 'win_comeback']);
