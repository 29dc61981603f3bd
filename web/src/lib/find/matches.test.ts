import { describe, expect, it } from 'vitest';
import type { Match } from '../api/contract';
import { byDay, dayOf, daysFrom, dayText, filtersOf, matchesLink, queryOf } from './matches';

const none = { league: '', agent: '', opponent: '', status: '', q: '', from: '', to: '' };

describe('the filters of matches', () => {
  it('survive their address', () => {
    const all = { league: 'quiz', agent: 'ag_1', opponent: 'ag_2', status: 'finished', q: 'a&b', from: '2026-11-01', to: '2026-11-21' };
    expect(filtersOf(new URL(matchesLink(all), 'http://a').searchParams)).toEqual(all);
    expect(matchesLink({})).toBe('/matches');
    expect(matchesLink({ agent: 'ag_1' })).toBe('/matches?agent=ag_1');
  });

  it('leave out what cannot be one', () => {
    expect(filtersOf(new URLSearchParams(`status=lost&opponent=ag_2&from=today&to=2026-99&q=${'x'.repeat(41)}`))).toEqual(none);
  });

  it('ask for whole days of the reader', () => {
    const asked = queryOf({ ...none, from: '2026-11-01', to: '2026-11-01' }, '', 30);
    expect(asked.from).toBe(new Date(2026, 10, 1).toISOString());
    expect(asked.to).toBe(new Date(2026, 10, 2).toISOString());
    expect(queryOf({ ...none, status: 'void' }, 'c', 30)).toMatchObject({ status: 'void,cancelled', cursor: 'c', order: undefined });
    expect(queryOf({ ...none, status: 'scheduled' }, '', 30).order).toBe('soonest');
  });
});

it('parts matches by the day of the reader', () => {
  const at = (h: number) => ({ match_id: String(h), starts_at: new Date(2026, 10, 21, h).toISOString() }) as Match;
  expect(byDay([at(25), at(23), at(0), at(-1)]).map((d) => [d.day, d.matches.map((m) => m.match_id)])).toEqual([
    ['2026-11-22', ['25']],
    ['2026-11-21', ['23', '0']],
    ['2026-11-20', ['-1']],
  ]);
});

it('names days', () => {
  const now = new Date(2026, 10, 21, 12);
  expect([dayOf(now), daysFrom('2026-11-20', now), daysFrom('2026-11-22', now)]).toEqual(['2026-11-21', -1, 1]);
  expect(dayText('2026-11-20', now, 'en')).toBe('Friday 20 November');
  expect(dayText('2025-11-20', now, 'es')).toBe('jueves, 20 de noviembre de 2025');
});
