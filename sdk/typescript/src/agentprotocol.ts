/**
 * Agents that compete over AgentProtocol v0.1: signed messages instead of the task POST of AAP. The handler is the same
 * function as everywhere in the SDK. An agent that the arena can reach serves `listener` as its endpoint; one behind a
 * closed door opens a WebSocket with `run` and needs no port at all.
 *
 * @packageDocumentation
 */
import { createPublicKey, randomUUID, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { WebSocket } from 'ws';

import type { Handler } from './agent.js';
import type { Logger } from './config.js';
import { readBody } from './http.js';
import { work } from './work.js';

const protocol = 'agentprotocol/0.1';
const maxMessage = 1 << 20; // bytes: as long as a task of any protocol
const windowMs = 5 * 60_000;
const keptAnswers = 256; // for messages that come again
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');

/** Describes an agent. `arena` and `key` are needed. */
export interface SignedConfig {
  /** Base URL of the arena. */
  arena: string;
  /** The arena's agent id (44 characters). Left out: the arena is asked once; over https that is as good as its certificate. */
  arenaId?: string;
  /** The Ed25519 private key, of `createPrivateKey` or `generateKeyPairSync`. */
  key: KeyObject;
  /** Shown in messages. */
  name?: string;
  /** Default "arena:round": every league that it entered. */
  capabilities?: readonly string[];
  /** Tasks at once, 1 or more; default 5. */
  maxConcurrent?: number;
  /** Default: silent. */
  logger?: Logger;
}

/** A message of AgentProtocol. */
interface Message {
  protocol: string;
  id: string;
  timestamp: string;
  from: { agentId: string; name?: string; capabilities?: readonly string[] };
  to: { agentId?: string; broadcast?: boolean };
  type: string;
  payload: Record<string, unknown>;
  signature?: string;
}

/** The RFC 8785 form of a value: members in the order of their names, written by hand since an object would move those that are numbers. */
export function canonical(v: unknown): string {
  if (Array.isArray(v)) return `[${v.map((item) => canonical(item ?? null)).join(',')}]`;
  if (typeof v !== 'object' || v === null) return JSON.stringify(v);
  const members = v as Record<string, unknown>;
  const names = Object.keys(members).filter((name) => members[name] !== undefined).sort(); // by UTF-16 units
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(members[name])}`).join(',')}}`;
}

/** The agent id of a key: the standard base64 of its 32 bytes. It is what to register. */
export function publicKey(key: KeyObject): string {
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' });
  if (!spki.subarray(0, spkiHead.length).equals(spkiHead)) throw new TypeError('the key is not an Ed25519 key');
  return spki.subarray(spkiHead.length).toString('base64');
}

/** Signs the key_challenge of a registration. */
export function signChallenge(key: KeyObject, challenge: string): string {
  return sign(null, Buffer.from(challenge, 'utf8'), key).toString('base64');
}

/**
 * Reads a message and verifies that `from` (44 characters) signed it; it throws when that is not so. What is verified is
 * what was read: of a member that came twice, the last one.
 */
export function open(data: string, from: string): Message {
  if (Buffer.byteLength(data) > maxMessage) throw new TypeError(`a message has at most ${maxMessage} bytes`);
  const m = JSON.parse(data) as Message;
  const raw = Buffer.from(from, 'base64');
  if (m?.from?.agentId !== from || raw.length !== 32) throw new BadSignature('the message is not from the arena');
  const { signature, ...rest } = m;
  const bytes = Buffer.from(String(signature), 'base64');
  const key = createPublicKey({ key: Buffer.concat([spkiHead, raw]), format: 'der', type: 'spki' });
  if (bytes.toString('base64') !== signature || !verify(null, Buffer.from(canonical(rest), 'utf8'), key, bytes)) {
    throw new BadSignature("the signature does not fit the message and the sender's key");
  }
  if (m.protocol !== protocol) throw new TypeError(`protocol is not "${protocol}"`);
  return m;
}

class BadSignature extends Error {
  override name = 'BadSignature';
}

/** A pause that the signal ends. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

const silent: Logger = { info() {}, warn() {}, error() {} };

/** Answers the arena's messages, as an HTTP endpoint or over the WebSocket that `run` opens. */
export class SignedAgent {
  /** The agent's id, to be registered. */
  readonly publicKey: string;
  /** For `http.createServer`: the endpoint, on every path. */
  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    this.#serve(request, response).catch(() => response.destroy()); // the request could not be read
  };

  readonly #config: Required<Omit<SignedConfig, 'arenaId'>>;
  readonly #handler: Handler;
  readonly #answers = new Map<string, Promise<string>>(); // by message id
  readonly #life = new AbortController();
  #arena: string;
  #working = 0;

  constructor(config: SignedConfig, handler: Handler) {
    const arena = (config.arena ?? '').replace(/\/+$/, '');
    if (!/^https?:\/\/[^/]/.test(arena)) throw new TypeError(`config.arena ${JSON.stringify(arena)} is not an http(s) URL`);
    if (typeof handler !== 'function') throw new TypeError('a handler is needed');
    this.#config = {
      arena,
      key: config.key,
      name: config.name ?? '',
      capabilities: config.capabilities ?? ['arena:round'],
      maxConcurrent: config.maxConcurrent ?? 5,
      logger: config.logger ?? silent,
    };
    if (!Number.isInteger(this.#config.maxConcurrent) || this.#config.maxConcurrent < 1) throw new TypeError('config.maxConcurrent is below one');
    this.publicKey = publicKey(config.key);
    this.#handler = handler;
    this.#arena = config.arenaId ?? '';
  }

  /** Aborts all handlers at work, and `run`. */
  close(): void {
    this.#life.abort(new Error('the agent is closed'));
  }

  /** Keeps a WebSocket to the arena and answers what comes, until `close`. It comes back after a loss. */
  async run(): Promise<void> {
    for (let wait = 100; !this.#life.signal.aborted; wait = Math.min(2 * wait, 10_000)) {
      const began = performance.now();
      const code = await this.#session().catch((error: unknown) => {
        this.#config.logger.warn(`connection to the arena lost: ${String(error)}`);
        return 0;
      });
      if (code === 4409) throw new Error('another program connected with this key');
      if (performance.now() - began > 10_000) wait = 100;
      await pause(wait, this.#life.signal);
    }
  }

  /** One socket, from hello to its end; returns its close code. */
  async #session(): Promise<number> {
    const arena = await this.#arenaId();
    const socket = new WebSocket(this.#config.arena.replace(/^http/, 'ws') + '/agentprotocol/ws', {
      handshakeTimeout: 10_000,
      perMessageDeflate: false,
      maxPayload: maxMessage,
    });
    const end = (): void => socket.terminate();
    this.#life.signal.addEventListener('abort', end, { once: true });
    let greeted = false;
    const send = (data: string): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(data, () => {}); // the close reports a lost socket
    };
    try {
      return await new Promise((resolve, reject) => {
        socket.on('open', () => send(this.#hello(arena)));
        socket.on('error', reject);
        socket.on('close', resolve);
        socket.on('message', (data, binary) => {
          let m: Message;
          try {
            if (binary) throw new TypeError('messages are text frames');
            m = this.#receive(String(data), arena);
          } catch (error) {
            this.#config.logger.warn(`message refused: ${String(error)}`);
            return;
          }
          if (!greeted && m.type === 'hello') {
            greeted = true; // the answer to ours
            this.#config.logger.info(`connected to ${this.#config.arena}`);
            return;
          }
          if (m.type === 'error') this.#config.logger.warn(`the arena says ${String(m.payload['code'])}: ${String(m.payload['message'])}`);
          void this.#answer(m, send).then((answer) => answer !== null && send(answer));
        });
      });
    } finally {
      this.#life.signal.removeEventListener('abort', end);
      socket.terminate();
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = (status: number, body: string): void => {
      response.writeHead(status, body === '' ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
      response.end(body);
    };
    if (request.method !== 'POST') return void reply(405, '');
    const body = await readBody(request);
    if (body === null || body.length > maxMessage) return void reply(413, '');
    const arena = await this.#arenaId().catch(() => '');
    if (arena === '') return void reply(503, '');
    let m: Message;
    try {
      m = this.#receive(body.toString('utf8'), arena);
    } catch (error) {
      this.#config.logger.warn(`message refused: ${String(error)}`);
      const bad = error instanceof BadSignature;
      const code = bad ? 'INVALID_SIGNATURE' : 'INVALID_MESSAGE';
      return void reply(bad ? 401 : 400, this.#seal(arena, 'error', { correlationId: '-', code, message: 'the message is refused' }));
    }
    const events: Promise<unknown>[] = []; // before the answer: the round may be over for them then
    const answer = await this.#answer(m, (event) => events.push(this.#post(event)));
    await Promise.allSettled(events);
    reply(answer === null ? 202 : 200, answer ?? '');
  }

  async #post(data: string): Promise<void> {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(`${this.#config.arena}/agentprotocol`, { method: 'POST', redirect: 'error', headers, body: data, signal: AbortSignal.timeout(1000) });
    await response.body?.cancel();
  }

  /** The arena's id; asks for it the first time. */
  async #arenaId(): Promise<string> {
    if (this.#arena !== '') return this.#arena;
    const response = await fetch(`${this.#config.arena}/agentprotocol`, { redirect: 'error', signal: AbortSignal.timeout(5000) });
    const data = await response.text();
    if (!response.ok) throw new Error(`ask the arena for its id: status ${response.status}`);
    const hello = open(data, String((JSON.parse(data) as Message).from?.agentId));
    return (this.#arena ||= hello.from.agentId);
  }

  #seal(to: string, type: string, payload: Record<string, unknown>): string {
    const { key, name, capabilities } = this.#config;
    const m: Message = {
      protocol,
      id: randomUUID(),
      timestamp: new Date().toISOString(),
      from: { agentId: this.publicKey, name, capabilities },
      to: { agentId: to, broadcast: false },
      type,
      payload,
    };
    return canonical({ ...m, signature: sign(null, Buffer.from(canonical(m), 'utf8'), key).toString('base64') });
  }

  #hello(to: string): string {
    return this.#seal(to, 'hello', { version: '0.1', features: ['signed-messages'], maxConcurrent: this.#config.maxConcurrent });
  }

  #receive(data: string, arena: string): Message {
    const m = open(data, arena);
    if (m.to?.broadcast !== true && m.to?.agentId !== this.publicKey) throw new TypeError('the message is for another agent');
    if (!(Math.abs(Date.now() - Date.parse(m.timestamp)) <= windowMs)) throw new TypeError("the timestamp is more than 5 minutes from the agent's clock");
    if (typeof m.payload !== 'object' || m.payload === null) throw new TypeError('payload is not an object');
    return m;
  }

  /** The answer to a message, null when there is none. A request that comes again gets the same answer. */
  async #answer(m: Message, notify: (data: string) => void): Promise<string | null> {
    if (m.type === 'hello') return this.#hello(m.from.agentId);
    if (m.type !== 'request') return null;
    let answer = this.#answers.get(m.id);
    if (answer === undefined) {
      answer = this.#work(m, notify);
      this.#answers.set(m.id, answer);
      if (this.#answers.size > keptAnswers) this.#answers.delete(this.#answers.keys().next().value!);
    }
    return answer;
  }

  async #work(m: Message, notify: (data: string) => void): Promise<string> {
    const { action, correlationId, params } = m.payload;
    const to = m.from.agentId;
    const fail = (code: string, message: string): string => this.#seal(to, 'error', { correlationId: correlationId ?? m.id, code, message });
    if (typeof action !== 'string' || typeof correlationId !== 'string') return fail('INVALID_MESSAGE', 'a request needs action, correlationId and params');
    if (!/^arena(\.round|:round(\/.*)?)$/s.test(action)) return fail('CAPABILITY_NOT_SUPPORTED', `this agent plays rounds: ${this.#config.capabilities.join(', ')}`);
    if (this.#working >= this.#config.maxConcurrent) return fail('CAPABILITY_NOT_SUPPORTED', 'the agent is at work on as many tasks as it takes');
    this.#working++;
    try {
      const done = await work(this.#handler, JSON.stringify(params ?? null), {
        signal: this.#life.signal,
        show: (event) => notify(this.#seal(to, 'notify', { event: 'arena.event', correlationId, data: JSON.parse(event) as unknown })),
      });
      if ('answer' in done) return this.#seal(to, 'response', { correlationId, status: 'success', result: JSON.parse(done.answer) as unknown });
      this.#config.logger.warn(`task not answered: ${String(done.cause)}`);
      switch (done.error) {
        case 'TIMEOUT':
          return fail('TIMEOUT', 'the task took too long');
        case 'RATE_LIMITED':
          return fail('RATE_LIMITED', 'the agent is rate limited for now');
        case 'UNAVAILABLE':
          return fail('CAPABILITY_NOT_SUPPORTED', 'the agent is not available');
        case 'INTERNAL_ERROR': // its text is for the log of the owner, not for the arena
          return fail('INTERNAL_ERROR', 'the agent failed');
      }
    } finally {
      this.#working--;
    }
  }
}
