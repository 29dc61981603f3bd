import type { MatchQuery } from '../api/arena';
import type { Match } from '../api/contract';

// The filters of the list of matches, and its days. Pure.

/** The filters as they stand in the address. from and to are days of the reader. */
export interface MatchFilters {
  readonly league: string;
  readonly agent: string;
  readonly opponent: string;
  readonly status: string;
  readonly q: string;
  readonly from: string;
  readonly to: string;
}

export const STATUSES = ['live', 'scheduled', 'finished', 'void'] as const;
export type StatusFilter = (typeof STATUSES)[number];

const NAMES = ['league', 'agent', 'opponent', 'status', 'q', 'from', 'to'] as const;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Filters from an address; what cannot be a filter is left out. */
export function filtersOf(query: URLSearchParams): MatchFilters {
  const get = (name: string, fits: (text: string) => boolean) => {
    const text = query.get(name)?.trim() ?? '';
    return fits(text) ? text : '';
  };
  const short = (most: number) => (text: string) => text.length <= most;
  const agent = get('agent', short(64));
  return {
    agent,
    league: get('league', short(40)),
    opponent: agent && get('opponent', short(64)),
    q: get('q', short(40)),
    status: get('status', (s) => (STATUSES as readonly string[]).includes(s)),
    from: get('from', isDay),
    to: get('to', isDay),
  };
}

const isDay = (text: string): boolean => DAY.test(text) && !Number.isNaN(midnight(text).getTime());

/** The address of a list of matches. */
export function matchesLink(filters: Partial<MatchFilters>, base = '/matches'): string {
  const query = new URLSearchParams();
  for (const name of NAMES) if (filters[name]) query.set(name, filters[name]);
  const text = query.toString();
  return text ? `${base}?${text}` : base;
}

/** The start of a day of the reader, so many days later. */
export function midnight(day: string, later = 0): Date {
  const [year, month, date] = day.split('-').map(Number) as [number, number, number];
  return new Date(year, month - 1, date + later);
}

/** What the API is asked for. The day of to is part of the list. */
export function queryOf(f: MatchFilters, cursor: string, limit: number): MatchQuery {
  return {
    league: f.league || undefined,
    agent: f.agent || undefined,
    opponent: f.opponent || undefined,
    q: f.q || undefined,
    status: f.status === 'void' ? 'void,cancelled' : f.status || undefined,
    from: f.from ? midnight(f.from).toISOString() : undefined,
    to: f.to ? midnight(f.to, 1).toISOString() : undefined,
    order: f.status === 'scheduled' ? 'soonest' : undefined,
    cursor: cursor || undefined,
    limit,
  };
}

/** The reader's day of a moment: 2026-11-21. */
export function dayOf(at: Date): string {
  const pad = (n: number) => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

/** Matches in parts of one day, in the order that they have. */
export function byDay(matches: readonly Match[]): { day: string; matches: Match[] }[] {
  const days: { day: string; matches: Match[] }[] = [];
  for (const m of matches) {
    const day = dayOf(new Date(m.starts_at));
    const last = days.at(-1);
    if (last?.day === day) last.matches.push(m);
    else days.push({ day, matches: [m] });
  }
  return days;
}

/** A day of the reader as a heading: "Saturday, 21 November", with the year when it is another one. */
export function dayText(day: string, now: Date, language: string): string {
  const at = midnight(day);
  return new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    ...(at.getFullYear() === now.getFullYear() ? {} : { year: 'numeric' }),
  }).format(at);
}

/** Days from today: -1 is yesterday. */
export const daysFrom = (day: string, now: Date): number =>
  Math.round((midnight(day).getTime() - midnight(dayOf(now)).getTime()) / 86_400_000);
