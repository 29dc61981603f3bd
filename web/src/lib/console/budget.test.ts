import { describe, expect, it } from 'vitest';
import { budgetOf, formOf, part } from './budget';

describe('the form of a budget', () => {
  const empty = formOf(undefined, 'Europe/Madrid');

  it('limits nothing when it is empty', () => {
    expect(empty).toEqual({ matches: '', tokens: '', from: '', to: '', zone: 'Europe/Madrid', days: [] });
    expect(budgetOf(empty)).toBeNull();
    expect(budgetOf({ ...empty, days: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] })).toBeNull();
  });

  it('has the zone of the days, also without hours', () => {
    expect(budgetOf({ ...empty, matches: '20' })).toEqual({ matches_per_day: 20, hours: { zone: 'Europe/Madrid' } });
    expect(budgetOf({ ...empty, zone: 'UTC', tokens: '500' })).toEqual({ tokens_per_day: 500 });
  });

  it('reads what it has written', () => {
    for (const f of [
      { ...empty, matches: '3', tokens: '900', from: '22:30', to: '06:00', days: ['mon' as const, 'sun' as const] },
      { ...empty, zone: 'UTC', from: '08:00', to: '' },
    ]) {
      const b = budgetOf(f);
      const hours = b?.hours && { from: '00:00', to: '24:00', ...b.hours }; // as the API answers
      expect(formOf({ ...b, ...(hours ? { hours } : {}) }, 'Asia/Tokyo')).toEqual({ ...f, to: f.to || '00:00' });
    }
    expect(formOf({ matches_per_day: 1, hours: { zone: 'UTC', from: '00:00', to: '24:00' } }, 'Asia/Tokyo')).toEqual({
      ...empty,
      zone: 'UTC',
      matches: '1',
    });
  });

  it('shows no more than all of a limit', () => {
    expect([part(5, 20), part(30, 20)]).toEqual([0.25, 1]);
  });
});
