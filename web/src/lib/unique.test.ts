import { expect, it } from 'vitest';
import { unique } from './unique';

it('keeps the first of the items with one key, in their order', () => {
  const items = [
    { id: 'b', n: 1 },
    { id: 'a', n: 2 },
    { id: 'b', n: 3 },
    { id: 'c', n: 4 },
  ];
  expect(unique(items, (i) => i.id).map((i) => i.n)).toEqual([1, 2, 4]);
});
