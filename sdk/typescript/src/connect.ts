import { setTimeout as sleep } from 'node:timers/promises';

import { Agent, interrupted, shutdownMs } from './agent.js';
import type { Handler } from './agent.js';
import type { Config, Logger } from './config.js';
import { memberText } from './text.js';

/** Settings of `connect`, all optional. */
export interface ConnectOptions extends Pick<Config, 'agentId' | 'issuer' | 'events' | 'leewayMs' | 'logger' | 'now' | 'insecureSkipTokens'> {
  /** Tasks at once; default and upper bound: the `max_concurrent` that the agent was registered with. */
  maxConcurrent?: number;
  /** Stops the agent when it aborts. Default: SIGINT and SIGTERM stop it. */
  signal?: AbortSignal;
}

const waitSeconds = 50; // for a task, per poll; proxies cut idle requests at 60
const pollMs = (waitSeconds + 15) * 1000;
const requestMs = 10_000;
const emptyPollMs = 500; // minimum time between polls that return nothing
const firstPauseMs = 250; // after a failure; doubles
const longestPauseMs = 15_000;
const longestRetryAfterMs = 300_000;
const answerTries = 8;
const mostConcurrent = 1000; // what an agent may be registered with
const maxReply = (1 << 20) + (64 << 10); // bytes: a task and what is around it
const passedOn = [408, 429, 500, 503]; // statuses that an answer may state

/** Thrown by `connect` when the arena rejects the agent key or the agent. Trying again would not help. */
export class Refused extends Error {
  override name = 'Refused';
  /** The HTTP status of the response. */
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A request failed and may be repeated after `retryAfterMs`. */
class Failed extends Error {
  override name = 'Failed';
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

interface Delivery {
  taskId: string;
  token: string;
  /** The bytes that the token was issued for. */
  body: Buffer;
}

/**
 * Plays without an open port: fetches tasks from the arena with the agent's key and posts the answers. It returns after
 * `options.signal` aborts, or without one on SIGINT or SIGTERM; tasks in progress get up to ten seconds to finish. It
 * reconnects when the arena is unreachable, and throws `Refused` when the arena rejects the key or the agent.
 */
export async function connect(arena: string, agentKey: string, handler: Handler, options: ConnectOptions = {}): Promise<void> {
  const { signal, maxConcurrent = mostConcurrent, ...config } = options;
  if (typeof agentKey !== 'string' || !/^[\x21-\x7e]+$/.test(agentKey)) throw new TypeError('agentKey is empty or contains spaces');
  const agent = new Agent({ logger: console, ...config, arena, maxConcurrent }, handler);
  const client = new Client(arena.replace(/\/+$/, ''), agentKey, config.logger ?? console);
  try {
    await client.play(agent, config.agentId ?? '', maxConcurrent, signal ?? interrupted());
  } finally {
    await agent.close();
  }
}

class Client {
  readonly #arena: string;
  readonly #key: string;
  readonly #logger: Logger;
  readonly #stop = new AbortController(); // no more polls
  readonly #over = new AbortController(); // no more requests at all

  constructor(arena: string, key: string, logger: Logger) {
    this.#arena = arena;
    this.#key = key;
    this.#logger = logger;
  }

  async play(agent: Agent, agentId: string, maxConcurrent: number, signal: AbortSignal): Promise<void> {
    const timers: NodeJS.Timeout[] = [];
    const stop = (): void => {
      this.#stop.abort();
      timers.push(setTimeout(() => void agent.close(), shutdownMs)); // the handlers abort, which leaves their matches
      timers.push(setTimeout(() => this.#over.abort(), shutdownMs + 2000));
    };
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const id = agentId || (await this.#retry(() => this.#me()));
      const registered = id === null ? null : await this.#retry(() => this.#registered(id));
      if (id === null || registered === null) return;
      agent.setAgentId(id);
      const loops = Math.min(maxConcurrent, registered);
      this.#logger.info(`agent ${id} connected to ${this.#arena}, tasks at once: ${loops}`);
      const ended = await Promise.allSettled(Array.from({ length: loops }, () => this.#loop(agent, id)));
      for (const loop of ended) if (loop.status === 'rejected') throw loop.reason;
    } finally {
      signal.removeEventListener('abort', stop);
      for (const timer of timers) clearTimeout(timer);
    }
  }

  /** Returns the id of the agent that the key belongs to. */
  async #me(): Promise<string> {
    const id = (await this.#get<{ agent_id?: unknown }>('/v1/me'))?.agent_id;
    if (typeof id !== 'string' || id === '') throw new Refused(403, 'the key is not an agent key: create one with POST /v1/agents/{id}/keys');
    return id;
  }

  /** Returns how many tasks the agent was registered to work on at once. */
  async #registered(id: string): Promise<number> {
    const found = await this.#get<{ max_concurrent?: unknown; health?: { max_concurrent?: unknown } }>(`/v1/agents/${encodeURIComponent(id)}`);
    const n = found?.max_concurrent ?? found?.health?.max_concurrent;
    return typeof n === 'number' && n >= 1 ? Math.min(Math.floor(n), mostConcurrent) : 1;
  }

  async #get<T>(path: string): Promise<T | null> {
    return JSON.parse(await this.#call('GET', path, AbortSignal.any([this.#stop.signal, AbortSignal.timeout(requestMs)]))) as T | null;
  }

  async #loop(agent: Agent, id: string): Promise<void> {
    try {
      for (;;) {
        const asked = performance.now();
        const delivery = await this.#retry(() => this.#poll(id));
        if (delivery === null) return;
        if (delivery !== 'none') await this.#work(agent, id, delivery);
        else if (performance.now() - asked < emptyPollMs) await this.#rest(jitter(emptyPollMs));
      }
    } catch (error) {
      this.#stop.abort(); // the other loops stop with this one
      throw error;
    }
  }

  /** Calls f until it succeeds; null: stopped. It throws what cannot be repaired by waiting. */
  async #retry<T>(f: () => Promise<T>): Promise<T | null> {
    for (let pause = firstPauseMs; !this.#stop.signal.aborted; pause = Math.min(2 * pause, longestPauseMs)) {
      try {
        return await f();
      } catch (error) {
        if (this.#stop.signal.aborted) break;
        if (error instanceof Refused) throw error;
        const wait = Math.max(jitter(pause), error instanceof Failed ? error.retryAfterMs : 0);
        this.#logger.warn(`arena not reached, trying again in ${(wait / 1000).toFixed(1)} s: ${reason(error)}`);
        await this.#rest(wait);
      }
    }
    return null;
  }

  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async #poll(id: string): Promise<Delivery | 'none'> {
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(pollMs)]);
    const text = await this.#call('GET', `/v1/agents/${encodeURIComponent(id)}/tasks?wait=${waitSeconds}`, signal);
    if (text === '') return 'none';
    const given = JSON.parse(text) as { task_id?: unknown; token?: unknown; task?: unknown } | null;
    if (typeof given?.task_id !== 'string' || typeof given.token !== 'string' || typeof given.task !== 'object') {
      throw new TypeError('the delivery has no task, task_id or token');
    }
    return { taskId: given.task_id, token: given.token, body: Buffer.from(memberText(text, 'task')) };
  }

  async #work(agent: Agent, id: string, { taskId, token, body }: Delivery): Promise<void> {
    const reply = await agent.deliver(body, token, performance.now());
    const status = passedOn.includes(reply.status) ? reply.status : 500;
    await this.#answer(id, taskId, reply.status === 200 ? reply.body : JSON.stringify({ status }));
    // A handler that ignores its time limit still occupies its slot.
    if (reply.ended !== undefined) await Promise.race([reply.ended, aborted(this.#stop.signal)]);
  }

  async #answer(id: string, taskId: string, body: string): Promise<void> {
    const path = `/v1/agents/${encodeURIComponent(id)}/tasks/${encodeURIComponent(taskId)}/answer`;
    for (let tries = 1, pause = firstPauseMs / 2; ; tries++, pause *= 2) {
      try {
        await this.#call('POST', path, AbortSignal.any([this.#over.signal, AbortSignal.timeout(requestMs)]), body);
        return;
      } catch (error) {
        if (error instanceof Refused && error.status === 401) throw error;
        this.#logger.warn(`answer not accepted: ${reason(error)}`);
        if (error instanceof Refused || tries === answerTries || this.#over.signal.aborted) return;
        const wait = Math.max(jitter(pause), error instanceof Failed ? error.retryAfterMs : 0);
        await sleep(wait, undefined, { signal: this.#over.signal }).catch(() => {});
      }
    }
  }

  /** Sends a request with the agent's key, which follows no redirect, and returns the text of a 2xx response. */
  async #call(method: string, path: string, signal: AbortSignal, body?: string): Promise<string> {
    const headers = { Authorization: `Bearer ${this.#key}`, Accept: 'application/json', ...(body !== undefined && { 'Content-Type': 'application/json' }) };
    const response = await fetch(this.#arena + path, { method, headers, signal, redirect: 'manual', body: body ?? null });
    const text = await readText(response);
    if (response.ok) return text;
    const { status } = response;
    const message = status === 401 ? `the arena rejects this agent key: ${problem(status, text)}` : `the arena answers ${problem(status, text)}`;
    if (status < 500 && ![408, 425, 429].includes(status)) throw new Refused(status, message);
    const seconds = /^\d{1,9}$/.exec(response.headers.get('Retry-After') ?? '')?.[0] ?? '0';
    throw new Failed(message, Math.min(Number(seconds) * 1000, longestRetryAfterMs));
  }
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    if ((size += part.length) > maxReply) throw new Error('the response is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Describes an error response: its status, and code and detail of a problem (RFC 9457). */
function problem(status: number, text: string): string {
  try {
    const { code, detail, title } = JSON.parse(text) as { code?: string; detail?: string; title?: string };
    return [status, code, detail ?? title].filter(Boolean).join(' ').slice(0, 500);
  } catch {
    return String(status);
  }
}

/** fetch hides why it failed in the cause. */
function reason(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : String(message);
}

/** Half to all of ms, so that many agents do not come back at once. */
const jitter = (ms: number): number => ms * (0.5 + Math.random() / 2);

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
