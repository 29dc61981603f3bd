import { expect, it } from 'vitest';
import type { RatingPoint } from '../api/contract';
import { band, difference, lastDays, versionsOf } from './history';

const point = (i: number, version?: string): RatingPoint => ({
  match_id: `m_${i}`,
  at: new Date(Date.UTC(2026, 0, 1 + i)).toISOString(),
  rating: 1500 + i,
  delta: 1,
  ...(version ? { version } : {}),
});
const points = (n: number, version?: string) => Array.from({ length: n }, (_, i) => point(i, version));

it('the band narrows with matches, and levels off', () => {
  const widths = band(points(200), 1);
  expect(widths[0]).toBeGreaterThan(300);
  expect(widths[29]).toBeGreaterThan(120);
  expect(widths[29]).toBeLessThan(145);
  expect(widths[199]).toBeGreaterThan(80);
  expect(widths[199]).toBeLessThan(90);
  for (let i = 1; i < widths.length; i++) expect(widths[i]!).toBeLessThanOrEqual(widths[i - 1]! + 1e-9);
});

it('a graph that begins later has the band of the whole history', () => {
  const whole = band(points(100), 1);
  band(points(40), 61).forEach((w, i) => expect(w).toBeCloseTo(whole[60 + i]!, 6));
});

it('a new version widens it for ten matches', () => {
  const widths = band([...points(100, '1'), ...points(30, '2')], 1);
  expect(widths[109]).toBeGreaterThan(widths[99]! + 5);
  expect(widths[129]).toBeLessThan(widths[109]!);
});

it('only what is declared is a new version', () => {
  const settled = band(points(130), 1);
  band([...points(100, '1'), ...points(30)], 1).forEach((w, i) => expect(w).toBeCloseTo(settled[i]!, 6));
});

it('versions are counted in the order in which they played', () => {
  const all = versionsOf([point(0, '1.0'), point(1, '1.0'), point(2), point(3, '2.0'), point(4, '1.0')]);
  expect(all.map((v) => [v.version, v.from, v.matches, v.delta])).toEqual([
    ['1.0', 0, 2, 2],
    ['', 2, 1, 1],
    ['2.0', 3, 1, 1],
    ['1.0', 4, 1, 1],
  ]);
  expect(versionsOf([])).toEqual([]);
});

it('days without a check are there, and are empty', () => {
  const now = Date.UTC(2026, 2, 1, 12);
  const days = lastDays(
    [
      { day: '2026-02-28', ok: 3, failed: 1 },
      { day: '2025-01-01', ok: 1, failed: 0 },
    ],
    3,
    now,
  );
  expect(days).toEqual([
    { day: '2026-02-27', ok: 0, failed: 0 },
    { day: '2026-02-28', ok: 3, failed: 1 },
    { day: '2026-03-01', ok: 0, failed: 0 },
  ]);
});

it('a version is better only when the interval of the difference leaves out zero', () => {
  // Newcombe 1998, table II: 56 of 70 against 48 of 80 is 0.2 with 0.0524 to 0.3339.
  const right = (right: number, answered: number, low: number, high: number) => ({ right, answered, share: right / answered, low, high });
  const [a, b] = [right(56, 70, 0.69183, 0.87695), right(48, 80, 0.49045, 0.70038)];
  const d = difference(a, b);
  expect([d.mean, d.low, d.high].map((n) => n.toFixed(4))).toEqual(['0.2000', '0.0524', '0.3339']);
  expect(d.verdict).toBe('better');
  expect(difference(b, a).verdict).toBe('worse');
  expect(difference(a, right(1, 2, 0.09, 0.91)).verdict).toBe('too_few');
});

it('a version knows how many answers are missing for a difference of 50 Elo', () => {
  const half = (answered: number) => ({ right: answered / 2, answered, share: 0.5, low: 0, high: 1 });
  // 0.143 are 2.802 standard errors of 0.051: a variance of 0.0026, of which the older one's 1,000 answers take 0.00025.
  expect(difference(half(20), half(1000)).needed).toBe(87);
  expect(difference(half(200), half(1000)).needed).toBe(0);
  expect(difference(half(20), half(40)).needed).toBeUndefined();
});
