import type { Match } from '../api/contract';
import type { MatchState, Round } from './state';

// What an elimination shows under its grid: how many are left after each round,
// and what the newest closed round did. Pure; open rounds have no effect.

/** How many of an elimination's agents are left; undefined for other matches, and for one that has not begun. */
export function leftOf({ format, seats, status }: Pick<Match, 'format' | 'seats' | 'status'>): { n: number; total: number } | undefined {
  if (format !== 'elimination' || status === 'scheduled') return undefined;
  return { n: seats.filter((s) => s.state === 'active').length, total: seats.length };
}

/** Agents of a match that are still in. */
export const activeIn = (m: MatchState): number => m.order.filter((id) => m.seats[id]?.state === 'active').length;

/** Agents still in: at the start, and after each closed round up to a round. */
export function survivorsOf(m: MatchState, upTo: number): number[] {
  const closed = m.rounds.filter((r) => r.closedAt && r.no <= upTo);
  return [m.order.length, ...closed.map((r) => r.standings.filter((s) => s.state === 'active').length)];
}

export interface Ticker {
  readonly round: number;
  /** The answer that most agents gave, and how many did. */
  readonly answer: string;
  readonly said: number;
  readonly right: boolean;
  /** Agents that had a reply or should have had one. */
  readonly played: number;
  /** Agents that dropped out in the round. */
  readonly out: number;
}

/** The newest closed round up to a round, in numbers. Ties go to the right answer, then to the first one given. */
export function tickerOf(m: MatchState, upTo: number): Ticker | undefined {
  const closed = m.rounds.filter((r) => r.closedAt && r.no <= upTo);
  const round = closed.at(-1);
  if (!round) return undefined;
  const lanes = m.order.map((id) => round.lanes[id]).filter((l) => l?.outcome !== undefined);
  const counts = new Map<string, { answer: string; said: number; right: boolean }>();
  for (const lane of lanes) {
    if (lane?.outcome !== 'answered' || lane.answer?.answer === undefined) continue;
    const answer = optionOf(round, lane.answer.answer);
    const key = fold(answer);
    const known = counts.get(key);
    counts.set(key, { answer: known?.answer ?? answer, said: (known?.said ?? 0) + 1, right: known?.right || (lane.points ?? 0) >= 1 });
  }
  const [top] = [...counts.values()].sort((a, b) => b.said - a.said || Number(b.right) - Number(a.right));
  const before = closed.at(-2);
  const was = new Set(before ? before.standings.filter((s) => s.state === 'active').map((s) => s.agent_id) : m.order);
  const out = round.standings.filter((s) => s.state === 'out' && was.has(s.agent_id)).length;
  return { round: round.no, answer: top?.answer ?? '', said: top?.said ?? 0, right: top?.right ?? false, played: lanes.length, out };
}

const fold = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase();

/** An answer that names an option, by letter or by text, as that option. */
function optionOf(round: Round, answer: string): string {
  const options = round.task.options ?? [];
  const letter = /^\(?([a-z])[).]?$/i.exec(answer.trim())?.[1];
  const byText = options.find((o) => fold(o) === fold(answer));
  return byText ?? (letter ? options[letter.toLowerCase().charCodeAt(0) - 97] : undefined) ?? answer;
}
