import { describe, expect, it, vi } from 'vitest';
import { ServerClock } from './clock';
import { countdown, delta, duration, elo, milliseconds, points, relative, scoreline } from './format';
import { avatarOf } from './avatar';
import { huesOf } from './match/hues.svelte';
import { resolve } from './routes';

describe('format', () => {
  it('writes ratings and their changes', () => {
    expect(elo(1499.6)).toBe('1500');
    expect([16.2, -7.6, 0.3].map(delta)).toEqual(['+16', '\u22128', '±0']);
  });
  it('writes points as short as they are', () => expect([3, 0.5, 1 / 3].map((p) => points(p))).toEqual(['3', '0.5', '0.33']));
  it('writes points side by side with equally many decimals', () => {
    expect(scoreline([1.5, 2])).toEqual(['1.5', '2.0']);
    expect(scoreline([2, 0])).toEqual(['2', '0']);
    expect(scoreline([1 / 3, 0.5, 4], 'es')).toEqual(['0,33', '0,50', '4,00']);
  });
  it('writes durations', () => {
    expect([0, 420, 12_000, 65_000].map((ms) => duration(ms))).toEqual(['0.0 s', '0.4 s', '12.0 s', '1:05']);
    expect(duration(4200, 'es')).toBe('4,2 s');
  });
  it('writes milliseconds', () => expect([0.4, 1234.5].map((ms) => milliseconds(ms))).toEqual(['0\u00a0ms', '1,235\u00a0ms']));
  it('counts down to zero and no further', () =>
    expect([-5, 1, 9_000, 130_000, 3_723_000].map(countdown)).toEqual(['0:00', '0:01', '0:09', '2:10', '1:02:03']));
  it('says how long ago', () => {
    expect(relative(0, 30_000)).toBeUndefined();
    expect(relative(0, 180_000)).toBe('3 min. ago');
    expect(relative(7_200_000, 0, 'es')).toBe('dentro de 2 h');
  });
});

describe('the server clock', () => {
  it('keeps the best lower bound', () => {
    const clock = new ServerClock(() => 1000);
    expect(clock.now()).toBe(1000);
    clock.sample(new Date(5000).toISOString());
    clock.sample(new Date(4000).toISOString());
    clock.sample('not a time');
    expect(clock.now()).toBe(5000);
  });
  it('does not follow a clock that is set', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const clock = new ServerClock();
    clock.sample(new Date().toISOString());
    const before = clock.now();
    vi.setSystemTime(Date.now() + 3_600_000);
    expect(clock.now() - before).toBeLessThan(600_000);
    vi.useRealTimers();
  });
});

describe('avatars', () => {
  const ids = Array.from({ length: 300 }, (_, i) => `ag_${i}`);
  it('are the same for one id and differ between ids', () => {
    expect(avatarOf('ag_7')).toEqual(avatarOf('ag_7'));
    expect(new Set(ids.map((id) => JSON.stringify(avatarOf(id)))).size).toBeGreaterThan(290);
  });
  it('have hues that differ in every match of up to eight', () => {
    for (let seats = 2; seats <= 8; seats++) {
      for (let from = 0; from + seats <= ids.length; from += seats) {
        const hues = huesOf(ids.slice(from, from + seats));
        const all = [...hues.values()];
        expect(hues.get(ids[from]!)).toBe(avatarOf(ids[from]!).hue);
        for (const [i, x] of all.entries())
          for (const y of all.slice(i + 1)) expect(Math.abs(((x - y + 540) % 360) - 180)).toBeGreaterThanOrEqual(seats === 2 ? 60 : 25);
      }
    }
  });
  it('stay inside their box', () => {
    for (const id of ids) {
      const numbers = avatarOf(id)
        .path.match(/-?\d+(\.\d+)?/g)!
        .map(Number);
      expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...numbers)).toBeLessThanOrEqual(8);
    }
  });
});

describe('routes', () => {
  it.each([
    ['/', 'lobby', ''],
    ['/m/m_1', 'match', 'm_1'],
    ['/m/m_1/', 'match', 'm_1'],
    ['/leagues', 'leagues', ''],
    ['/l/open-trivia', 'league', 'open-trivia'],
    ['/leaderboard', 'leaderboard', ''],
    ['/a/ag%201', 'agent', 'ag 1'],
    ['/a/%zz', 'agent', '%zz'],
    ['/m', 'missing', '/m'],
    ['/console', 'console', ''],
    ['/console/agents/ag_1', 'console', 'agents/ag_1'],
    ['/docs', 'missing', '/docs'],
  ])('%s is %s', (path, page, param) => expect(resolve(path)).toMatchObject({ page, param }));
});
