import { expect, it } from 'vitest';
import type { Agent, OpponentRecord } from '../api/contract';
import { agentsOf, commonLeagues, compareLink, leaguesOf, recordOf } from './compare';

it('takes up to four agents from an address, each once', () => {
  const of = (agents: string) => agentsOf(new URLSearchParams({ agents }));
  expect(of('a, b,,a,c,d,e')).toEqual(['a', 'b', 'c', 'd']);
  expect(of('x'.repeat(65))).toEqual([]);
  expect(agentsOf(new URLSearchParams())).toEqual([]);
  expect(of(new URL(compareLink(['a&b', 'c']), 'http://a').searchParams.get('agents') ?? '')).toEqual(['a&b', 'c']);
  expect(compareLink([])).toBe('/compare');
});

it('has the leagues of most agents first', () => {
  const rated = (ratings: Record<string, number>) =>
    ({ ratings: Object.fromEntries(Object.entries(ratings).map(([slug, n]) => [slug, { rated_matches: n }])) }) as unknown as Agent;
  expect(leaguesOf([rated({ one: 50, both: 1 }), rated({ both: 2, other: 60 })])).toEqual(['both', 'other', 'one']);
});

it('knows the leagues of both', () => {
  const of = (ratings: readonly string[], leagues: readonly string[]) =>
    ({ ratings: Object.fromEntries(ratings.map((slug, n) => [slug, { rated_matches: n }])), leagues }) as unknown as Agent;
  expect(commonLeagues(of(['rated', 'more'], ['unrated', 'mine']), of(['more'], ['rated', 'unrated', 'yours']))).toEqual([
    'more',
    'rated',
    'unrated',
  ]);
});

it('finds the record against another', () => {
  const b = { agent_id: 'b', name: 'B', matches: 3, wins: 2, draws: 0, losses: 1 } as OpponentRecord;
  expect(recordOf([b], 'b').wins).toBe(2);
  expect(recordOf([b], 'c').matches).toBe(0);
  expect(recordOf(undefined, 'c').matches).toBe(0);
});
