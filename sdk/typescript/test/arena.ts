// A pocket arena: it publishes keys, signs and posts tasks, and takes events.
import { createHash, randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
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

  /** Posts a task with changed members and reads the reply. */
  async ask(endpoint: string, change: Members = {}, signal?: AbortSignal): Promise<{ status: number; reply: Members }> {
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
      .setIssuer(this.url).setSubject('ag_test').setAudience('ag_test').setIssuedAt(Math.floor(now / 1000))
      .setExpirationTime(expires).setJti(randomUUID()).sign(key);
    return post(endpoint, body, `Bearer ${token}`, signal);
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
