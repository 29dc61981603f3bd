import { describe, expect, it } from 'vitest';
import type { ArenaEvent, Outcome } from '../api/contract';
import { applyEvents } from './apply';
import { wonAndFell } from './compared';
import { emptyMatch } from './state';

type Round = readonly [Outcome, number, Outcome, number];

/** A duel of these rounds, each with outcome and points of both; then places and the change of the first. */
function duel(rounds: readonly Round[], places: readonly [number, number], delta: number) {
  const ts = '2026-11-21T12:00:00.000Z';
  const [a, b] = ['ag_a', 'ag_b'];
  const events = [
    {
      type: 'match_started',
      league: 'l',
      format: 'ladder',
      visibility: 'live',
      rated: true,
      total_rounds: rounds.length,
      seats: [
        { agent_id: a, name: 'A' },
        { agent_id: b, name: 'B' },
      ],
    },
    ...rounds.flatMap(([one, p, two, q], i) => [
      { type: 'round_started', round: i + 1, task: { description: '?' }, time_limit_seconds: 9, deadline: ts },
      {
        type: 'round_closed',
        round: i + 1,
        standings: [],
        seats: [
          { agent_id: a, answer: null, points: p, outcome: one, elapsed_ms: 1 },
          { agent_id: b, answer: null, points: q, outcome: two, elapsed_ms: 1 },
        ],
      },
    ]),
    {
      type: 'match_finished',
      league: 'l',
      rated: true,
      seats: [
        { agent_id: a, name: 'A', points: 1, place: places[0], state: 'active' },
        { agent_id: b, name: 'B', points: 0, place: places[1], state: 'active' },
      ],
      rating_changes: [
        { agent_id: a, rating_before: 1600, rating_after: 1600 + delta, rating_delta: delta },
        { agent_id: b, rating_before: 1500, rating_after: 1500 - delta, rating_delta: -delta },
      ],
    },
  ].map((e, i) => ({ seq: i + 1, match_id: 'm', ts, ...e })) as unknown as ArenaEvent[];
  return wonAndFell(applyEvents(emptyMatch('m'), events));
}

describe('a winner that lost rating', () => {
  const left: Round = ['answered', 1, 'rate_limited', 0];
  it('was behind in the rounds that counted for both', () =>
    expect(duel([left, left, ['answered', 0, 'answered', 1]], [1, 2], -9)).toMatchObject({
      winner: { id: 'ag_a' },
      leftOut: 2,
      stood: 'behind',
    }));
  it('was level in them, and rated higher', () =>
    expect(duel([left, ['timeout', 0, 'answered', 0]], [1, 2], -3)).toMatchObject({ leftOut: 1, stood: 'level' }));
  it('was ahead where the league compares round by round', () =>
    expect(
      duel(
        [
          ['answered', 1, 'answered', 0],
          ['answered', 0.5, 'answered', 0.5],
        ],
        [1, 2],
        -3,
      ),
    ).toMatchObject({ leftOut: 0, stood: 'ahead' }));
  it('is nobody where the winner gained, two won, or the rounds are not known', () => {
    expect(duel([left, ['answered', 1, 'answered', 0]], [1, 2], 9)).toBeUndefined();
    expect(duel([['answered', 1, 'answered', 1]], [1, 1], -9)).toBeUndefined();
    expect(duel([], [1, 2], -9)).toBeUndefined();
  });
});
