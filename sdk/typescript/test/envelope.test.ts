import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

import * as envelope from '../src/envelope.js';
import { RateLimited } from '../src/index.js';
import type { Handler } from '../src/index.js';
import type { Members } from './arena.js';

const task = { version: '1.0', league: 'trivia', match_id: 'm_1', round: 1, task: { description: 'Capital?' }, time_limit_seconds: 30 };

/** A pocket relay: it puts one task, accepts the offer, and gives what the agent posted in the end. */
async function ask(t: TestContext, handler: Handler, change: (e: Members) => Members = (e) => e): Promise<{ last: Members; all: Members[] }> {
  const arena = envelope.Key.generate();
  const agent = envelope.Key.generate();
  const posted: Members[] = [];
  const waiting: Members[] = [];
  const end = new AbortController();
  let n = 0;
  let wake = (): void => {};
  const say = (type: string, payload: Members): void => {
    waiting.push(change(arena.sign({
      version: '1.0', id: `msg_${n++}`, ts: new Date().toISOString(), type, sender: { id: arena.did }, recipient: { id: agent.did },
      thread: { id: 'thread_1' }, payload,
    }) as Members));
    wake();
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    let reply: Members = { ok: true };
    if (request.url === '/relay/health') reply = { ok: true, did: arena.did };
    else if (request.method === 'GET') {
      if (waiting.length === 0) await new Promise<void>((resolve) => { wake = resolve; response.on('close', resolve); });
      reply = { ok: true, events: waiting.splice(0), hasMore: false, cursor: `seq:${n}` };
    } else {
      const e = JSON.parse(body) as Members;
      assert.ok(envelope.verify(e, agent.did), 'what the agent posts is signed');
      posted.push(e);
      if (e['type'] === 'OFFER') say('ACCEPT', { request_id: 'req_1' });
      if (['RESULT', 'ERROR'].includes(e['type'])) end.abort();
    }
    response.end(JSON.stringify(reply));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => { server.close(); server.closeAllConnections(); });
  say('REQUEST', { request_id: 'req_1', intent: 'arena.trivia', params: task, constraints: { max_latency_ms: 30_000 } });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await envelope.play({ arena: url, key: agent, leagues: ['trivia', 'code-golf'] }, handler, { signal: AbortSignal.any([end.signal, t.signal]) });
  return { last: posted.at(-1)!, all: posted };
}

test('an agent that only polls offers, works and answers', async (t) => {
  const { last, all } = await ask(t, (_ctx, question, events) => {
    events.thinking('<hm> \u2028 你好');
    return { value: `${question.description} Canberra`, confidence: 0.5 };
  });
  assert.deepEqual(all.map((e) => e['type']), ['STATUS', 'OFFER', 'STATUS', 'RESULT']);
  assert.deepEqual(all[0]!['payload'].manifest.intents, [{ id: 'arena.trivia' }, { id: 'arena.code_golf' }]);
  assert.equal(all[2]!['payload'].event.message, '<hm> \u2028 你好');
  assert.equal(last['payload'].status, 'success');
  assert.equal(last['payload'].output.answer, 'Capital? Canberra');
});

test('what a handler throws chooses the code', async (t) => {
  for (const [error, code] of [[new RateLimited(), 'RATE_LIMITED'], [new Error('secret'), 'INTERNAL_ERROR'], [new DOMException('slow', 'TimeoutError'), 'TIMEOUT']] as const) {
    const { last } = await ask(t, () => { throw error; });
    assert.equal(last['payload'].code, code);
    assert.ok(!JSON.stringify(last).includes('secret'));
  }
});

test('signatures', () => {
  const key = envelope.Key.generate();
  const e = key.sign({ b: 1, a: { 10: 'x', 9: 'y' }, n: 1e21, t: '\u2028<é' }) as Members;
  assert.ok(envelope.verify(e, key.did));
  assert.ok(envelope.verify(JSON.parse(JSON.stringify(e)), key.did));
  assert.ok(!envelope.verify({ ...e, b: 2 }, key.did));
  assert.ok(!envelope.verify({ ...e, c: null }, key.did));
  assert.ok(!envelope.verify({ ...e, sig: e['sig'].slice(0, -1) }, key.did));
  assert.ok(!envelope.verify(e, envelope.Key.generate().did));
  assert.ok(!envelope.verify(e, 'did:web:x'));
  assert.equal(envelope.Key.fromPem(key.toPem()).did, key.did);
});
