import { describe, expect, it } from 'vitest';
import { readWeekly, writeWeekly } from './schedule';

describe('a weekly schedule', () => {
  it.each([
    ['CRON_TZ=Europe/Madrid 0 20 * * 5', { days: [5], time: '20:00', zone: 'Europe/Madrid' }],
    ['5 9 * * 1,0', { days: [1, 0], time: '09:05', zone: 'UTC' }],
    ['0 18 * * *', { days: [1, 2, 3, 4, 5, 6, 0], time: '18:00', zone: 'UTC' }],
  ])('%s is read and written', (schedule, want) => {
    expect(readWeekly(schedule)).toEqual(want);
    expect(writeWeekly(want)).toBe(schedule);
  });
  it.each(['', '*/5 * * * *', '0 18 1 * *', '0 25 * * 1', '61 1 * * 1', '@daily', '0 18 * * FRI'])('%s is of another form', (schedule) =>
    expect(readWeekly(schedule)).toBeUndefined(),
  );
  it('of no day or no time is none', () => {
    expect(writeWeekly({ days: [], time: '20:00', zone: 'UTC' })).toBe('');
    expect(writeWeekly({ days: [1], time: '', zone: 'UTC' })).toBe('');
  });
});
