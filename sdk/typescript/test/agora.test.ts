import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

import { AgoraAgent, documents, freshBase, poll, register } from '../src/agora.js';
import { RateLimited, Unavailable } from '../src/index.js';
import type { Handler } from '../src/index.js';
import { gate } from './arena.js';

const task = (round: number, more: object = {}): object => ({
  version: '1.0', league: 'trivia', match_id: 'm_1', round, total_rounds: 9, task: { description: '2+2?', input_format: 'string', output_format: 'string' },
  time_limit_seconds: 30, max_tokens: null, rules: [], opponent_count: 1, task_id: 'tk_1', attempt: 1, ...more,
});

const handler: Handler = (_ctx, t, events) => {
  events.thinking('hm');
  events.toolCall('calculator', null);
  if (t.round === 2) throw new Error('tired', { cause: new RateLimited() });
  if (t.round === 3) throw new Unavailable();
  if (t.round === 4) throw new Error('secret detail');
  if (t.round === 5) return new Promise(() => {}); // longer than any limit
  return { value: '4', confidence: 1 };
};

async function start(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Said { http: number; status: string; body: string; error?: string; conversationId?: string; conversationExpires?: number }

async function ask(url: string, message: unknown, method = 'POST'): Promise<Said> {
  const response = await fetch(url, { method, ...(method === 'POST' ? { body: typeof message === 'string' ? message : JSON.stringify(message) } : {}) });
  assert.equal(response.headers.get('content-type'), 'application/json');
  return { ...((await response.json()) as Said), http: response.status };
}

test('the documents match the arena', () => {
  for (const [name, hash] of Object.entries(documents)) {
    const text = readFileSync(new URL(`../../../../protocol/agora/documents/${name}.txt`, import.meta.url));
    assert.equal(hash, createHash('sha1').update(text).digest('hex'), name);
  }
});

test('an agent that listens holds conversations under the documents', async (t) => {
  const agent = new AgoraAgent({ capabilities: ['trivia'], maxConcurrent: 2 }, handler);
  const base = (await start(t, agent.listener)) + '/secret';
  const message = (hash: string | null, body: unknown, more: object = {}): object => ({ protocolHash: hash, protocolSources: [], body, ...more });
  const first = await ask(base, message(documents.round, JSON.stringify(task(1)), { multiround: true }));
  assert.equal(first.status, 'success');
  assert.deepEqual({ ...(JSON.parse(first.body) as object), latency_ms: 0 }, { answer: '4', confidence: 1, subagents_used: [], tools_used: ['calculator'], latency_ms: 0 });
  assert.ok(first.conversationId !== undefined && first.conversationExpires! > Date.now() / 1000);
  const at = `${base}/conversations/${first.conversationId}`;
  for (const [round, word] of [[2, 'RATE_LIMITED'], [3, 'UNAVAILABLE'], [4, 'INTERNAL_ERROR'], [5, 'TIMEOUT']] as const) {
    const said = await ask(at, { status: 'success', body: JSON.stringify(task(round, round === 5 ? { time_limit_seconds: 0.05 } : {})) });
    assert.deepEqual([said.status, said.body, said.conversationId], ['success', `{"error":"${word}"}`, first.conversationId]);
  }
  assert.equal((await ask(base, message(documents.health, '{}'))).body, '{"status":"ok","max_concurrent":2,"capabilities":["trivia"]}');
  assert.match((await ask(base, message(documents.round.toUpperCase(), task(1)))).body, /"answer":"4"/);
  assert.match((await ask(base, message(documents.judge, JSON.stringify(task(1)), { multiround: true }))).body, /"answer":"4"/);
  assert.equal((await ask(base, message('0000000000000000000000000000000000000001', '{}'))).error, 'Unsupported protocol');
  assert.equal((await ask(base, message(null, 'hello'))).error, 'Unsupported protocol');
  assert.equal((await ask(base, { protocolHash: null })).error, "Missing field 'body'");
  assert.equal((await ask(base, 'nope')).http, 400);
  assert.equal((await ask(base, 'null')).http, 400);
  assert.equal((await ask(at, null, 'DELETE')).status, 'success');
  assert.equal((await ask(at, { body: '{}' })).http, 404);
  assert.equal((await ask(`${base}/wellknown`, null, 'GET')).http, 404);
  assert.throws(() => new AgoraAgent({ maxConcurrent: 0 }, handler), /maxConcurrent/);
  assert.throws(() => new AgoraAgent({ base: 'arena' }, handler), /base/);
});

test('a task too many is refused', async (t) => {
  const entered = gate();
  const release = gate();
  const agent = new AgoraAgent({ maxConcurrent: 1 }, async () => {
    entered.open();
    await release.opened;
    return { value: 'x' };
  });
  const base = await start(t, agent.listener);
  const first = ask(base, { protocolHash: documents.round, body: task(1) });
  await entered.opened;
  assert.equal((await ask(base, { protocolHash: documents.round, body: task(1) })).body, '{"error":"UNAVAILABLE"}');
  release.open();
  assert.match((await first).body, /"answer":"x"/);
});

/** The arena's side for an agent that polls. */
class Desk {
  url = '';
  tasks: object[] = [];
  answers: string[] = [];
  events: string[] = [];
  opened = 0;
  over = -1; // conversations up to this one are over

  static async start(t: TestContext, ...tasks: object[]): Promise<Desk> {
    const desk = new Desk();
    desk.tasks = tasks;
    desk.url = await start(t, (request, response) => {
      void read(request).then((text) => {
        const [status, reply] = desk.#reply(request.url ?? '', JSON.parse(text) as Record<string, unknown>);
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify(reply));
      });
    });
    return desk;
  }

  #reply(path: string, m: Record<string, unknown>): [number, object] {
    const op = JSON.parse(String(m['body'])) as Record<string, unknown>;
    if (path === '/agora' && m['protocolHash'] === documents.registration) {
      if (op['name'] === 'taken') return [200, { status: 'success', body: '{"error":"the name is taken"}' }];
      return [200, { status: 'success', body: JSON.stringify({ agent_id: op['agent_id'] ?? 'ag_1', base: `${this.url}/agora/x/secret`, owner_token: op['agent_id'] ? undefined : 'aro_1' }) }];
    }
    const talk = /^\/agora\/x\/secret\/conversations\/(\d+)$/.exec(path)?.[1];
    if (talk === undefined && (path !== '/agora/x/secret' || m['protocolHash'] !== documents.agent)) return [404, { status: 'failure', error: 'Unknown base' }];
    if (talk !== undefined && Number(talk) <= this.over) return [200, { status: 'failure', error: 'Conversation expired' }];
    const id = m['multiround'] === true ? String(++this.opened) : undefined;
    const said = (body: object): [number, object] => [200, { status: 'success', body: JSON.stringify(body), conversationId: id }];
    switch (op['op']) {
      case 'next': {
        const next = this.tasks.shift();
        return said(next === undefined ? { task: null } : { task: 9 - this.tasks.length, time_left_ms: 30_000, request: next });
      }
      case 'answer':
        this.answers.push(JSON.stringify(op['reply']));
        return said({ accepted: true });
      default:
        this.events.push(...(op['events'] as object[]).map((e) => JSON.stringify(e)));
        return said({ accepted: 1 });
    }
  }
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of request) text += String(part);
  return text;
}

test('an agent that polls answers what it is given, and shows its events before', async (t) => {
  const desk = await Desk.start(t, task(1), task(2), task(3), task(4), task(1));
  const made = await register(desk.url + '/', { name: 'Ann', leagues: ['trivia'] });
  assert.deepEqual(made, { agentId: 'ag_1', base: `${desk.url}/agora/x/secret`, ownerToken: 'aro_1' });
  assert.equal((await freshBase(desk.url, 'ag_7', 'aro_1')).agentId, 'ag_7');
  await assert.rejects(register(desk.url, { name: 'taken' }), /the name is taken/);
  const end = new AbortController();
  const played: string[] = [];
  const playing = poll({ base: made.base, maxConcurrent: 1 }, (ctx, one, events) => {
    played.push(String(one.round));
    if (played.length === 3) desk.over = desk.opened; // the conversation is over
    return handler(ctx, one, events);
  }, { signal: end.signal });
  while (desk.answers.length < 5) await new Promise((resolve) => setImmediate(resolve));
  end.abort();
  await playing;
  assert.match(desk.answers[0]!, /"answer":"4"/);
  assert.deepEqual(desk.answers.slice(1, 4), ['{"error":"RATE_LIMITED"}', '{"error":"UNAVAILABLE"}', '{"error":"INTERNAL_ERROR"}']);
  assert.ok(!desk.answers.join().includes('secret'));
  assert.equal(desk.events.filter((e) => e === '{"type":"thinking","message":"hm"}').length, 5);
  assert.ok(desk.opened >= 2);
});

test('an unknown base ends it, and so does its signal', async (t) => {
  const desk = await Desk.start(t, task(1));
  await assert.rejects(poll({ base: `${desk.url}/agora/x/wrong` }, handler), /request a new one/);
  const end = new AbortController();
  await poll({ base: `${desk.url}/agora/x/secret` }, (ctx) => {
    end.abort();
    return new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('stopped'))));
  }, { signal: end.signal });
  assert.deepEqual(desk.answers, ['{"error":"UNAVAILABLE"}']); // it leaves the match
});
