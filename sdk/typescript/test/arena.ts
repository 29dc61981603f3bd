// A pocket arena: it publishes keys, signs and posts tasks, and takes events.
import { createHash, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';

import { Agent } from '../src/index.js';
import type { Config, Handler } from '../src/index.js';

export type Members = Record<string, any>;

export interface Seen {
  round: number;
  match: string;
  message: Members;
}

interface Delivery {
  status: 200 | 204;
  body?: string;
}

interface Refusal {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

export class Arena {
  url = '';
  down = false;
  keyFetches = 0;
  /** Instead of the keys that sign. */
  jwks: unknown;
  sockets = new Set<WebSocket>();
  dials = 0;
  readonly #seen: Seen[] = [];
  readonly #grown = new EventEmitter().setMaxListeners(0);
  readonly #keys: { kid: string; key: CryptoKey; jwk: JWK }[] = [];

  static async start(t: TestContext, jwks?: unknown): Promise<Arena> {
    const a = new Arena();
    a.jwks = jwks;
    await a.rotate();
    const server = createServer(async (request, response) => {
      if (a.down) return response.writeHead(503).end();
      if (request.url === '/.well-known/jwks.json') {
        a.keyFetches++;
        return response.end(JSON.stringify(a.jwks ?? { keys: a.#keys.map((k) => k.jwk) }));
      }
      let body = '';
      for await (const part of request) body += part;
      if (request.url !== '/v1/stream') return a.#pull(request, response, body);
      const token = String(request.headers.authorization).replace('Bearer ', '');
      for (const line of body.trimEnd().split('\n')) a.#note(token, line);
      return response.end('{}');
    });
    const sockets = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => {
      if (a.down) return socket.end('HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n');
      return sockets.handleUpgrade(request, socket, head, (ws) => {
        a.dials++;
        a.sockets.add(ws);
        let token = String(request.headers.authorization).replace('Bearer ', '');
        ws.on('message', (data) => {
          const m = JSON.parse(String(data)) as Members;
          if (m['type'] === 'auth') token = m['token'];
          else a.#note(token, String(data));
        });
        ws.on('close', () => a.sockets.delete(ws));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    a.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    t.after(() => {
      for (const ws of a.sockets) ws.terminate();
      server.closeAllConnections();
      server.close();
    });
    return a;
  }

  /** Publishes a new key, which signs from now on. */
  async rotate(): Promise<void> {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const kid = `key_${this.#keys.length}`;
    this.#keys.push({ kid, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' } });
  }

  #note(token: string, line: string): void {
    const claims = decodeJwt(token);
    this.#seen.push({ round: claims['round'] as number, match: claims['match_id'] as string, message: JSON.parse(line) as Members });
    this.#grown.emit('grown');
  }

  /** The events, as soon as there are n. */
  async events(n: number): Promise<Seen[]> {
    while (this.#seen.length < n) await once(this.#grown, 'grown');
    return this.#seen;
  }

  /** Makes an agent, and serves it on a port of its own until the test ends. */
  async serve(t: TestContext, handler: Handler, config: Partial<Config> = {}): Promise<{ agent: Agent; endpoint: string }> {
    const agent = new Agent({ arena: this.url, addr: '127.0.0.1:0', anyAgent: true, ...config }, handler);
    const server = await agent.listen();
    t.after(async () => {
      server.closeAllConnections();
      server.close();
      await agent.close();
    });
    return { agent, endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/agora` };
  }

  /** What an agent that pulls may see: each poll gets the next of these, and waits when there is none. */
  deliveries: (Delivery | Refusal)[] = [];
  /** Instead of the reply to the next answers. */
  refusals: Refusal[] = [];
  polls = 0; // waiting now
  registered = 1; // the agent's max_concurrent
  answers: { taskId: string; body: string }[] = [];

  /** Puts a task with changed members where the next poll finds it. */
  async offer(change: Members = {}): Promise<void> {
    const { body, token } = await this.make(change);
    const task_id = String(change['task_id'] ?? 'tk_test');
    this.give({ status: 200, body: `{"task_id": "${task_id}", "token": "${token}", "attempt": 1, "task": ${body}}` });
  }

  give(d: Delivery | Refusal): void {
    this.deliveries.push(d);
    this.#grown.emit('grown');
  }

  /** Resolves when the condition holds. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.#grown, 'grown');
  }

  async #pull(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const reply = (r: Delivery | Refusal): void => void response.writeHead(r.status, { 'Retry-After': '0', ...('headers' in r && r.headers) }).end(r.body);
    if (request.headers.authorization !== 'Bearer ak_test') return reply({ status: 401, body: '{"code":"unauthorized","detail":"the key is not known"}' });
    if (request.url === '/v1/me') return reply({ status: 200, body: '{"agent_id":"ag_test","owner_id":"ow_test","scope":"agent"}' });
    if (request.url === '/v1/agents/ag_test') return reply({ status: 200, body: `{"health":{"max_concurrent":${this.registered}}}` });
    const taskId = /^\/v1\/agents\/ag_test\/tasks\/(\w+)\/answer$/.exec(request.url ?? '')?.[1];
    if (taskId !== undefined && request.method === 'POST') {
      const refusal = this.refusals.shift();
      if (refusal === undefined) this.answers.push({ taskId, body });
      this.#grown.emit('grown');
      return reply(refusal ?? { status: 202, body: '{}' });
    }
    if (request.url !== '/v1/agents/ag_test/tasks?wait=50') return reply({ status: 404, body: '{}' });
    this.polls++;
    this.#grown.emit('grown');
    const gone = once(response, 'close').then(() => this.#grown.emit('grown'));
    while (this.deliveries.length === 0 && !response.destroyed) await Promise.race([once(this.#grown, 'grown'), gone]);
    this.polls--;
    this.#grown.emit('grown');
    if (!response.destroyed) reply(this.deliveries.shift()!);
  }

  /** Posts a task with changed members and reads the reply. */
  async ask(endpoint: string, change: Members = {}, signal?: AbortSignal): Promise<{ status: number; reply: Members }> {
    const { body, token } = await this.make(change);
    return post(endpoint, body, `Bearer ${token}`, signal);
  }

  /** Makes a task with changed members, and its token. */
  async make(change: Members = {}): Promise<{ body: string; token: string }> {
    const limit = change['time_limit_seconds'] ?? 10;
    const now = Date.now();
    const body = JSON.stringify({
      version: '1.0', league: 'trivia', match_id: 'm_test', round: 1, total_rounds: null,
      task: { description: 'What is the capital of Australia?', input_format: 'string', output_format: 'string' },
      time_limit_seconds: limit, max_tokens: 500, rules: [], opponent_count: 1, task_id: 'tk_test', attempt: 1,
      deadline: new Date(now + limit * 1000).toISOString(), ...change,
    });
    const { match_id, round } = JSON.parse(body) as Members;
    const { kid, key } = this.#keys.at(-1)!;
    const expires = Math.floor(now / 1000) + limit + 5;
    const token = await new SignJWT({
      agent_id: 'ag_test', match_id, expires_at: expires, round, bh: createHash('sha256').update(body).digest('base64url'),
    })
      .setProtectedHeader({ alg: 'ES256', kid, typ: 'aap-task+jwt' })
      .setIssuer(this.url).setSubject('ag_test').setAudience('ag_test').setIssuedAt(Math.floor(now / 1000) - 5)
      .setExpirationTime(expires).setJti(randomUUID()).sign(key);
    return { body, token };
  }
}

export async function post(endpoint: string, body: string, authorization: string | null, signal?: AbortSignal): Promise<{ status: number; reply: Members }> {
  const headers = { 'Content-Type': 'application/json', ...(authorization !== null && { Authorization: authorization }) };
  const response = await fetch(endpoint, { method: 'POST', body, headers, signal: signal ?? null });
  return { status: response.status, reply: (await response.json()) as Members };
}

/** A file of sdk/vectors, with the texts that stand for long ones. */
export function vectors(name: string): Members {
  return expand(JSON.parse(readFileSync(new URL(`../../../vectors/${name}`, import.meta.url), 'utf8'))) as Members;
}

function expand(v: any): any {
  if (Array.isArray(v)) return v.map(expand);
  if (typeof v !== 'object' || v === null) return v;
  if ('repeat' in v) return v.repeat.repeat(v.times);
  if ('parts' in v) return v.parts.map(expand).join('');
  return Object.fromEntries(Object.entries(v).map(([name, member]) => [name, expand(member)]));
}

/** A promise and what keeps it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
