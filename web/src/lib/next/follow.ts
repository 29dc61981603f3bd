import type { Match } from '../api/contract';

// The agents and leagues that a reader follows. Pure.

export interface Follow {
  readonly kind: 'agent' | 'league';
  readonly id: string;
  /** As it was when it was followed. */
  readonly name: string;
}

export const FOLLOWS_MAX = 100;
const ID_MAX = 64;
const NAME_MAX = 80;

const sameAs = (a: Pick<Follow, 'kind' | 'id'>) => (b: Pick<Follow, 'kind' | 'id'>) => a.kind === b.kind && a.id === b.id;

/** What was stored, as far as it can be used: anything may stand in a browser's storage. */
export function parseFollows(text: string | null): Follow[] {
  let read: unknown;
  try {
    read = JSON.parse(text ?? '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(read)) return [];
  const follows: Follow[] = [];
  for (const item of read as unknown[]) {
    if (follows.length >= FOLLOWS_MAX) break;
    const f = item as Partial<Follow> | null;
    if ((f?.kind !== 'agent' && f?.kind !== 'league') || typeof f.id !== 'string' || !f.id || f.id.length > ID_MAX) continue;
    if (follows.some(sameAs({ kind: f.kind, id: f.id }))) continue;
    follows.push({ kind: f.kind, id: f.id, name: typeof f.name === 'string' ? f.name.slice(0, NAME_MAX) : f.id });
  }
  return follows;
}

/** The list with one more, or without one that it has; undefined when it is full. */
export function toggled(follows: readonly Follow[], f: Follow): Follow[] | undefined {
  if (follows.some(sameAs(f))) return follows.filter((other) => !sameAs(f)(other));
  return follows.length < FOLLOWS_MAX ? [...follows, { ...f, name: f.name.slice(0, NAME_MAX) }] : undefined;
}

export const isFollowed = (follows: readonly Follow[], kind: Follow['kind'], id: string): boolean => follows.some(sameAs({ kind, id }));

/** Reports whether a follow concerns a match. */
export const concerns = (f: Follow, m: Match): boolean =>
  f.kind === 'league' ? m.league === f.id : m.seats.some((s) => s.agent_id === f.id);

/** What is followed with its live match, if it has one, and its next: what is live first, then what plays soonest, then in the order of following. */
export function lineUp(
  follows: readonly Follow[],
  live: readonly Match[],
  next: readonly Match[],
): { follow: Follow; live: Match | undefined; next: Match | undefined }[] {
  const lines = follows.map((follow) => ({
    follow,
    live: live.find((m) => concerns(follow, m)),
    next: next.find((m) => concerns(follow, m)),
  }));
  const rank = (l: (typeof lines)[number]) => (l.live ? '0' : l.next ? `1${l.next.starts_at}` : '2');
  return lines.sort((a, b) => rank(a).localeCompare(rank(b)));
}
