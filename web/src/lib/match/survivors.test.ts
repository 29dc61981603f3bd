import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ArenaEvent } from '../api/contract';
import { applyEvents } from './apply';
import { emptyMatch, type MatchState } from './state';
import { survivorsOf, tickerOf } from './survivors';

const log = readFileSync('src/lib/fixtures/elimination.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ArenaEvent);
const whole = applyEvents(emptyMatch('m'), log);

/** A match of seats with one closed round: an answer and points for each, undefined for a timeout. */
function round(answers: readonly (string | undefined)[], right: string, options?: string[]): MatchState {
  const seats = answers.map((_, i) => ({ agent_id: `ag_${i}`, name: `A${i}` }));
  const points = (a: string | undefined) => (a === right ? 1 : 0);
  const common = { match_id: 'm', ts: '2026-11-21T18:00:00.000Z', round: 1 };
  return applyEvents(emptyMatch('m'), [
    {
      ...common,
      seq: 1,
      type: 'match_started',
      league: 'l',
      format: 'elimination',
      visibility: 'sealed',
      rated: true,
      total_rounds: null,
      seats,
    },
    {
      ...common,
      seq: 2,
      type: 'round_started',
      task: { description: '?', ...(options ? { options } : {}) },
      time_limit_seconds: 9,
      deadline: '',
    },
    {
      ...common,
      seq: 3,
      type: 'round_closed',
      correct: right,
      seats: answers.map((answer, i) => ({
        agent_id: `ag_${i}`,
        answer: answer ?? null,
        points: points(answer),
        outcome: answer === undefined ? 'timeout' : 'answered',
        elapsed_ms: 9,
      })),
      standings: answers.map((answer, i) => ({
        agent_id: `ag_${i}`,
        points: points(answer),
        place: 1,
        state: points(answer) ? 'active' : 'out',
      })),
    },
  ] as ArenaEvent[]);
}

describe('the survivors', () => {
  it('start with all seats and follow the closed rounds', () => {
    expect(survivorsOf(whole, 99)).toEqual([24, ...whole.rounds.map((r) => r.standings.filter((s) => s.state === 'active').length)]);
    expect(survivorsOf(whole, 1)).toHaveLength(2);
    expect(survivorsOf(emptyMatch('m'), 1)).toEqual([0]);
  });

  it('are not those of an open round', () => {
    const open = applyEvents(
      emptyMatch('m'),
      log.slice(
        0,
        log.findIndex((e) => e.type === 'round_closed'),
      ),
    );
    expect(survivorsOf(open, 1)).toEqual([24]);
    expect(tickerOf(open, 1)).toBeUndefined();
  });
});

describe('the ticker', () => {
  it('names the most common answer and those that are out', () => {
    expect(tickerOf(round(['Fish', 'Fish ', 'fish', 'Cat', undefined], 'Cat'), 1)).toEqual({
      round: 1,
      answer: 'Fish',
      said: 3,
      right: false,
      played: 5,
      out: 4,
    });
  });

  it('reads letters as the options that they name', () => {
    expect(tickerOf(round(['B', 'Fish', '(b)', 'Cat'], 'Fish', ['Cat', 'Fish']), 1)).toMatchObject({
      answer: 'Fish',
      said: 3,
      right: true,
    });
  });

  it('prefers the right one of equally common answers', () => {
    expect(tickerOf(round(['Cat', 'Fish'], 'Fish'), 1)).toMatchObject({ answer: 'Fish', said: 1, right: true });
  });

  it('knows rounds without an answer', () => {
    expect(tickerOf(round([undefined, undefined], 'Fish'), 1)).toMatchObject({ answer: '', said: 0, played: 2 });
  });

  it('counts only those that dropped in the round', () => {
    const outs = whole.rounds.map((r) => tickerOf(whole, r.no)!.out);
    expect(outs.reduce((a, b) => a + b)).toBe(Object.values(whole.seats).filter((s) => s.state === 'out').length);
  });
});
