import { expect, it, vi } from 'vitest';
import { tan } from '../agent/words';
import { tcn } from '../console/words';

// Without the compiler of Svelte, state is a plain value.
vi.hoisted(() => {
  const plain = (value: unknown) => value;
  Object.assign(globalThis, { $state: Object.assign(plain, { raw: plain }) });
});

it('a text of a part has the form of its number, and the number as it is formatted', () => {
  expect([1, 2, 0].map((n) => tan('results.of', n))).toEqual(['of its last round', 'of its last 2 rounds', 'of its last 0 rounds']);
  expect(tcn('budget.tokens', 1200, { n: '1,200' })).toBe('1,200 tokens');
});
