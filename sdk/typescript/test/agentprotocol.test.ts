import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';

import { canonical, open, publicKey, signChallenge, SignedAgent } from '../src/agentprotocol.js';
import { RateLimited, TaskTimeout, Unavailable } from '../src/errors.js';
import { WebSocketServer } from 'ws';

interface Vectors {
  seed: string;
  agent_id: string;
  challenge: [string, string];
  sign: { draft: object; text: string; signature: string }[];
  verify: { name: string; message: string; valid: boolean }[];
}

const vectors = JSON.parse(readFileSync(new URL('../../../vectors/agentprotocol.json', import.meta.url), 'utf8')) as Vectors;
const head = Buffer.from('302e020100300506032b657004220420', 'hex'); // PKCS #8 of an Ed25519 seed
const key = createPrivateKey({ key: Buffer.concat([head, Buffer.from(vectors.seed, 'base64')]), format: 'der', type: 'pkcs8' });

test('the vectors that all SDKs share', () => {
  assert.equal(publicKey(key), vectors.agent_id);
  assert.equal(signChallenge(key, vectors.challenge[0]), vectors.challenge[1]);
  for (const c of vectors.sign) {
    assert.equal(canonical(c.draft), c.text);
    assert.equal(signChallenge(key, canonical(c.draft)), c.signature);
  }
  for (const c of vectors.verify) {
    let valid = true;
    try {
      open(c.message, vectors.agent_id);
    } catch {
      valid = false;
    }
    assert.equal(valid, c.valid, c.name);
  }
  assert.equal(canonical({ 9: 1, 10: 2, a: undefined, é: [undefined] }), '{"10":2,"9":1,"é":[null]}');
});

test('bad configuration', () => {
  const handler = () => ({ value: 'x' });
  assert.throws(() => new SignedAgent({ arena: 'arena.example', key }, handler), /not an http/);
  assert.throws(() => new SignedAgent({ arena: 'https://arena.example', key, maxConcurrent: 0 }, handler), /below one/);
  assert.throws(() => publicKey(generateKeyPairSync('x25519').privateKey), /not an Ed25519/);
});

/** An arena for one agent: it signs with the key of the vectors. */
const arenaId = vectors.agent_id;
function message(to: string, type: string, payload: object, more: object = {}): string {
  const m = {
    protocol: 'agentprotocol/0.1', id: crypto.randomUUID(), timestamp: new Date().toISOString(), type, payload,
    from: { agentId: arenaId }, to: { agentId: to, broadcast: false }, ...more,
  };
  return JSON.stringify({ ...m, signature: signChallenge(key, canonical(m)) });
}
const params = { version: '1.0', league: 'trivia', match_id: 'm_1', round: 1, task: { description: 'capital?', options: ['a', 'b'] }, time_limit_seconds: 30 };
const request = { action: 'arena:round/trivia', correlationId: 'c1', params, timeout: 30000 };

test('an agent over HTTP', async (t) => {
  const failures: (Error | null)[] = [null, new TaskTimeout(), new RateLimited(), new Unavailable(), new Error('broken')];
  const mine = generateKeyPairSync('ed25519').privateKey;
  const heard: string[] = [];
  const arena = createServer((q, s) => {
    let body = '';
    q.on('data', (part) => (body += part));
    q.on('end', () => (heard.push(body), s.writeHead(204).end()));
  });
  await new Promise<void>((resolve) => arena.listen(0, '127.0.0.1', resolve));
  const url = (server: typeof arena): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agent = new SignedAgent({ arena: url(arena), arenaId, key: mine, name: 'Ts' }, (_ctx, task, events) => {
    events.thinking('hm');
    const failure = failures.shift();
    if (failure) throw failure;
    return { value: task.options![1]! };
  });
  const server = createServer(agent.listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => (agent.close(), server.close(), arena.close(), server.closeAllConnections(), arena.closeAllConnections()));
  const post = async (body: string): Promise<[number, ReturnType<typeof open>]> => {
    const response = await fetch(url(server), { method: 'POST', body });
    return [response.status, open(await response.text(), agent.publicKey)];
  };
  const [, hello] = await post(message(agent.publicKey, 'hello', { version: '0.1' }));
  assert.equal(hello.type, 'hello');
  assert.deepEqual(hello.from.capabilities, ['arena:round']);
  const first = message(agent.publicKey, 'request', request);
  for (const [data, type, code] of [
    [first, 'response', undefined], [first, 'response', undefined], // the same again: no second call
    ...['TIMEOUT', 'RATE_LIMITED', 'CAPABILITY_NOT_SUPPORTED', 'INTERNAL_ERROR'].map((c) => [message(agent.publicKey, 'request', request), 'error', c] as const),
    [message(agent.publicKey, 'request', { ...request, action: 'code-review' }), 'error', 'CAPABILITY_NOT_SUPPORTED'],
  ] as const) {
    const [status, m] = await post(data);
    assert.equal(status, 200);
    assert.equal(m.type, type);
    assert.equal(m.payload['code'], code);
    assert.equal(m.payload['correlationId'], 'c1');
    if (type === 'response') assert.equal((m.payload['result'] as { answer: string }).answer, 'b');
  }
  assert.equal(heard.length, 5);
  const event = open(heard[0]!, agent.publicKey);
  assert.deepEqual(event.payload, { correlationId: 'c1', data: { message: 'hm', type: 'thinking' }, event: 'arena.event' });
  for (const [data, want] of [
    ['{', 400], [message(agent.publicKey, 'request', request, { timestamp: '2026-02-01T15:08:00Z' }), 400],
    [message(arenaId, 'request', request), 400], [message(agent.publicKey, 'request', request).replace('capital', 'Capital'), 401],
  ] as const) {
    const [status, m] = await post(data);
    assert.equal(status, want);
    assert.equal(m.type, 'error');
  }
});

test('an agent over a WebSocket comes back', async () => {
  const mine = generateKeyPairSync('ed25519').privateKey;
  const me = publicKey(mine);
  const arena = createServer((_q, s) => s.end(message(me, 'hello', { version: '0.1' }))); // GET: who the arena is
  const sockets = new WebSocketServer({ server: arena, path: '/agentprotocol/ws' });
  await new Promise<void>((resolve) => arena.listen(0, '127.0.0.1', resolve));
  const agent = new SignedAgent({ arena: `http://127.0.0.1:${(arena.address() as AddressInfo).port}`, key: mine }, (_ctx, task) => ({ value: task.options![0]! }));
  const types: string[] = [];
  let connections = 0;
  const played = new Promise<void>((resolve) => {
    sockets.on('connection', (socket) => {
      const first = ++connections === 1;
      socket.on('message', (data) => {
        const m = open(String(data), me);
        types.push(m.type);
        if (m.type === 'hello' && first) socket.terminate();
        else if (m.type === 'hello') (socket.send(message(me, 'hello', {})), socket.send(message(me, 'request', request)));
        else resolve();
      });
    });
  });
  const running = agent.run();
  await played;
  agent.close();
  await running;
  assert.deepEqual(types, ['hello', 'hello', 'response']);
  sockets.close();
  arena.closeAllConnections();
  await new Promise((resolve) => arena.close(resolve));
});
