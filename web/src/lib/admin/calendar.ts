import type { components } from '../api/schema';

// A month of seasons, by days. Days and times are UTC, as schedules are. Pure.

export type Calendar = components['schemas']['Calendar'];
export type CalendarItem = components['schemas']['CalendarItem'];

export interface Day {
  /** 2026-11-21 */
  readonly date: string;
  /** 1 is Monday. */
  readonly weekday: number;
  readonly items: readonly CalendarItem[];
}

/** Every day of a month. */
export function daysOf({ month, items }: Pick<Calendar, 'month' | 'items'>): Day[] {
  const [year, no] = month.split('-').map(Number) as [number, number];
  const count = new Date(Date.UTC(year, no, 0)).getUTCDate();
  return Array.from({ length: count }, (_, i) => {
    const date = `${month}-${String(i + 1).padStart(2, '0')}`;
    return { date, weekday: new Date(date).getUTCDay() || 7, items: items.filter((item) => item.day === date) };
  });
}

/** The month so many months later. */
export function later(month: string, by: number): string {
  const [year, no] = month.split('-').map(Number) as [number, number];
  return new Date(Date.UTC(year, no - 1 + by, 1)).toISOString().slice(0, 7);
}

/** 18:00 on the item's own day, else with the date. */
export const clockOf = (at: string, day: string, language: string): string =>
  new Intl.DateTimeFormat(language, {
    timeZone: 'UTC',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    ...(at.startsWith(day) ? {} : { day: 'numeric', month: 'short' }),
  }).format(new Date(at));
