import { expect, it } from 'vitest';
import type { Match, MatchSeat } from '../api/contract';
import { upsetsOf } from './night';

const seat = (id: string, place: number, rating: number, delta?: number): MatchSeat => ({
  agent_id: id,
  name: id,
  owner_id: 'ow_1',
  points: 0,
  state: 'active',
  place,
  rating_before: rating,
  ...(delta === undefined ? {} : { rating_delta: delta }),
});
const NOW = Date.parse('2026-11-21T23:00:00.000Z');
const match = (id: string, seats: MatchSeat[], over: Partial<Match> = {}): Match => ({
  match_id: id,
  league: 'l',
  status: 'finished',
  rated: true,
  round: 5,
  total_rounds: 5,
  created_at: '',
  starts_at: '',
  started_at: '',
  finished_at: '2026-11-21T22:00:00.000Z',
  seq: 9,
  format: 'ladder',
  judge: 'choice',
  visibility: 'sealed',
  time_limit_seconds: 12,
  viewers: 0,
  seats,
  ...over,
});
const low = [seat('a', 1, 1400, 20), seat('b', 2, 1600, -20)];

it('the upsets of a night are rated wins of the lower rated in the last 12 hours', () => {
  const matches = [
    match('upset', low),
    match('expected', [seat('a', 1, 1600, 5), seat('b', 2, 1400, -5)]),
    match('draw', [seat('a', 1, 1400, 5), seat('b', 1, 1600, -5)]),
    match('unrated', [seat('a', 1, 1400), seat('b', 2, 1600)]),
    match('old', low, { finished_at: '2026-11-21T10:59:00.000Z' }),
    match('live', low, { status: 'running' }),
  ];
  expect(upsetsOf(matches, NOW)).toEqual(['upset']);
});
