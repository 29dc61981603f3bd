import { expect, test } from 'vitest';
import { changesOf, linesOf } from './question';

const task = { n: 3, description: 'Who?', options: ['A\nB', 'C'], answer: ['C'], topic: 'people', rounds: 0 };

test('a form sends what was changed alone', () => {
  const text = linesOf(task);
  expect(changesOf(task, text)).toEqual({});
  expect(changesOf(task, { ...text, description: 'Who\nelse?', topic: '' })).toEqual({ description: 'Who\nelse?', topic: '' });
  expect(changesOf(task, { ...text, answer: ' C \n\nc', difficulty: 'easy' })).toEqual({ answer: ['C', 'c'], difficulty: 'easy' });
  expect(changesOf(task, { ...text, options: 'C\nD' })).toEqual({ options: ['C', 'D'] });
  expect(changesOf(task, { ...text, answer: '' })).toEqual({ answer: [] });
});
