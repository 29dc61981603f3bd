import type { components } from '../api/schema';

// The form of a budget and what the API takes. Pure.

export type Budget = components['schemas']['Budget'];

/** The days of the week, Monday first, with a date of each. */
export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Day = (typeof DAYS)[number];

/** The fields as they are typed. An empty field limits nothing. */
export interface BudgetForm {
  matches: string;
  tokens: string;
  from: string;
  to: string;
  zone: string;
  days: Day[];
}

const MIDNIGHT = '24:00';

/** The form of a budget; without one, in the reader's zone. */
export function formOf(b: Budget | undefined, zone: string): BudgetForm {
  const h = b?.hours;
  const all = !h || (h.from === '00:00' && h.to === MIDNIGHT);
  return {
    matches: b?.matches_per_day ? String(b.matches_per_day) : '',
    tokens: b?.tokens_per_day ? String(b.tokens_per_day) : '',
    from: all ? '' : (h.from ?? ''),
    to: all ? '' : h.to === MIDNIGHT ? '00:00' : (h.to ?? ''),
    zone: h?.zone ?? zone,
    days: (h?.days ?? []) as Day[],
  };
}

/** The budget of a form; null removes all limits. Days of the budget are those of its zone, also without hours. */
export function budgetOf(f: BudgetForm): Budget | null {
  const [matches, tokens] = [Number(f.matches), Number(f.tokens)];
  const hours = {
    ...(f.from ? { from: f.from } : {}),
    ...(f.to ? { to: f.to } : {}),
    ...(f.days.length && f.days.length < DAYS.length ? { days: DAYS.filter((d) => f.days.includes(d)) } : {}),
  };
  const timed = Object.keys(hours).length > 0;
  if (!matches && !tokens && !timed) return null;
  return {
    ...(matches ? { matches_per_day: matches } : {}),
    ...(tokens ? { tokens_per_day: tokens } : {}),
    ...(timed || f.zone !== 'UTC' ? { hours: { zone: f.zone, ...hours } } : {}),
  };
}

/** The used part of a limit, 0 to 1. */
export const part = (used: number, limit: number): number => Math.min(1, used / limit);
