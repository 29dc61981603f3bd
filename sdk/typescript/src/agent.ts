import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { address, withDefaults } from './config.js';
import type { Config, FullConfig } from './config.js';
import { statusOf, TaskTimeout } from './errors.js';
import { Events } from './events.js';
import { failure, Flights } from './flight.js';
import type { Flight, Reply } from './flight.js';
import { bearer, readBody, write } from './http.js';
import { Link } from './link.js';
import { PostSink, SocketSink } from './sink.js';
import { decodeTask, encodeAnswer, keyOf, timesOf } from './task.js';
import type { Answer, Task } from './task.js';
import { isOfMatch, NoKeys, Verifier } from './token.js';
import type { Claims } from './token.js';

/** The AAP version that the SDK speaks. */
export const VERSION = '1.0';

/** How long `serve` and `connect` wait for tasks in progress before they stop. */
export const shutdownMs = 10_000;

/** The time that a handler has. */
export interface Context {
  /** Aborts a moment before the time limit, and when the agent is closed. Hand it to fetch. */
  readonly signal: AbortSignal;
  /** When the signal aborts, by this machine's clock. */
  readonly deadline: Date;
  /** Milliseconds left, 0 or more. */
  remainingMs(): number;
}

/** Answers one task. It may be called many times at once; each call has its own task and events. */
export type Handler = (ctx: Context, task: Task, events: Events) => Answer | Promise<Answer>;

/** An AAP endpoint: a listener for node:http that serves the task POST and the health check. It must be closed. */
export class Agent {
  /** How many events did not reach the arena. */
  droppedEvents = 0;
  /** For `http.createServer`, or any server that speaks its language. */
  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    this.#serve(request).then(
      (reply) => write(request, response, reply),
      () => response.destroy(), // the request could not be read
    );
  };

  readonly #config: FullConfig;
  readonly #handler: Handler;
  readonly #tokens: Verifier | null;
  readonly #flights = new Flights();
  readonly #links = new Map<string, Link>();
  readonly #atWork = new Set<Promise<void>>();
  readonly #life = new AbortController();
  #latencyMs = 0; // moving mean of answer times

  /** Makes an agent and begins to read the arena's keys. The arena need not be there yet. */
  constructor(config: Config, handler: Handler) {
    this.#config = withDefaults(config);
    if (typeof handler !== 'function') throw new TypeError('a handler is needed');
    this.#handler = handler;
    this.#tokens = this.#config.insecureSkipTokens ? null : new Verifier(this.#config);
    this.#tokens?.load();
  }

  /** Tells the agent its id, once the arena has given it one. From then on tokens for other agents are refused. */
  setAgentId(id: string): void {
    if (this.#tokens !== null) this.#tokens.agentId = id;
  }

  /** Aborts all handlers at work and waits for them. Tasks that come later get 503. */
  async close(): Promise<void> {
    this.#life.abort(new TaskTimeout('the agent is closed'));
    this.#tokens?.end();
    await Promise.allSettled([...this.#atWork]);
    for (const link of [...this.#links.values()]) link.end();
  }

  /** Listens on `config.addr`. The server is the caller's to close. */
  async listen(): Promise<Server> {
    const server = createServer({ requestTimeout: 30_000, headersTimeout: 5000, maxHeaderSize: 32 << 10 }, this.listener);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(address(this.#config.addr), resolve);
    });
    const { address: host, family, port } = server.address() as AddressInfo;
    this.#config.logger.info(`agent listens at http://${family === 'IPv6' ? `[${host}]` : host}:${port}${this.#config.path}`);
    return server;
  }

  async #serve(request: IncomingMessage): Promise<Reply> {
    const path = (request.url ?? '/').replace(/\?.*$/s, '').replace(/\/+$/, '');
    const get = request.method === 'GET' || request.method === 'HEAD';
    if (path === this.#config.path) return request.method === 'POST' ? this.#serveTask(request) : failure(405, 'tasks are sent by POST');
    if (path === `${this.#config.path}/health`) return get ? this.#health() : failure(405, 'the health check is a GET');
    return failure(404, 'not found');
  }

  async #health(): Promise<Reply> {
    let well = !this.#life.signal.aborted;
    try {
      await this.#config.health?.();
    } catch {
      well = false;
    }
    const body = JSON.stringify({
      status: well ? 'ok' : 'unavailable',
      version: VERSION,
      capabilities: this.#config.capabilities,
      avg_latency_ms: Math.round(this.#latencyMs),
      max_concurrent: this.#config.maxConcurrent,
    });
    return { status: well ? 200 : 503, body };
  }

  async #serveTask(request: IncomingMessage): Promise<Reply> {
    const arrived = performance.now();
    const body = await readBody(request);
    if (body === null) return failure(413, 'the task is over 1 MiB');
    return this.deliver(body, bearer(request), arrived);
  }

  /**
   * Returns the reply to a task, given the bytes of its body and its token.
   *
   * @internal
   */
  async deliver(body: Buffer, token: string, arrived: number): Promise<Reply> {
    const clock = this.#config.now();
    let claims: Claims | null = null;
    try {
      claims = (await this.#tokens?.verify(token, body)) ?? null;
    } catch (error) {
      // Without keys the agent is not at fault: leave the match rather than lose it.
      if (error instanceof NoKeys) return failure(503, error.message);
      this.#config.logger.warn(`task refused: ${String(error)}`);
      return failure(401, 'not a token of this arena for this task');
    }
    let task: Task;
    try {
      task = decodeTask(body);
    } catch (error) {
      return failure(400, `the body is not a task: ${String(error)}`);
    }
    task.claims = claims;
    if (claims !== null && (claims.matchId !== task.matchId || (!isOfMatch(claims) && claims.round !== task.round))) {
      return failure(401, 'not a token of this arena for this task');
    }
    const { work, wait } = timesOf(task, clock);
    const gone = performance.now() - arrived; // the first task may have waited for the arena's keys
    return this.#answer(task, token, work - gone, wait - gone);
  }

  /** The reply to the task: from work that is running or done, else from new work, which may take work ms. */
  async #answer(task: Task, token: string, work: number, wait: number): Promise<Reply> {
    const key = keyOf(task);
    let land!: (reply: null) => void;
    const late = new Promise<null>((resolve) => (land = resolve));
    const timer = setTimeout(land, wait, null);
    try {
      for (;;) {
        const { flight, first } = this.#flights.join(key);
        if (first) this.#takeOff(task, token, work, key, flight);
        const reply = await Promise.race([flight.done, late]);
        if (reply === null) return { ...failure(408, 'the task took too long'), ended: flight.done };
        if (first || reply.status === 200) return reply;
        // The delivery before this one failed: this one is a new try.
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Starts the work, or ends the flight when there is no room for it. */
  #takeOff(task: Task, token: string, limit: number, key: string, flight: Flight): void {
    if (this.#life.signal.aborted) {
      this.#flights.finish(key, flight, failure(503, 'the agent is not available'));
    } else if (this.#atWork.size >= this.#config.maxConcurrent) {
      const limited = this.#config.whenFull === 'rate_limited';
      this.#flights.finish(key, flight, limited ? failure(429, 'the agent is rate limited for now') : failure(503, 'the agent is not available'));
    } else {
      const work = this.#work(task, token, limit).then((reply) => {
        this.#atWork.delete(work); // before the reply: the next task may follow it at once
        this.#flights.finish(key, flight, reply);
      });
      this.#atWork.add(work);
    }
  }

  async #work(task: Task, token: string, limit: number): Promise<Reply> {
    const began = performance.now();
    const end = new AbortController();
    const link = this.#link(task);
    const events = new Events(link, token, () => this.droppedEvents++);
    const stop = (): void => {
      events.shut(); // events reported later would fall into the next round
      end.abort(this.#life.signal.reason ?? new TaskTimeout());
    };
    const timer = setTimeout(stop, limit);
    this.#life.signal.addEventListener('abort', stop, { once: true });
    const ctx: Context = {
      signal: end.signal,
      deadline: new Date(Date.now() + limit),
      remainingMs: () => Math.max(0, limit - (performance.now() - began)),
    };
    let reply: Reply;
    try {
      await undefined; // a handler that throws at once does so beside its caller too
      const answer = await this.#handler(ctx, task, events);
      end.signal.throwIfAborted(); // the caller has gone
      const took = performance.now() - began;
      reply = { status: 200, body: encodeAnswer(events.fill(answer), took) };
      this.#latencyMs += (took - this.#latencyMs) / (this.#latencyMs === 0 ? 1 : 10); // over about the last ten
      await link?.flush();
    } catch (error) {
      this.#config.logger.warn(`task not answered: match ${task.matchId}, round ${task.round}: ${String(error)}`);
      reply = this.#failed(error);
    } finally {
      clearTimeout(timer);
      this.#life.signal.removeEventListener('abort', stop);
      events.shut();
      link?.done();
    }
    return reply;
  }

  #failed(error: unknown): Reply {
    switch (this.#life.signal.aborted ? 503 : statusOf(error)) {
      case 408:
        return failure(408, 'the task took too long');
      case 429:
        return failure(429, 'the agent is rate limited for now');
      case 503:
        return failure(503, 'the agent is not available');
      default: // its text is for the log of the owner, not for the arena
        return failure(500, 'the agent failed');
    }
  }

  /** The link of the task's match, with one use counted; null when events are off. */
  #link(task: Task): Link | null {
    const { arena, events } = this.#config;
    if (events === 'off' || task.claims === null) return null;
    const key = `${task.claims.agentId}/${task.matchId}`;
    let link = this.#links.get(key);
    if (link === undefined) {
      const sink = events === 'http' ? new PostSink(arena) : new SocketSink(arena);
      const drop = (n: number): void => {
        this.droppedEvents += n;
      };
      link = new Link(sink, drop, () => this.#links.delete(key));
      this.#links.set(key, link);
    }
    link.acquire();
    return link;
  }
}

/**
 * Makes an agent, listens on `config.addr` and serves until `options.signal` aborts, or without one until SIGINT or
 * SIGTERM; tasks at work are finished then, for at most ten seconds.
 */
export async function serve(config: Config, handler: Handler, options: { signal?: AbortSignal } = {}): Promise<void> {
  const agent = new Agent({ logger: console, ...config }, handler);
  const server = await agent.listen();
  const signal = options.signal ?? interrupted();
  if (!signal.aborted) await once(signal, 'abort');
  server.keepAliveTimeout = 1; // connections end with the task at work on them
  const closed = new Promise((resolve) => server.close(resolve));
  const grace = setTimeout(() => server.closeAllConnections(), shutdownMs); // tasks that take longer are lost
  await closed;
  clearTimeout(grace);
  await agent.close();
}

/** Returns a signal that aborts on SIGINT or SIGTERM. */
export function interrupted(): AbortSignal {
  const end = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => end.abort());
  return end.signal;
}
