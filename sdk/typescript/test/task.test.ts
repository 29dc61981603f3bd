import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decodeTask, timesOf } from '../src/task.js';
import type { Task } from '../src/task.js';

const made = 1_795_000_000_000; // when the arena made the token

function task(limitMs: number, leftMs: number | null, issuedAt = made - 5000, more: { bodyHash?: string; observation?: object } = {}): Task {
  const t = decodeTask(Buffer.from(JSON.stringify({
    match_id: 'm_1', task: { description: 'd', observation: more.observation }, time_limit_seconds: limitMs / 1000,
    deadline: leftMs === null ? '' : new Date(made + leftMs).toISOString(),
  })));
  t.claims = {
    id: 'jt_1', agentId: 'ag_1', matchId: 'm_1', round: 1, bodyHash: more.bodyHash ?? 'hash', issuedAt: new Date(issuedAt), expiresAt: new Date(made + 60_000),
  };
  return t;
}

test('the time left counts from the making of the token', () => {
  for (const [name, limit, left, work, wait] of [
    ['no deadline', 20_000, null, 19_800, 19_900],
    ['more than the limit', 20_000, 60_000, 19_800, 19_900],
    ['the whole limit', 20_000, 20_000, 19_800, 19_900],
    ['a second attempt', 20_000, 3000, 2800, 2900],
    ['a short round', 1000, 1000, 900, 950],
  ] as const) {
    assert.deepEqual(timesOf(task(limit, left)), { work, wait }, name);
  }
});

test('a game has its time bank', () => {
  assert.deepEqual(timesOf(task(20_000, 60_000, made - 5000, { observation: {} })), { work: 59_800, wait: 59_900 });
});

test('the token of a match leaves the time to the clock of the agent', () => {
  const t = task(20_000, 60_000, made - 300_000, { bodyHash: '', observation: {} });
  assert.deepEqual(timesOf(t, made + 10_000), { work: 49_800, wait: 49_900 });
});
