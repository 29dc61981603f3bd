import { expect, test } from 'vitest';
import { nodeCount } from './status';

const now = Date.parse('2026-11-23T12:00:00Z');
const node = (o: { alive?: boolean; draining?: boolean; matches?: number; ago?: number }) => ({
  node: 'nd_1', self: false, alive: o.alive ?? false, draining: o.draining ?? false, matches: o.matches ?? 0, seen_at: new Date(now - (o.ago ?? 0) * 1000).toISOString(),
});

test.each([
  ['one that runs', [node({ alive: true })], 1, 1],
  ['one that has just died', [node({ alive: true }), node({ ago: 60 })], 1, 2],
  ['one that died long ago', [node({ alive: true }), node({ ago: 301 })], 1, 1],
  ['one that died long ago with a match', [node({ alive: true }), node({ ago: 301, matches: 1 })], 1, 2],
  ['one that left in good order', [node({ alive: true }), node({ ago: 20, draining: true })], 1, 1],
  ['one that drains', [node({ alive: true }), node({ alive: true, draining: true })], 2, 2],
])('%s', (_, nodes, alive, expected) => expect(nodeCount(nodes, now)).toEqual({ alive, expected }));
