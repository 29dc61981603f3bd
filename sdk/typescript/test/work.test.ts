import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { work } from '../src/work.js';

const body = JSON.stringify({
  version: '1.0', league: 'trivia', match_id: 'm_1', round: 1, total_rounds: 3, task: { description: '1 + 1?', input_format: 'string', output_format: 'string' },
  time_limit_seconds: 30, max_tokens: null, rules: [], opponent_count: 1, task_id: 'tk_1', attempt: 1,
});

// An agent's signal lives as long as the agent: what a task hangs on it would never go.
test('a task that is over leaves nothing at the signal', async () => {
  const { signal } = new AbortController();
  for (const handler of [() => ({ value: '2' }), () => Promise.reject(new Error('broken'))]) {
    await work(handler, body, { signal });
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  }
});

test('a signal that aborts ends the task', async () => {
  const end = new AbortController();
  const worked = work((ctx) => new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason))), body, { signal: end.signal });
  end.abort(new Error('closed'));
  assert.deepEqual({ ...(await worked), cause: undefined }, { error: 'INTERNAL_ERROR', cause: undefined });
  assert.equal(getEventListeners(end.signal, 'abort').length, 0);
});
