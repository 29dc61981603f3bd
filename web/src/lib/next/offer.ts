import * as api from '../api/arena';
import type { Lobby, Match } from '../api/contract';
import { hasBracket } from '../season/season';
import { finalsOf, type Known } from './pick';

/** So many leagues are asked for the final of their bracket. */
const BRACKETS_MAX = 4;

/** What is on, and what the choice among it needs. */
export interface Offer {
  readonly lobby: Lobby;
  readonly known: Known;
}

export async function readOffer(signal?: AbortSignal): Promise<Offer> {
  const lobby = await api.lobby(signal);
  return { lobby, known: knownOf(lobby, await readFinals(lobby.live, signal)) };
}

/** What the lobby's one request and the finals of brackets say of matches. */
export const knownOf = (lobby: Lobby, finals: ReadonlySet<string>): Known => ({
  ratings: lobby.ratings,
  finals,
  byRound: new Set(lobby.leagues.filter((l) => l.league.score_mode === 'rounds').map((l) => l.league.slug)),
});

/** Ids of the finals among live matches; a bracket that cannot be read has none. */
export async function readFinals(live: readonly Match[], signal?: AbortSignal): Promise<Set<string>> {
  const leagues = [...new Set(live.filter((m) => hasBracket(m.format)).map((m) => m.league))].slice(0, BRACKETS_MAX);
  const read = await Promise.allSettled(
    leagues.map(async (slug) => {
      const running = (await api.seasons(slug, '', signal)).items.find((s) => s.status === 'running');
      return running ? finalsOf(await api.season(slug, running.season, signal)) : [];
    }),
  );
  return new Set(read.flatMap((r) => (r.status === 'fulfilled' ? r.value : [])));
}
