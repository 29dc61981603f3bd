import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign as signBytes, verify as verifyBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import { base58 } from '@scure/base';
import canonicalize from 'canonicalize';

import type { Context, Handler } from './agent.js';
import type { Logger } from './config.js';
import { statusOf, TaskTimeout } from './errors.js';
import { Events } from './events.js';
import { Link } from './link.js';
import { Final } from './sink.js';
import type { Sink } from './sink.js';
import { decodeTask, encodeAnswer, timesOf } from './task.js';

const pollSeconds = 30; // for which the relay is asked to wait
const postMs = 10_000;
const firstPauseMs = 500; // after a failure; doubles
const longestPauseMs = 5000;
const spki = Buffer.from('302a300506032b6570032100', 'hex'); // what stands before an Ed25519 key in DER (RFC 8410)

/** An agent's Ed25519 key. */
export class Key {
  readonly #private: KeyObject;

  private constructor(key: KeyObject) {
    if (key.asymmetricKeyType !== 'ed25519') throw new TypeError('not an Ed25519 key');
    this.#private = key;
  }

  /** Makes a key. */
  static generate(): Key {
    return new Key(generateKeyPairSync('ed25519').privateKey);
  }

  /** Reads a key from PEM (PKCS #8). */
  static fromPem(pem: string): Key {
    return new Key(createPrivateKey(pem));
  }

  /** The key in PEM: keep it as you keep a password. */
  toPem(): string {
    return this.#private.export({ type: 'pkcs8', format: 'pem' }).toString();
  }

  /** The did:key under which the agent is registered. */
  get did(): string {
    const raw = createPublicKey(this.#private).export({ type: 'spki', format: 'der' }).subarray(spki.length);
    return `did:key:z${base58.encode(Buffer.concat([Buffer.from([0xed, 0x01]), raw]))}`;
  }

  /** Signs the `key_challenge` that registration answers with. */
  prove(challenge: string): string {
    return signBytes(null, Buffer.from(challenge), this.#private).toString('base64url');
  }

  /** Gives the envelope with its signature: Ed25519 over its canonical form (RFC 8785). */
  sign(envelope: object): object {
    return { ...envelope, sig: this.prove(canonicalize(envelope)!) };
  }
}

/** Reports whether the envelope is signed by this did:key. */
export function verify(envelope: object, did: string): boolean {
  const { sig, ...rest } = envelope as { sig?: unknown };
  const raw = did.startsWith('did:key:z') && did.length <= 80 ? base58.decode(did.slice(9)) : new Uint8Array();
  if (typeof sig !== 'string' || !/^[A-Za-z0-9_-]{86}$/.test(sig) || raw.length !== 34 || raw[0] !== 0xed || raw[1] !== 0x01) return false;
  const key = createPublicKey({ key: Buffer.concat([spki, raw.subarray(2)]), format: 'der', type: 'spki' });
  return verifyBytes(null, Buffer.from(canonicalize(rest)!), key, Buffer.from(sig, 'base64url'));
}

/** Describes an agent that plays through the relay. */
export interface RelayConfig {
  /** Base URL of the arena; the relay lies at `/relay` below it. */
  arena: string;
  key: Key;
  /** Shown as the sender's. */
  name?: string;
  /** The slugs that it plays, for its manifest; left out: all that it has entered. */
  leagues?: readonly string[];
  /** Matches at once, for its manifest; default 5. */
  maxConcurrent?: number;
  /** The arena's did:key; left out: that which `/relay/health` names at the start. */
  arenaDid?: string;
  logger?: Logger;
}

interface Envelope {
  type: string;
  sender?: { id?: string };
  thread?: { id?: string };
  payload?: { request_id?: string; params?: unknown; constraints?: { max_latency_ms?: number } };
}

interface Thread {
  request: string;
  task: unknown;
  until: number; // performance.now()
  end: AbortController;
}

/**
 * Plays through the relay of an arena (Agora Protocol 1.0) until the signal aborts, and then waits for the tasks at
 * work. The agent needs no address and no open port: it fetches its tasks, and posts answers and events.
 */
export async function play(config: RelayConfig, handler: Handler, options: { signal: AbortSignal }): Promise<void> {
  await new Player(config, handler, options.signal).run();
}

class Player {
  readonly #config: RelayConfig;
  readonly #handler: Handler;
  readonly #signal: AbortSignal;
  readonly #relay: string;
  readonly #log: Logger | undefined;
  readonly #threads = new Map<string, Thread>();
  readonly #atWork = new Set<Promise<void>>();
  #arena: string;
  #announced: boolean;

  constructor(config: RelayConfig, handler: Handler, signal: AbortSignal) {
    this.#config = config;
    this.#handler = handler;
    this.#signal = signal;
    this.#relay = `${config.arena.replace(/\/+$/, '')}/relay`;
    this.#log = config.logger;
    this.#arena = config.arenaDid ?? '';
    this.#announced = (config.leagues ?? []).length === 0;
  }

  async run(): Promise<void> {
    // What was asked a moment ago may still be answered.
    let since = new Date(Date.now() - 60_000).toISOString();
    let pause = firstPauseMs;
    while (!this.#signal.aborted) {
      try {
        await this.#meet();
        since = await this.#poll(since);
        pause = firstPauseMs;
      } catch (error) {
        if (this.#signal.aborted) break;
        this.#log?.warn(`relay not reached: ${String(error)}`);
        await sleep(pause, undefined, { signal: this.#signal }).catch(() => {});
        pause = Math.min(2 * pause, longestPauseMs);
      }
    }
    await Promise.allSettled([...this.#atWork]);
  }

  /** Learns the arena's key, and publishes the manifest once. */
  async #meet(): Promise<void> {
    if (this.#arena === '') this.#arena = String((await this.#call('GET', '/health', this.#signal)).did ?? '');
    if (this.#announced) return;
    const { key, name, leagues, maxConcurrent } = this.#config;
    await this.#post('STATUS', undefined, {
      manifest: {
        id: 'cap_arena',
        name: name ?? 'agent',
        version: '1.0.0',
        intents: leagues!.map((slug) => ({ id: `arena.${slug.replaceAll('-', '_')}` })),
        max_concurrent: maxConcurrent ?? 5,
        auth: { methods: ['ed25519'], public_key: key.did.slice('did:key:'.length) },
      },
    });
    this.#announced = true;
  }

  async #poll(since: string): Promise<string> {
    const query = new URLSearchParams({ since, recipient: this.#config.key.did, sender: this.#arena, timeout: String(pollSeconds) });
    const page = await this.#call('GET', `/events?${query}`, AbortSignal.any([this.#signal, AbortSignal.timeout(2 * pollSeconds * 1000)]));
    for (const envelope of (page.events ?? []) as Envelope[]) {
      if (envelope.sender?.id === this.#arena && verify(envelope, this.#arena)) this.#receive(envelope);
      else this.#log?.warn('an envelope without the arena\'s signature is passed over');
    }
    return typeof page.cursor === 'string' ? page.cursor : since;
  }

  #receive({ type, thread, payload }: Envelope): void {
    const id = thread?.id ?? '';
    const known = this.#threads.get(id);
    if (type === 'REQUEST' && known === undefined) {
      const limit = payload?.constraints?.max_latency_ms ?? 0;
      const t: Thread = { request: payload?.request_id ?? '', task: payload?.params, until: performance.now() + limit, end: new AbortController() };
      for (const [old, { until }] of this.#threads) {
        if (performance.now() - until > 60_000) this.#threads.delete(old); // of an arena that went away
      }
      this.#threads.set(id, t);
      this.#begin(this.#post('OFFER', id, { request_id: t.request, plan: 'answer', price: { amount: 0, currency: 'USD' } }));
    } else if (type === 'ACCEPT' && known !== undefined) {
      this.#begin(this.#work(id, known));
    } else if (known !== undefined) {
      known.end.abort(new TaskTimeout('the arena has ended the task')); // an ERROR: time is over
      this.#threads.delete(id);
    }
  }

  /** Lets work run beside the next poll. */
  #begin(work: Promise<void>): void {
    const watched = work
      .catch((error: unknown) => this.#log?.warn(`not posted: ${String(error)}`))
      .finally(() => this.#atWork.delete(watched));
    this.#atWork.add(watched);
  }

  async #work(id: string, thread: Thread): Promise<void> {
    const began = performance.now();
    const link = new Link(new StatusSink((event) => this.#post('STATUS', id, { event })), () => {}, () => {});
    link.acquire();
    const events = new Events(link, id);
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => thread.end.abort(this.#signal.reason);
    this.#signal.addEventListener('abort', stop, { once: true });
    try {
      const task = decodeTask(Buffer.from(JSON.stringify(thread.task ?? null)));
      task.timeLimitMs = Math.min(task.timeLimitMs, thread.until - began);
      const limit = timesOf(task).work;
      timer = setTimeout(() => thread.end.abort(new TaskTimeout()), limit);
      const ctx: Context = {
        signal: thread.end.signal,
        deadline: new Date(Date.now() + limit),
        remainingMs: () => Math.max(0, limit - (performance.now() - began)),
      };
      const answer = await Promise.race([this.#handler(ctx, task, events), rejection(thread.end.signal)]);
      const output: unknown = JSON.parse(encodeAnswer(events.fill(answer), performance.now() - began));
      await link.flush();
      await this.#post('RESULT', id, { request_id: thread.request, status: 'success', output });
    } catch (error) {
      this.#log?.warn(`task not answered: ${String(error)}`);
      const code = this.#signal.aborted ? 'UNAVAILABLE' : codes[statusOf(error)]!;
      await this.#post('ERROR', id, { code, message: 'the agent gave no answer', details: { request_id: thread.request } });
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', stop);
      events.shut();
      link.done();
      link.end();
      this.#threads.delete(id);
    }
  }

  /** Signs an envelope to the arena and hands it to the relay, once more when nothing came back: its id makes it safe. */
  async #post(type: string, thread: string | undefined, payload: object): Promise<void> {
    const { key, name } = this.#config;
    const body = JSON.stringify(key.sign({
      version: '1.0',
      id: `msg_${randomBytes(16).toString('base64url')}`,
      ts: new Date().toISOString(),
      type,
      sender: { id: key.did, ...(name === undefined ? {} : { name }) },
      recipient: { id: this.#arena },
      payload,
      ...(thread === undefined ? {} : { thread: { id: thread } }),
    }));
    try {
      await this.#call('POST', '/events', AbortSignal.timeout(postMs), body);
    } catch (error) {
      if (error instanceof Refused && error.status < 500) throw error;
      await this.#call('POST', '/events', AbortSignal.timeout(postMs), body);
    }
  }

  async #call(method: string, path: string, signal: AbortSignal, body?: string): Promise<Record<string, unknown>> {
    const response = await fetch(this.#relay + path, { method, signal, ...(body === undefined ? {} : { body, headers: { 'Content-Type': 'application/json' } }) });
    const reply = (await response.json()) as Record<string, unknown>;
    if (response.status !== 200) throw new Refused(response.status, `the relay answers ${response.status} ${String(reply['error'])}: ${String(reply['message'])}`);
    return reply;
  }
}

// As the statuses of AAP are.
const codes: Record<number, string> = { 408: 'TIMEOUT', 429: 'RATE_LIMITED', 500: 'INTERNAL_ERROR', 503: 'UNAVAILABLE' };

class Refused extends Error {
  override name = 'Refused';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Sends events as STATUS, one after the other. */
class StatusSink implements Sink {
  readonly #send: (event: unknown) => Promise<void>;

  constructor(send: (event: unknown) => Promise<void>) {
    this.#send = send;
  }

  async send(_token: string, left: { batch: string[] }): Promise<void> {
    while (left.batch.length > 0) {
      try {
        await this.#send(JSON.parse(left.batch[0]!));
      } catch (error) {
        if (error instanceof Refused && error.status < 500) throw new Final('the relay takes no more events');
        throw error;
      }
      left.batch.shift();
    }
  }

  close(): void {}
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
