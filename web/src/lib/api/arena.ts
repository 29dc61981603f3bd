import { get, post } from './client';
import type {
  Agent,
  Calibration,
  Comparison,
  ConformanceReport,
  FirstMovers,
  Judge,
  League,
  LeagueAudit,
  List,
  Lobby,
  Loss,
  Match,
  OpponentRecord,
  RatingHistory,
  Recap,
  Results,
  Season,
  Standing,
  Tiers,
  Topics,
  UptimeDay,
  WholeSeason,
} from './contract';

// The API's routes that the page reads, one function each.

export interface MatchQuery {
  /** One status, or several separated by commas. */
  status?: string | undefined;
  league?: string | undefined;
  agent?: string | undefined;
  opponent?: string | undefined;
  q?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  order?: 'newest' | 'soonest' | undefined;
  cursor?: string | undefined;
  limit?: number;
}

const id = encodeURIComponent;

/** All that the first page shows. */
export const lobby = (signal?: AbortSignal) => get<Lobby>('/v1/lobby', {}, signal);
/** The best moments of a day, or of a season of a league. */
export const recap = (of: { day?: string | undefined; league?: string; season?: number }, signal?: AbortSignal) =>
  get<Recap>('/v1/recap', of, signal);
export const banner = (signal?: AbortSignal) => get<Lobby['banner']>('/v1/banner', {}, signal);
export const leagues = (signal?: AbortSignal) => get<List<League>>('/v1/leagues', {}, signal);
export const league = (slug: string, signal?: AbortSignal) => get<League>(`/v1/leagues/${id(slug)}`, {}, signal);
/** A whole table. One of thousands of agents comes in parts. */
export const standings = async (slug: string, signal?: AbortSignal) => {
  const part = (cursor?: string) =>
    get<List<Standing> & { frozen: boolean; first_mover?: FirstMovers; tiers?: Tiers }>(
      `/v1/leagues/${id(slug)}/standings`,
      { cursor },
      signal,
    );
  const table = await part();
  for (let next = table.next_cursor; next;) {
    const more = await part(next);
    table.items.push(...more.items);
    next = more.next_cursor;
  }
  return table;
};
/** Whether agent a beats agent b. */
export const comparison = (slug: string, a: string, b: string, signal?: AbortSignal) =>
  get<Comparison>(`/v1/leagues/${id(slug)}/comparison`, { a, b }, signal);
/** Newest first, a part at a time. */
export const seasons = (slug: string, cursor: string, signal?: AbortSignal) =>
  get<List<Season>>(`/v1/leagues/${id(slug)}/seasons`, { cursor: cursor || undefined }, signal);
export const season = (slug: string, no: number, signal?: AbortSignal) =>
  get<WholeSeason>(`/v1/leagues/${id(slug)}/seasons/${no}`, {}, signal);
export const audit = (slug: string, signal?: AbortSignal) => get<LeagueAudit>(`/v1/leagues/${id(slug)}/audit`, {}, signal);
export const judge = (slug: string, signal?: AbortSignal) => get<Judge>(`/v1/leagues/${id(slug)}/judge`, {}, signal);
/** The matches of a league that its page shows: live, to come, finished. */
export const leagueMatches = async (slug: string, signal?: AbortSignal): Promise<Match[]> => {
  const lists = await Promise.all(
    (['running', 'scheduled', 'finished'] as const).map((status) =>
      matches({ league: slug, status, limit: status === 'running' ? 50 : 20 }, signal),
    ),
  );
  return lists.flatMap((l) => l.items);
};
export const matches = (query: MatchQuery, signal?: AbortSignal) => get<List<Match>>('/v1/matches', { ...query }, signal);
export const match = (matchId: string, signal?: AbortSignal) => get<Match>(`/v1/matches/${id(matchId)}`, {}, signal);
export const agent = (agentId: string, signal?: AbortSignal) => get<Agent>(`/v1/agents/${id(agentId)}`, {}, signal);
/** Agents with a text in their name. */
export const agents = (q: string, limit: number, signal?: AbortSignal) => get<List<Agent>>('/v1/agents', { q, limit }, signal);
export const conformance = (agentId: string, signal?: AbortSignal) =>
  get<ConformanceReport>(`/v1/agents/${id(agentId)}/conformance`, {}, signal);
export const agentMatches = (agentId: string, limit: number, signal?: AbortSignal) =>
  get<List<Match>>(`/v1/agents/${id(agentId)}/matches`, { limit }, signal);
export const ratingHistory = (agentId: string, signal?: AbortSignal) =>
  get<List<RatingHistory>>(`/v1/agents/${id(agentId)}/ratings`, {}, signal);

export const results = (agentId: string, signal?: AbortSignal) => get<Results>(`/v1/agents/${id(agentId)}/outcomes`, {}, signal);
/** Rounds that it lost, newest first. */
export const losses = (agentId: string, limit: number, signal?: AbortSignal) =>
  get<List<Loss>>(`/v1/agents/${id(agentId)}/losses`, { limit }, signal);
export const topics = (agentId: string, version: string, signal?: AbortSignal) =>
  get<Topics>(`/v1/agents/${id(agentId)}/topics`, { version: version || undefined }, signal);
export const opponents = (agentId: string, signal?: AbortSignal) =>
  get<List<OpponentRecord>>(`/v1/agents/${id(agentId)}/opponents`, {}, signal);
export const calibration = (agentId: string, signal?: AbortSignal) => get<Calibration>(`/v1/agents/${id(agentId)}/calibration`, {}, signal);
/** By day, 90 days. */
export const uptime = (agentId: string, signal?: AbortSignal) => get<List<UptimeDay>>(`/v1/agents/${id(agentId)}/uptime`, {}, signal);

/** A vote on the open round: the label of the better answer or "tie", and what it was compared with. */
export interface Vote {
  round: number;
  better: string;
  other?: string;
}

/** Counts a spectator's answer to the open round of a sealed match. */
export const guess = (match: string, round: number, answer: string) =>
  post<unknown>(`/v1/matches/${id(match)}/rounds/${round}/guess`, { answer });
/** How often spectators gave each answer, in the rounds that have closed. */
export const guesses = (match: string, signal?: AbortSignal) =>
  get<List<{ round: number; answers: Record<string, number> }>>(`/v1/matches/${id(match)}/guesses`, {}, signal);
export const votesPath = (matchId: string) => `/v1/matches/${id(matchId)}/votes`;
export const vote = (matchId: string, body: Vote, signal?: AbortSignal) => post<Vote>(votesPath(matchId), body, signal);
