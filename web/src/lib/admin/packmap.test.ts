import { expect, test } from 'vitest';
import { columnsOf, EMPTY_MAP, readMap, writeMap } from './packmap';

test('a mapping reads back as it was written', () => {
  for (const text of [
    'description=q,answer=a',
    'description=q,options=a+b+c,answer_index=i',
    'description=q,options=o,answer_number=n,topic=t',
    'description=q,answer=a,topic=t,difficulty=level',
  ]) {
    expect(writeMap(readMap(text))).toBe(text);
  }
});

test('a mapping without a question or an answer is none', () => {
  expect(readMap('')).toEqual(EMPTY_MAP);
  expect(writeMap({ ...EMPTY_MAP, description: 'q' })).toBe('');
  expect(writeMap({ ...EMPTY_MAP, answer: 'a' })).toBe('');
});

test('columns without a name, and those whose name is taken, are not offered', () => {
  expect(columnsOf(['', 'question', 'answer', 'question', ''])).toEqual(['question', 'answer']);
});
