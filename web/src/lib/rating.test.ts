import { describe, expect, it } from 'vitest';
import { expected, spread, surprise } from './rating';

describe('spread', () => {
  it('narrows with matches and levels off', () => {
    expect([0, 1, 10, 30, 100, 300].map((n) => Math.round(spread(n)))).toEqual([392, 372, 238, 133, 83, 82]);
    expect(spread(100_000)).toBe(spread(300));
  });
});

describe('expected', () => {
  it('is one half between equals and ten to one at 400 points', () => {
    expect(expected(1500, 1500)).toBe(0.5);
    expect(expected(1900, 1500)).toBeCloseTo(10 / 11, 12);
    expect(expected(1430, 1620) + expected(1620, 1430)).toBeCloseTo(1, 12);
  });
});

describe('surprise', () => {
  it('is the expected score of a winner that was not expected', () => {
    expect(
      surprise('b', [
        { id: 'a', rating: 1700 },
        { id: 'b', rating: 1500 },
      ]),
    ).toBeCloseTo(0.24, 2);
    expect(
      surprise('a', [
        { id: 'a', rating: 1700 },
        { id: 'b', rating: 1500 },
      ]),
    ).toBeUndefined();
    expect(
      surprise('b', [
        { id: 'a', rating: 1520 },
        { id: 'b', rating: 1500 },
      ]),
    ).toBeUndefined();
  });
  it('is beyond the error of both ratings', () => {
    const pair = (gap: number, matches?: number) => [
      { id: 'a', rating: 1500 + gap, ...(matches === undefined ? {} : { matches }) },
      { id: 'b', rating: 1500, ...(matches === undefined ? {} : { matches }) },
    ];
    expect([110, 125].map((gap) => surprise('b', pair(gap)) !== undefined)).toEqual([false, true]);
    expect([180, 195].map((gap) => surprise('b', pair(gap, 30)) !== undefined)).toEqual([false, true]);
    expect(surprise('b', pair(500, 0))).toBeUndefined();
  });
  it('is the mean over several opponents', () => {
    const ratings = [
      { id: 'a', rating: 1900 },
      { id: 'b', rating: 1500 },
      { id: 'c', rating: 1500 },
    ];
    expect(surprise('b', ratings)).toBeCloseTo((1 / 11 + 0.5) / 2, 9);
  });
  it('needs the ratings of the winner and of an opponent', () => {
    expect(surprise('x', [{ id: 'a', rating: 1700 }])).toBeUndefined();
    expect(surprise('a', [{ id: 'a', rating: 1700 }])).toBeUndefined();
  });
});
