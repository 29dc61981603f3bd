import { expect, it } from 'vitest';
import type { Comparison } from '../api/contract';
import { bandOf, betterIn, sentenceOf } from './beats';

const elo = (mean: number | null, low: number | null = null, high: number | null = null) => ({ mean, low, high });
const some = (part: Partial<Comparison>) =>
  ({
    verdict: 'too_few',
    unit: 'round',
    won: 61,
    even: 7,
    lost: 39,
    matches: 20,
    tasks: 90,
    needed: { elo: 50, matches: 40 },
    ...part,
  }) as Comparison;
const say = (part: Partial<Comparison>) => sentenceOf(some(part), 'Quine', 'Ada', 'Friday quiz', (share) => `${Math.round(100 * share)}%`);

it('says who beats whom', () => {
  expect(say({ verdict: 'better' })).toEqual({
    key: 'compare.beats.round',
    params: { a: 'Quine', b: 'Ada', league: 'Friday quiz', share: '61%', n: 100 },
  });
  expect(say({ verdict: 'worse', unit: 'game', won: 10, lost: 30 })).toEqual({
    key: 'compare.beats.game',
    params: { a: 'Ada', b: 'Quine', league: 'Friday quiz', share: '75%', n: 40 },
  });
});

it('says what is missing', () => {
  const keys = (['frozen', 'no_matches', 'few_tasks', 'all_even', 'few_matches', 'undecided'] as const).map(
    (reason) => say({ reason }).key,
  );
  expect(keys).toEqual(['compare.frozen', 'compare.never', 'compare.tasks', 'compare.even.round', 'compare.few', 'compare.few']);
  expect(say({ reason: 'undecided' }).n).toBe(40);
  expect(say({ reason: 'undecided', needed: { elo: 50, matches: 0 } })).toMatchObject({ key: 'compare.close', params: { n: 20 } });
});

it('draws the first agent to the left', () => {
  expect(bandOf(elo(0, -100, 100))).toEqual({ left: 37.5, width: 25, mean: 50 });
  expect(bandOf(elo(200, 100))).toEqual({ left: 0, width: 37.5, mean: 25 });
  expect(bandOf(elo(-900, -1200, -800))).toEqual({ left: 100, width: 0, mean: 100 });
  expect(bandOf(elo(null))).toBeUndefined();
});

it('says whom a part favors', () => {
  const of = (verdict: string) => betterIn({ verdict } as never, 'Quine', 'Ada');
  expect(['better', 'worse', 'too_few'].map(of)).toEqual(['Quine', 'Ada', undefined]);
});
