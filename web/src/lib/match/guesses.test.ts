import { beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS, guessed, judged, keyOf, read, rightLetter } from './guesses';
import type { Round } from './state';

const NOW = 1_800_000_000_000;
const round = (correct: string | undefined, ...points: number[]) =>
  ({
    correct,
    task: { description: '?', options: ['Mars', 'Venus'] },
    lanes: Object.fromEntries(points.map((p, i) => [`ag_${i}`, { points: p }])),
  }) as unknown as Round;

describe('guesses', () => {
  const kept = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
  beforeEach(() => kept.clear());

  it('are kept for a day', () => {
    guessed(read(NOW), 'm_1 1', 'A', NOW);
    expect(read(NOW + DAY_MS - 1).made).toEqual({ 'm_1 1': { letter: 'A' } });
    expect(read(NOW + DAY_MS).made).toEqual({});
  });

  it('stay as they were first made', () => {
    const g = guessed(guessed(read(NOW), keyOf('m_1', 1), 'A', NOW), keyOf('m_1', 1), 'B', NOW + 1);
    expect([g.made, g.since]).toEqual([{ 'm_1 1': { letter: 'A' } }, NOW]);
  });

  it('count once, beside the agents', () => {
    let g = guessed(guessed(read(NOW), 'm_1 1', 'A', NOW), 'm_1 2', 'B', NOW);
    g = judged(judged(g, 'm_1 1', round('Mars', 1, 0, 1)), 'm_1 1', round('Mars', 1, 0, 1));
    g = judged(g, 'm_1 2', round('Mars', 0, 0));
    expect(judged(g, 'm_1 3', round('Mars', 1))).toBe(g);
    expect(read(NOW)).toMatchObject({ right: 1, of: 2, agentsRight: 2, agentsOf: 5 });
  });

  it('of a round without a right answer count for nobody', () => {
    const g = judged(guessed(read(NOW), 'm_1 1', 'A', NOW), 'm_1 1', round(undefined, 1));
    expect(g).toMatchObject({ of: 0, agentsOf: 0 });
    expect(rightLetter(round('Pluto'))).toBeUndefined();
    expect(rightLetter(round('Venus'))).toBe('B');
  });

  it('survive whatever is in the storage', () => {
    for (const text of ['', 'null', '[]', '{"since":"x"}', `{"since":${NOW},"made":1}`, '{']) {
      kept.set('arena.guesses', text);
      expect(read(NOW).of).toBe(0);
    }
  });
});
