import type { League } from './api/contract';
import type { components } from './api/schema';

// The game of a league. Pure.

/** A game that leagues may play. */
export type Game = components['schemas']['Game'];
export type GameOption = Game['options'][number];

/** What a league says of its game. */
export interface LeagueGame {
  name: string;
  hash: string;
  hidden: boolean;
  games: number;
  duplicate: boolean;
  showLegal: boolean;
  /** In seconds. */
  bank: number;
  options: Record<string, number>;
}

/** The members of the API's object that are no options of the game. */
const SETTINGS = ['name', 'version', 'sha256', 'games_per_match', 'duplicate', 'time_bank_seconds', 'show_legal_moves', 'hidden'];

/** The game of a league or match; none: it asks questions. */
export function gameOf({ game: g }: Pick<League, 'game'>): LeagueGame | undefined {
  if (!g) return undefined;
  return {
    name: g.name,
    hash: g.sha256 ?? '',
    hidden: !!g.hidden,
    games: g.games_per_match ?? 2,
    duplicate: !!g.duplicate,
    showLegal: g.show_legal_moves ?? true,
    bank: g.time_bank_seconds ?? 0,
    options: Object.fromEntries(
      Object.entries(g as Record<string, unknown>).filter(
        (o): o is [string, number] => !SETTINGS.includes(o[0]) && typeof o[1] === 'number',
      ),
    ),
  };
}
