import { describe, expect, it } from 'vitest';
import { clockOf, daysOf, later, type CalendarItem } from './calendar';

describe('a month', () => {
  const item = (day: string): CalendarItem => ({ day, league: 'cup', title: 'Cup', kind: 'season', season: 1 });
  it('has all its days, the first under its weekday', () => {
    const days = daysOf({ month: '2026-11', items: [item('2026-11-30')] });
    expect([days.length, days[0]?.date, days[0]?.weekday, days[29]?.items.length]).toEqual([30, '2026-11-01', 7, 1]);
    expect(daysOf({ month: '2028-02', items: [] })).toHaveLength(29);
  });
  it.each([
    ['2026-11', 1, '2026-12'],
    ['2026-12', 1, '2027-01'],
    ['2026-01', -1, '2025-12'],
  ])('%s and %i is %s', (month, by, want) => expect(later(month, by)).toBe(want));
});

describe('a time', () => {
  it('is the hour in UTC, with its date when it is of another day', () => {
    expect(clockOf('2026-11-21T18:05:00.000Z', '2026-11-21', 'en')).toBe('18:05');
    expect(clockOf('2026-10-12T00:05:00.000Z', '2026-11-01', 'en')).toBe('Oct 12, 00:05');
  });
});
