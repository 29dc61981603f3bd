import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Answer, Events, Task } from '../src/index.js';
import { Arena, post, vectors } from './arena.js';
import type { Members } from './arena.js';

// Threats E7 and F2, on the agent's side.
test('tokens', async (t) => {
  const v = vectors('tokens.json');
  const arena = await Arena.start(t, v['jwks']);
  const { endpoint } = await arena.serve(t, () => ({ value: 'a' }), {
    issuer: v['issuer'], agentId: v['agent_id'], leewayMs: v['leeway_seconds'] * 1000, now: () => v['now'] * 1000, events: 'off',
  });
  for (const c of v['cases']) {
    const { status } = await post(endpoint, c.body ?? v['body'], c.authorization);
    assert.equal(status, c.status, c.name);
  }
});

test('rotation', async (t) => {
  const v = vectors('tokens.json');
  const { steps, floods } = v['rotation'];
  const arena = await Arena.start(t, steps[0].jwks);
  const { endpoint } = await arena.serve(t, () => ({ value: 'a' }), { issuer: v['issuer'], now: () => v['now'] * 1000, events: 'off' });
  for (const c of steps) {
    arena.jwks = c.jwks;
    const { status } = await post(endpoint, v['body'], c.authorization);
    assert.equal(status, c.status, c.name);
  }
  for (const c of floods) {
    const before = arena.keyFetches;
    for (let i = 0; i < c.times; i++) assert.equal((await post(endpoint, v['body'], c.authorization)).status, 401, c.name);
    assert.ok(arena.keyFetches - before <= c.looks_at_most, `${c.name}: ${arena.keyFetches - before} looks`);
  }
});

test('tasks', async (t) => {
  const arena = await Arena.start(t);
  let got: Task | undefined;
  for (const c of vectors('tasks.json')['cases']) {
    got = undefined;
    const fresh = await arena.serve(t, (_ctx, task) => ((got = task), { value: 'a' }), { insecureSkipTokens: true });
    const { status } = await post(fresh.endpoint, c.body, null);
    assert.equal(status, c.status, c.name);
    assert.deepEqual(got && flat(got), c.task, c.name);
  }
});

function flat(k: Task): Members {
  const p = k.previous;
  return {
    version: k.version, league: k.league, match_id: k.matchId, round: k.round, total_rounds: k.totalRounds, description: k.description,
    input_format: k.inputFormat, output_format: k.outputFormat, options: k.options, observation: k.observation, time_limit_seconds: k.timeLimitMs / 1000,
    max_tokens: k.maxTokens, rules: k.rules, opponents: k.opponents, task_id: k.taskId, attempt: k.attempt,
    deadline_ms: k.deadline?.getTime() ?? null,
    previous: p && { outcome: p.outcome, correct: p.correct, points: p.points, measured_ms: p.measuredMs, receipt: p.receipt && { sha256: p.receipt.sha256, arrived_at_ms: p.receipt.arrivedAt?.getTime() ?? null }, error: p.error },
  };
}

test('answers', async (t) => {
  const arena = await Arena.start(t);
  for (const c of vectors('replies.json')['answers']) {
    const { endpoint } = await arena.serve(t, () => c.answer as Answer);
    const { reply } = await arena.ask(endpoint);
    assert.equal(typeof reply['latency_ms'], 'number');
    delete reply['latency_ms'];
    assert.deepEqual(reply, c.reply, c.name);
  }
});

for (const mode of ['websocket', 'http'] as const) {
  test(`events over ${mode}`, async (t) => {
    const arena = await Arena.start(t);
    const cases: Members[] = vectors('events.json')['cases'];
    const { agent, endpoint } = await arena.serve(t, (_ctx, _task, events) => {
      for (const c of cases) report(events, c['method'], c['args']);
      return { value: 'a' };
    }, { events: mode });
    await arena.ask(endpoint);
    const want = cases.map((c) => c['message']).filter((m) => m !== null);
    const got = await arena.events(want.length);
    assert.deepEqual(got.map((e) => e.message), want);
    assert.equal(agent.droppedEvents, cases.length - want.length);
  });
}

function report(events: Events, method: string, a: any[]): void {
  const calls: Record<string, () => void> = {
    thinking: () => events.thinking(a[0]),
    spawn: () => events.spawn(a[0], a[1]),
    subagent_done: () => events.subagentDone(a[0], a[1]),
    tool_call: () => events.toolCall(a[0], a[1]),
    tool_response: () => events.toolResponse(a[0], a[1]),
    intermediate: () => events.intermediate(a[0]),
    answer: () => events.answer(a[0], a[1]),
    error: () => events.error(a[0], a[1]),
  };
  calls[method]!();
}
