import type { Key } from '../i18n';
import type { MatchState, Round } from '../match/state';
import { gamesOf, moveText, whyOf, type ListedMove } from './moves';

// What is said in words about the newest moves: how a game ended, and what was
// not played as it should.

export interface Note {
  readonly key: Key;
  readonly params: Readonly<Record<string, string | number>>;
}

/** The newest closed turn up to a round. */
export const closedTurn = (m: MatchState, upTo: number): Round | undefined => m.rounds.findLast((r) => r.no <= upTo && r.turn?.closed);

/** The notes of the newest closed turn up to a round. points formats the points of a player. */
export function notesOf(m: MatchState, upTo: number, points: (n: number) => string): Note[] {
  const round = closedTurn(m, upTo);
  if (!round?.turn?.closed) return [];
  const game = gamesOf(m, round.no).find((g) => g.game === round.turn!.opened.place.game);
  const name = (id: string) => m.seats[id]?.name ?? '';
  const notes = (game?.moves ?? []).filter((x) => x.round === round).flatMap((x) => noted(x, name(x.agentId)));
  if (!game?.points) return notes;
  const all = Object.entries(game.points);
  const most = Math.max(...all.map(([, p]) => p));
  const first = all.filter(([, p]) => p === most);
  if (all.length > 2)
    notes.push({ key: 'game.result.many', params: { n: game.game, list: all.map(([id, p]) => `${name(id)} ${points(p)}`).join(', ') } });
  else if (first.length === 1) notes.push({ key: 'game.result.win', params: { name: name(first[0]![0]), n: game.game } });
  else notes.push({ key: 'game.result.draw', params: { n: game.game } });
  return notes;
}

function noted(x: ListedMove, name: string): Note[] {
  if (x.manner === 'played') return [];
  if (x.manner === 'retried') return [{ key: 'game.note.retried', params: { name } }];
  const why = whyOf(x.lane);
  const then: Note =
    x.manner === 'default'
      ? { key: 'game.then.default', params: { move: moveText(x.move, x.round.turn) } }
      : { key: 'game.then.forfeit', params: {} };
  return [...(why ? [{ key: `game.why.${why}` as const, params: { name } }] : []), then];
}
