import { t } from '../i18n';
import '../i18n/game.en';
import type { MatchState } from '../match/state';
import { formOf } from './forms';
import type { Snapshot } from './place';

// The players of a game as its views show them: the agents of the match.

export interface Player {
  readonly id: string;
  readonly name: string;
  /** Its place in the order of seats, which stays when the sides are swapped. */
  readonly seat: number;
  /** What stands for its pieces; "" in a game without. */
  readonly symbol: string;
}

/** The player with a number. */
export type Players = (player: number) => Player;

/** Discs differ by a ring as well as by color. */
export const DISCS: ReadonlySet<string> = new Set(['●', '○', '⚫', '⚪', '•', '⬤']);
export const KINGS: readonly string[] = ['♔', '♚'];

export function playersOf(m: MatchState, { place, state }: Snapshot): Players {
  const form = formOf(state);
  const symbol = (player: number) =>
    form?.kind !== 'grid' ? '' : form.fen ? (KINGS[player] ?? '') : (form.pieces.find((p) => p.player === player)?.symbol ?? '');
  const players = place.players.map((id, i) => ({
    id,
    name: m.seats[id]?.name ?? t('game.player', { n: i + 1 }),
    seat: m.order.indexOf(id),
    symbol: symbol(i),
  }));
  return (n) => players[n] ?? { id: '', name: t('game.player', { n: n + 1 }), seat: n, symbol: '' };
}

/** What has a player number each, in the order of seats: it stays when the sides are swapped. */
export const bySeat = <T extends { readonly player: number }>(items: readonly T[], player: Players): T[] =>
  items.toSorted((a, b) => player(a.player).seat - player(b.player).seat);
