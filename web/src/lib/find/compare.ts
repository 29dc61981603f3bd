import type { Agent, OpponentRecord } from '../api/contract';

// Agents side by side. Pure.

export const MOST = 4;
const ID_MAX = 64;

/** The agents that an address names, each once, at most MOST. */
export const agentsOf = (query: URLSearchParams): string[] =>
  [
    ...new Set(
      (query.get('agents') ?? '')
        .split(',')
        .map((id) => id.trim())
        .filter((id) => id && id.length <= ID_MAX),
    ),
  ].slice(0, MOST);

export const compareLink = (ids: readonly string[]): string =>
  ids.length ? `/compare?agents=${ids.map(encodeURIComponent).join(',')}` : '/compare';

/** The leagues in which one of the agents has a rating, those of most agents and then of most matches first. */
export function leaguesOf(agents: readonly Agent[]): string[] {
  const known = new Map<string, { agents: number; matches: number }>();
  for (const a of agents) {
    for (const [slug, r] of Object.entries(a.ratings)) {
      const sum = known.get(slug) ?? { agents: 0, matches: 0 };
      known.set(slug, { agents: sum.agents + 1, matches: sum.matches + r.rated_matches });
    }
  }
  return [...known].sort(([x, a], [y, b]) => b.agents - a.agents || b.matches - a.matches || x.localeCompare(y)).map(([slug]) => slug);
}

/** The leagues in which both agents have a rating or play, those with most matches first. */
export const commonLeagues = (a: Agent, b: Agent): string[] => {
  const plays = (agent: Agent, slug: string) => slug in agent.ratings || agent.leagues.includes(slug);
  return [...new Set([...leaguesOf([a, b]), ...a.leagues])].filter((slug) => plays(a, slug) && plays(b, slug));
};

export type Record = Pick<OpponentRecord, 'matches' | 'wins' | 'draws' | 'losses'>;

/** What an agent's matches against another came to. */
export const recordOf = (records: readonly OpponentRecord[] | undefined, other: string): Record =>
  records?.find((r) => r.agent_id === other) ?? { matches: 0, wins: 0, draws: 0, losses: 0 };
