import { expect, test } from 'vitest';
import { changesOf, correctionOf, linesOf } from './question';

const task = { n: 3, description: 'Who?', options: ['A\nB', 'C'], answer: ['C'], topic: 'people', rounds: 0 };

test('a form sends what was changed alone', () => {
  const text = linesOf(task);
  expect(changesOf(task, text)).toEqual({});
  expect(changesOf(task, { ...text, description: 'Who\nelse?', topic: '' })).toEqual({ description: 'Who\nelse?', topic: '' });
  expect(changesOf(task, { ...text, answer: ' C \n\nc', difficulty: 'easy' })).toEqual({ answer: ['C', 'c'], difficulty: 'easy' });
  expect(changesOf(task, { ...text, options: 'C\nD' })).toEqual({ options: ['C', 'D'] });
  expect(changesOf(task, { ...text, answer: '' })).toEqual({ answer: [] });
});

test('a correction is summed up over the leagues', () => {
  const report = (changed: string[], ratings: [number, number][], failed: string[] = []) => ({
    matches: 3,
    settlements: 0,
    kept: [],
    failed,
    changed: changed.map((match_id) => ({ match_id, seats: [] })),
    ratings: ratings.map(([rating_before, rating], i) => ({ agent_id: `ag_${i}`, rating_before, rating })),
  });
  expect(
    correctionOf({
      preview: true,
      leagues: [
        {
          league: 'a',
          report: report(
            ['m_1'],
            [
              [1500, 1512.4],
              [1500, 1487.6],
            ],
          ),
        },
        { league: 'b', report: report([], [], ['m_2']) },
      ],
    }),
  ).toEqual({ matches: 6, changed: ['m_1'], failed: 1, ratings: 2, most: 12 });
  expect(correctionOf({ preview: true, leagues: [] })).toEqual({ matches: 0, changed: [], failed: 0, ratings: 0, most: 0 });
});
