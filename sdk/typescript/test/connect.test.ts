import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

import { connect, RateLimited, TaskTimeout, Unavailable } from '../src/index.js';
import type { ConnectOptions, Handler } from '../src/index.js';
import { memberText } from '../src/text.js';
import { Arena, gate } from './arena.js';

/** Connects until the test ends; `stop` and `ended` end it earlier. */
function join(t: TestContext, arena: Arena, handler: Handler, options: ConnectOptions = {}): { ended: Promise<void>; stop: () => void; log: string[] } {
  const log: string[] = [];
  const say = (message: string): void => void log.push(message);
  const end = new AbortController();
  const ended = connect(`${arena.url}/`, 'ak_test', handler, { logger: { info: say, warn: say, error: say }, signal: end.signal, ...options });
  ended.catch(() => {});
  t.after(async () => {
    end.abort();
    await ended.catch(() => {});
  });
  return { ended, stop: () => end.abort(), log };
}

const answersOf = (arena: Arena): string[] => arena.answers.map((a) => JSON.parse(a.body).answer ?? JSON.parse(a.body).status);

test('connect fetches tasks, verifies their tokens, reports events and posts answers', async (t) => {
  const arena = await Arena.start(t);
  const { stop, ended } = join(t, arena, (_ctx, task, events) => {
    events.thinking(`attempt ${task.attempt}`);
    return { value: `${task.description} ${task.claims?.agentId}` };
  });
  await arena.offer({ task: { description: 'Où ? "\\{' } });
  await arena.until(() => arena.answers.length === 1);
  assert.deepEqual([arena.answers[0]!.taskId, answersOf(arena)[0]], ['tk_test', 'Où ? "\\{ ag_test']);
  assert.equal((await arena.events(1))[0]!.message['type'], 'thinking');
  stop();
  await ended;
  await arena.until(() => arena.polls === 0);
});

test('a task delivered again gets the same bytes, without more work', async (t) => {
  const arena = await Arena.start(t);
  let calls = 0;
  join(t, arena, () => ({ value: `answer ${++calls}` }));
  for (const attempt of [1, 2]) {
    await arena.offer({ attempt });
    await arena.until(() => arena.answers.length === attempt);
  }
  assert.equal(arena.answers[0]!.body, arena.answers[1]!.body);
  assert.equal(calls, 1);
});

test('what a handler throws is posted as its status', async (t) => {
  const arena = await Arena.start(t);
  const errors = [new TaskTimeout(), new RateLimited(), new Error('secret'), new Unavailable()];
  join(t, arena, (_ctx, task) => {
    throw errors[task.round - 1]!;
  });
  for (const round of [1, 2, 3, 4]) {
    await arena.offer({ round });
    await arena.until(() => arena.answers.length === round);
  }
  assert.deepEqual(arena.answers.map((a) => a.body), ['{"status":408}', '{"status":429}', '{"status":500}', '{"status":503}']);
});

// Threat T6.
test('a task for another agent, or changed on its way, is not worked on', async (t) => {
  const arena = await Arena.start(t);
  const { log } = join(t, arena, () => assert.fail('worked on'), { agentId: 'ag_test' });
  const { body, token } = await arena.make();
  arena.give({ status: 200, body: JSON.stringify({ task_id: 'tk_1', token, task: JSON.parse(body.replace('Australia', 'Austria')) }) });
  await arena.until(() => arena.answers.length === 1);
  assert.equal(arena.answers[0]!.body, '{"status":500}');
  assert.ok(log.some((line) => line.includes('another body')), log.join('\n'));
});

test('as many tasks are worked on at once as the agent registered', async (t) => {
  const arena = await Arena.start(t);
  arena.registered = 2;
  const both = gate();
  let atWork = 0;
  join(t, arena, async () => {
    if (++atWork === 2) both.open();
    await both.opened;
    return { value: 'a' };
  }, { maxConcurrent: 3 });
  await arena.until(() => arena.polls === 2);
  await arena.offer({ match_id: 'm_1', task_id: 'tk_1' });
  await arena.offer({ match_id: 'm_2', task_id: 'tk_2' });
  await arena.until(() => arena.answers.length === 2);
});

test('a handler that ignores its time limit gets no task beside it', async (t) => {
  const arena = await Arena.start(t);
  const release = gate();
  join(t, arena, async (_ctx, task) => {
    if (task.round === 1) await release.opened;
    return { value: `round ${task.round}` };
  });
  await arena.offer({ time_limit_seconds: 0.2 });
  await arena.until(() => arena.answers.length === 1);
  await arena.offer({ round: 2 });
  for (let i = 0; i < 5; i++) await fetch(`${arena.url}/v1/me`); // a poll would arrive meanwhile
  assert.equal(arena.deliveries.length, 1);
  release.open();
  await arena.until(() => arena.answers.length === 2);
  assert.deepEqual(answersOf(arena), [408, 'round 2']);
});

test('failed requests are repeated, as late as Retry-After demands', async (t) => {
  const arena = await Arena.start(t);
  const { log } = join(t, arena, () => ({ value: 'a' }));
  arena.give({ status: 503, body: 'down' });
  arena.give({ status: 429, body: '{"code":"rate_limited","detail":"too many polls"}', headers: { 'Retry-After': '1' } });
  arena.give({ status: 200, body: '{"task": nonsense' });
  arena.give({ status: 204 });
  arena.refusals.push({ status: 500, body: '' });
  await arena.offer();
  await arena.until(() => arena.answers.length === 1);
  assert.ok(log.some((line) => /in 1\.0 s: .*429 rate_limited too many polls/.test(line)), log.join('\n'));
});

test('an answer that comes too late ends the task and nothing else', async (t) => {
  const arena = await Arena.start(t);
  const { log } = join(t, arena, () => ({ value: 'a' }));
  arena.refusals.push({ status: 409, body: '{"code":"answer_late","detail":"the deadline has passed"}' });
  await arena.offer();
  await arena.offer({ round: 2, task_id: 'tk_2' });
  await arena.until(() => arena.answers.length === 1);
  assert.equal(arena.answers[0]!.taskId, 'tk_2');
  assert.ok(log.some((line) => line.includes('409 answer_late the deadline has passed')));
});

test('a key that is rejected ends connect with an error', async (t) => {
  const arena = await Arena.start(t);
  await assert.rejects(connect(arena.url, 'ak_other', () => ({ value: 'a' }), { logger: { ...console, info() {}, warn() {} } }), /rejects this agent key: 401 unauthorized the key is not known/);
  await assert.rejects(connect(arena.url, '', () => ({ value: 'a' })), /agentKey is empty/);
  arena.registered = 3;
  const { ended } = join(t, arena, () => ({ value: 'a' }));
  await arena.until(() => arena.polls === 3);
  arena.give({ status: 409, body: '{"code":"agent_has_endpoint"}' });
  await assert.rejects(ended, /409 agent_has_endpoint/);
});

test('stopping finishes the task in progress', async (t) => {
  const arena = await Arena.start(t);
  arena.registered = 2;
  const entered = gate();
  const release = gate();
  const { ended, stop } = join(t, arena, async (ctx) => {
    entered.open();
    await release.opened;
    return { value: ctx.signal.aborted ? 'cut' : 'finished' };
  });
  await arena.offer();
  await entered.opened;
  stop();
  await arena.until(() => arena.polls === 0);
  release.open();
  await ended;
  assert.deepEqual(answersOf(arena), ['finished']);
});

test('the text of a member is found as it was written', () => {
  const cases: [string, string][] = [
    ['{"task":{"a":[1,{"task":2}],"b":"}\\"{"},"x":1}', '{"a":[1,{"task":2}],"b":"}\\"{"}'],
    ['{ "a" : {"task": 1}, "t\\u0061sk" :  1.50e1 }', '1.50e1'],
    ['{"task":1,"task":[ "é" ]}', '[ "é" ]'],
    ['{}', ''],
  ];
  for (const [object, want] of cases) assert.equal(memberText(object, 'task'), want, object);
  const long = `{"task":{"a":"${'\\"x'.repeat(500_000)}"}}`;
  assert.equal(memberText(long, 'task').length, long.length - 9);
});
