import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';

import { Agent, legalMoves, RateLimited, serve, TaskTimeout, Unavailable } from '../src/index.js';
import type { Config, Events, Handler, Task } from '../src/index.js';
import { Arena, gate, post } from './arena.js';

const canberra: Handler = () => ({ value: 'Canberra' });

test('what a handler throws chooses the status', async (t) => {
  const arena = await Arena.start(t);
  const { endpoint } = await arena.serve(t, async (_ctx, task) => {
    switch (task.description) {
      case '408': throw new TaskTimeout();
      case '408 too': throw new DOMException('slow', 'TimeoutError');
      case '429': throw new Error('model', { cause: new RateLimited() });
      case '503': throw new Unavailable();
      case 'nothing': return undefined as never;
      default: throw new Error('secret detail');
    }
  });
  for (const [description, status] of Object.entries({ '408': 408, '408 too': 408, '429': 429, '503': 503, nothing: 500, other: 500 })) {
    const got = await arena.ask(endpoint, { match_id: description, task: { description } });
    assert.equal(got.status, status, description);
    assert.ok(!JSON.stringify(got.reply).includes('secret'));
  }
});

test('a delivery during the work joins it, a later one gets the same answer', async (t) => {
  const arena = await Arena.start(t);
  const entered = gate();
  const release = gate();
  let calls = 0;
  const { endpoint } = await arena.serve(t, async () => {
    calls++;
    entered.open();
    await release.opened;
    return { value: `answer ${calls}` };
  }, { maxConcurrent: 1 });
  const first = arena.ask(endpoint);
  await entered.opened;
  const cut = new AbortController();
  const lost = assert.rejects(arena.ask(endpoint, { attempt: 2 }, cut.signal));
  const second = arena.ask(endpoint, { attempt: 3 }); // no slot is free: only joining can succeed
  cut.abort();
  release.open();
  await lost;
  for (const reply of [first, second, arena.ask(endpoint, { attempt: 4 })]) {
    assert.equal((await reply).reply['answer'], 'answer 1');
  }
  assert.equal(calls, 1);
  for (let round = 2; round < 300; round++) assert.equal((await arena.ask(endpoint, { round })).reply['answer'], `answer ${round}`);
});

test('a task that asks for another move is another question', async (t) => {
  const arena = await Arena.start(t);
  const { endpoint } = await arena.serve(t, (_ctx, task) => ({ value: `${task.observation?.['you']}${legalMoves(task)[task.previous?.error ? 1 : 0]}` }));
  const task = { description: 'd', options: ['1', '2'], observation: { you: 'x' } };
  for (const [previous, want] of [[null, 'x1'], [{ error: 'column 1 is full' }, 'x2'], [null, 'x1']] as const) {
    assert.equal((await arena.ask(endpoint, { task, previous })).reply['answer'], want);
  }
  assert.deepEqual(legalMoves({ options: ['a'], observation: null } as unknown as Task), []);
});

test('a failure is tried again', async (t) => {
  const arena = await Arena.start(t);
  const { endpoint } = await arena.serve(t, (_ctx, task) => {
    if (task.attempt === 1) throw new Error('no luck');
    return { value: 'luck' };
  });
  assert.equal((await arena.ask(endpoint)).status, 500);
  assert.equal((await arena.ask(endpoint, { attempt: 2 })).status, 200);
});

for (const [whenFull, status] of [['unavailable', 503], ['rate_limited', 429]] as const) {
  test(`a task too many gets ${status}`, async (t) => {
    const arena = await Arena.start(t);
    const entered = gate();
    const release = gate();
    const { endpoint } = await arena.serve(t, async () => {
      entered.open();
      await release.opened;
      return { value: 'a' };
    }, { maxConcurrent: 1, whenFull });
    const first = arena.ask(endpoint, { match_id: 'm_1' });
    await entered.opened;
    assert.equal((await arena.ask(endpoint, { match_id: 'm_2' })).status, status);
    release.open();
    assert.equal((await first).status, 200);
    assert.equal((await arena.ask(endpoint, { match_id: 'm_2', attempt: 2 })).status, 200);
  });
}

test('the time limit ends the context, and a handler that hears nothing', async (t) => {
  const arena = await Arena.start(t);
  const release = gate();
  const { endpoint } = await arena.serve(t, async (ctx, task) => {
    if (task.description === 'deaf') await release.opened;
    else if (!ctx.signal.aborted) await once(ctx.signal, 'abort');
    assert.ok(task.description === 'deaf' || ctx.remainingMs() < 200);
    ctx.signal.throwIfAborted();
    return { value: 'late' };
  });
  const replies = ['deaf', 'hears'].map((d) => arena.ask(endpoint, { match_id: d, task: { description: d }, time_limit_seconds: 1 }));
  for (const reply of replies) assert.equal((await reply).status, 408);
  release.open();
});

test('a new key is found, and asked for once', async (t) => {
  const arena = await Arena.start(t);
  const { endpoint } = await arena.serve(t, canberra, { agentId: 'ag_test', maxConcurrent: 9 });
  assert.equal((await arena.ask(endpoint)).status, 200);
  const before = arena.keyFetches;
  await arena.rotate();
  const replies = await Promise.all([2, 3, 4, 5].map((round) => arena.ask(endpoint, { round })));
  assert.deepEqual(replies.map((r) => r.status), [200, 200, 200, 200]);
  assert.equal(arena.keyFetches, before + 1);
});

test('without keys nobody is at fault', async (t) => {
  const arena = await Arena.start(t);
  arena.down = true;
  const { agent, endpoint } = await arena.serve(t, canberra);
  assert.equal((await arena.ask(endpoint)).status, 503);
  arena.down = false;
  assert.equal((await arena.ask(endpoint)).status, 200);
  agent.setAgentId('ag_later');
  assert.equal((await arena.ask(endpoint)).status, 401);
});

// Threat T6.
test('an agent without an id takes no task', async (t) => {
  const arena = await Arena.start(t);
  const { agent, endpoint } = await arena.serve(t, canberra, { anyAgent: false });
  assert.equal((await arena.ask(endpoint)).status, 401);
  agent.setAgentId('ag_test');
  assert.equal((await arena.ask(endpoint)).status, 200);
});

test('health', async (t) => {
  const arena = await Arena.start(t);
  let sick = false;
  const { agent, endpoint } = await arena.serve(t, canberra, {
    capabilities: ['trivia', 'debate'], maxConcurrent: 7,
    health: () => {
      if (sick) throw new Error('asleep');
    },
  });
  const get = (path: string, method = 'GET'): Promise<Response> => fetch(endpoint + path, { method });
  const well = await get('/health');
  assert.equal(well.status, 200);
  assert.deepEqual(await well.json(), { status: 'ok', version: '1.0', capabilities: ['trivia', 'debate'], avg_latency_ms: 0, max_concurrent: 7 });
  assert.equal((await get('/health/')).status, 200);
  assert.equal((await get('/health', 'HEAD')).status, 200);
  assert.equal((await get('/health', 'POST')).headers.get('allow'), 'GET, HEAD');
  assert.equal((await get('')).status, 405);
  assert.equal((await get('/elsewhere')).status, 404);
  sick = true;
  assert.equal((await get('/health')).status, 503);
  sick = false;
  await agent.close();
  assert.equal((await get('/health')).status, 503);
  assert.equal((await arena.ask(endpoint)).status, 503);
});

test('one socket per match carries the events of its rounds, under the token of each', async (t) => {
  const arena = await Arena.start(t);
  let kept: Events | undefined;
  const { agent, endpoint } = await arena.serve(t, (_ctx, task, events) => {
    events.spawn('Librarian', 'looks');
    events.spawn('Librarian', 'looks again');
    events.toolCall('search', { round: task.round });
    kept = events;
    return { value: 'a' };
  });
  const { reply } = await arena.ask(endpoint);
  assert.deepEqual([reply['subagents_used'], reply['tools_used']], [['Librarian'], ['search']]);
  await arena.events(3); // the answer waited for them
  for (const ws of arena.sockets) await new Promise((r) => (ws.once('close', r), ws.terminate())); // the connection is lost
  await arena.ask(endpoint, { round: 2 });
  await arena.ask(endpoint, { round: 3 });
  const got = await arena.events(9);
  assert.deepEqual(got.map((e) => e.round), [1, 1, 1, 2, 2, 2, 3, 3, 3]);
  assert.equal(arena.dials, 2);
  kept!.thinking('too late');
  assert.equal(agent.droppedEvents, 1);
});

test('an arena that refuses events costs no answer', async (t) => {
  const arena = await Arena.start(t);
  const { agent, endpoint } = await arena.serve(t, (_ctx, _task, events) => {
    arena.down = true;
    events.thinking('to nobody');
    return { value: 'a' };
  });
  assert.equal((await arena.ask(endpoint)).status, 200);
  await agent.close();
  assert.equal(agent.droppedEvents, 1);
});

test('serve finishes the work when it is told to stop', async (t) => {
  const arena = await Arena.start(t);
  const stop = new AbortController();
  const entered = gate();
  const release = gate();
  let url = '';
  const listens = gate();
  const logger = { info: (m: string) => ((url = /http\S+/.exec(m)![0]), listens.open()), warn() {}, error() {} };
  const ended = serve({ arena: arena.url, addr: '127.0.0.1:0', anyAgent: true, logger }, async () => {
    entered.open();
    await release.opened;
    return { value: 'at the last moment' };
  }, { signal: stop.signal });
  await listens.opened;
  const asked = arena.ask(url);
  await entered.opened;
  stop.abort();
  release.open();
  assert.equal((await asked).reply['answer'], 'at the last moment');
  await ended;
  await assert.rejects(post(url, '{}', null));
});

test('a wrong configuration is refused', () => {
  const wrong: Partial<Config>[] = [
    { arena: '' }, { arena: 'arena.example' }, { arena: 'ftp://arena.example' }, { path: 'agora' }, { path: '/' }, { maxConcurrent: 0 },
    { whenFull: 'asleep' as never }, { events: 'pigeon' as never },
  ];
  for (const change of wrong) assert.throws(() => new Agent({ arena: 'http://127.0.0.1:1', ...change }, canberra), TypeError, JSON.stringify(change));
  assert.throws(() => new Agent({ arena: 'http://127.0.0.1:1' }, undefined as never), TypeError);
});
