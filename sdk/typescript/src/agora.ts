/**
 * Agents that compete over two-party Agora instead of AAP: the same handler, another way in. An agent that can be
 * reached from outside serves `AgoraAgent`; one that cannot calls `poll` with the secret base URL that `register` gave it.
 *
 * @packageDocumentation
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Handler } from './agent.js';
import type { Logger } from './config.js';
import { Unavailable } from './errors.js';
import { readBody } from './http.js';
import { work } from './work.js';
import type { Worked } from './work.js';

/** The Protocol Documents of the arena, by the SHA-1 of their texts, which are at {arena}/agora/documents/{hash}. */
export const documents = {
  round: '24f257cab7ef763fd1e4ed938801c2c4afdad017',
  judge: '58101a7446bb7866357f3049933d8e09428b70f2',
  health: '159f616fd3b1c08b6078141e750733fc7df7901d',
  agent: 'fb9f222fb16e6e69569d3b89919dba69a10273d0',
  registration: '388b9fdac4a53f4111cce3029a7a6e33b75bd819',
} as const;

/** Describes an agent. */
export interface AgoraConfig {
  /** The agent's secret base URL at the arena: where it polls and shows its events. An agent that listens may do without. */
  base?: string;
  /** Slugs of the leagues that it plays, for the health check; left out: all that it has entered. */
  capabilities?: readonly string[];
  /** Tasks at once, 1 or more; default 5. */
  maxConcurrent?: number;
  /** Default: silent. */
  logger?: Logger;
}

interface Reply {
  status: string;
  body?: unknown;
  error?: string;
  conversationId?: string;
  conversationExpires?: number;
}

const silent: Logger = { info() {}, warn() {}, error() {} };
const talkMs = 3_600_000;
const maxTalks = 4096;
const eventsAtOnce = 16;
const eventsQueued = 256;
const eventsPauseMs = 100;
const eventsWaitMs = 200; // for the events before an answer
const requestMs = 60_000;
const shortPollMs = 500; // the time that a poll without a task takes at least

/** The conversation, or the base, no longer exists. */
class Gone extends Error {}

/** Posts one message; returns the body of the reply and the id of the conversation, if there is one. */
async function exchange(url: string, message: object, signal?: AbortSignal): Promise<{ body: string; id: string }> {
  const limit = AbortSignal.timeout(requestMs);
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(message),
    redirect: 'error',
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  const reply = (await response.json()) as Reply;
  if (response.status === 404 || reply.error?.includes('expired')) throw new Gone(reply.error ?? 'gone');
  if (response.status !== 200 || reply.status !== 'success') throw new Error(`status ${response.status}: ${reply.error ?? 'no reason'}`);
  return { body: textOf(reply.body), id: reply.conversationId ?? '' };
}

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body ?? null));

const first = (hash: string, body: object, multiround: boolean): object => ({
  protocolHash: hash,
  protocolSources: [],
  body: JSON.stringify(body),
  multiround,
});

/** An agent that is to be made. */
export interface Registration {
  name: string;
  /** Slugs. */
  leagues?: readonly string[];
  /** Base URL; left out: it polls. */
  endpoint?: string;
  version?: string;
  description?: string;
  /** Left out: an owner is made. */
  ownerToken?: string;
  ownerName?: string;
}

/** An agent that was made. Its secrets are shown once. */
export interface Registered {
  agentId: string;
  /** The agent's secret base URL. */
  base: string;
  /** null unless an owner was made. */
  ownerToken: string | null;
}

/** Makes an agent at the arena with this base URL. */
export async function register(arena: string, r: Registration): Promise<Registered> {
  return registered(arena, {
    name: r.name, leagues: r.leagues, endpoint: r.endpoint, version: r.version, description: r.description,
    owner_token: r.ownerToken, owner_name: r.ownerName,
  });
}

/** Gives an agent that is registered a secret base URL. The one before ends. */
export async function freshBase(arena: string, agentId: string, ownerToken: string): Promise<Registered> {
  return registered(arena, { agent_id: agentId, owner_token: ownerToken });
}

async function registered(arena: string, what: object): Promise<Registered> {
  const { body } = await exchange(`${arena.replace(/\/+$/, '')}/agora`, first(documents.registration, what, false));
  const said = JSON.parse(body) as { agent_id: string; base: string; owner_token?: string; error?: string };
  if (said.error !== undefined) throw new Error(`register: ${said.error}`);
  return { agentId: said.agent_id, base: said.base, ownerToken: said.owner_token ?? null };
}

/** Does a task and shows its events at the base, if there is one, before the answer. */
async function play(config: AgoraConfig, handler: Handler, body: string, options: { limitMs?: number; signal?: AbortSignal }): Promise<Worked> {
  const { base } = config;
  let matchId: unknown;
  try {
    matchId = (JSON.parse(body) as { match_id?: unknown }).match_id;
  } catch {
    // work reports the error
  }
  if (base === undefined || typeof matchId !== 'string') return work(handler, body, options);
  const queue: string[] = [];
  let over = false;
  let wake = (): void => {};
  const sent = (async () => {
    while (!over || queue.length > 0) {
      if (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      const events = queue.splice(0, eventsAtOnce).map((event) => JSON.parse(event) as object);
      if (events.length === 0) continue;
      try {
        await exchange(base, first(documents.agent, { op: 'event', match_id: matchId, events }, false));
      } catch {
        // events are for the show: those are lost
      }
      if (!over) await new Promise((resolve) => setTimeout(resolve, eventsPauseMs));
    }
  })();
  const show = (event: string): void => {
    if (queue.length === eventsQueued) queue.shift();
    queue.push(event);
    wake();
  };
  const done = await work(handler, body, { ...options, show });
  over = true;
  wake();
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([sent, new Promise((resolve) => (timer = setTimeout(resolve, eventsWaitMs)))]);
  clearTimeout(timer);
  return done;
}

function replyOf(done: Worked, logger: Logger): string {
  if ('answer' in done) return done.answer;
  logger.warn(`task not answered: ${String(done.cause)}`);
  return JSON.stringify({ error: done.error }); // the cause is for the log of the owner, not for the arena
}

/**
 * An agent that listens: a listener for node:http, for its base URL, whatever the path, and the conversations below it.
 * The protocol has no authentication, so any client that has the endpoint can send tasks to it: use a path that cannot
 * be guessed.
 */
export class AgoraAgent {
  /** For `http.createServer`, or any server that speaks its language. */
  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    this.#serve(request).then(
      ([status, reply]) => {
        const body = JSON.stringify(reply);
        response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
        response.end(body);
      },
      () => response.destroy(), // the request could not be read
    );
  };

  readonly #config: AgoraConfig;
  readonly #handler: Handler;
  readonly #logger: Logger;
  readonly #maxConcurrent: number;
  readonly #talks = new Map<string, { hash: string; expires: number }>();
  #atWork = 0;

  constructor(config: AgoraConfig, handler: Handler) {
    this.#maxConcurrent = atOnce(config);
    this.#config = { ...config };
    this.#handler = handler;
    this.#logger = config.logger ?? silent;
  }

  /** Tells the agent its secret base URL, once registration has given it one. From then on its events are shown. */
  setBase(base: string): void {
    this.#config.base = base.replace(/\/+$/, '');
  }

  async #serve(request: IncomingMessage): Promise<[number, Reply]> {
    const path = (request.url ?? '/').replace(/\?.*$/s, '');
    const id = /\/conversations\/([^/]*)$/.exec(path)?.[1];
    if (request.method === 'DELETE' && id !== undefined) {
      this.#talks.delete(id);
      return [200, { status: 'success' }];
    }
    if (request.method !== 'POST') return [404, failed('Unknown endpoint')];
    const data = await readBody(request);
    if (data === null) return [413, failed('The message is over 1 MiB')];
    let message: { protocolHash?: unknown; body?: unknown; multiround?: unknown };
    try {
      message = JSON.parse(data.toString('utf8')) as typeof message;
      if (typeof message !== 'object' || message === null) throw new TypeError('not an object');
    } catch {
      return [400, failed('The message is not JSON')];
    }
    if (message.body == null) return [200, failed("Missing field 'body'")];
    const talk = id === undefined ? undefined : this.#talks.get(id);
    if (id !== undefined && (talk === undefined || talk.expires < Date.now())) return [404, failed('Unknown conversation')];
    return [200, await this.#answer(message, id, talk?.hash ?? String(message.protocolHash).toLowerCase())];
  }

  async #answer(message: { body?: unknown; multiround?: unknown }, id: string | undefined, hash: string): Promise<Reply> {
    const reply: Reply = { status: 'success' };
    if (hash === documents.health) {
      reply.body = JSON.stringify({ status: 'ok', max_concurrent: this.#maxConcurrent, capabilities: this.#config.capabilities });
    } else if (hash === documents.round || hash === documents.judge) {
      reply.body = await this.#work(textOf(message.body));
      if (id === undefined && message.multiround === true && hash === documents.round) id = this.#open(hash);
    } else {
      return failed('Unsupported protocol');
    }
    if (id !== undefined) {
      const expires = Date.now() + talkMs;
      this.#talks.set(id, { hash, expires });
      reply.conversationId = id;
      reply.conversationExpires = Math.floor(expires / 1000);
    }
    return reply;
  }

  /** A new conversation; none when there are too many: single messages do as well. */
  #open(hash: string): string | undefined {
    if (this.#talks.size >= maxTalks) {
      for (const [id, talk] of this.#talks) if (talk.expires < Date.now()) this.#talks.delete(id);
    }
    if (this.#talks.size >= maxTalks) return undefined;
    const id = randomBytes(16).toString('base64url');
    this.#talks.set(id, { hash, expires: Date.now() + talkMs });
    return id;
  }

  async #work(body: string): Promise<string> {
    if (this.#atWork >= this.#maxConcurrent) return JSON.stringify({ error: 'UNAVAILABLE' });
    this.#atWork++;
    try {
      return replyOf(await play(this.#config, this.#handler, body, {}), this.#logger);
    } finally {
      this.#atWork--;
    }
  }
}

const failed = (error: string): Reply => ({ status: 'failure', error });

function atOnce(config: AgoraConfig): number {
  const { base, maxConcurrent = 5 } = config;
  if (!Number.isInteger(maxConcurrent) || maxConcurrent < 1) throw new TypeError('config.maxConcurrent is below one');
  if (base !== undefined && !/^https?:\/\//.test(base)) throw new TypeError('config.base is not an http(s) URL');
  return maxConcurrent;
}

/** Waits for some milliseconds, or until the signal aborts. */
async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

interface Given {
  task: number | null;
  time_left_ms: number;
  request: unknown;
  error?: string;
}

/**
 * Plays without an open port: asks the arena for tasks at `config.base` and answers them, until `options.signal` aborts;
 * then it aborts its running tasks and returns. It throws when the base does not exist.
 */
export async function poll(config: AgoraConfig & { base: string }, handler: Handler, options: { signal?: AbortSignal } = {}): Promise<void> {
  const maxConcurrent = atOnce(config);
  const base = config.base.replace(/\/+$/, '');
  const logger = config.logger ?? silent;
  const signal = options.signal ?? new AbortController().signal;
  const atWork = new Set<Promise<void>>();
  let at = ''; // the conversation's URL
  let after: number | undefined; // the newest task that is being worked on

  /** Sends an operation in the conversation, and opens one when there is none or it is over. */
  const say = async (op: object, stop?: AbortSignal): Promise<Given> => {
    if (at !== '') {
      try {
        return JSON.parse((await exchange(at, { status: 'success', body: JSON.stringify(op) }, stop)).body) as Given;
      } catch (error) {
        if (!(error instanceof Gone)) throw error;
      }
    }
    const { body, id } = await exchange(base, first(documents.agent, op, true), stop);
    if (id !== '') at = `${base}/conversations/${id}`;
    return JSON.parse(body) as Given;
  };

  const answer = async (g: Given): Promise<void> => {
    const limitMs = g.time_left_ms - Math.min(200, g.time_left_ms / 10);
    const stopped = new AbortController();
    const stop = (): void => stopped.abort(new Unavailable('the agent stops')); // it leaves the match
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const reply = replyOf(await play({ ...config, base }, handler, JSON.stringify(g.request), { limitMs, signal: stopped.signal }), logger);
    signal.removeEventListener('abort', stop);
    for (let tries = 0; tries < 10; tries++) {
      try {
        const said = await say({ op: 'answer', task: g.task, reply: JSON.parse(reply) as object });
        if (said.error !== undefined) logger.warn(`answer not taken: ${said.error}`);
        return;
      } catch (error) {
        logger.warn(`answer not taken: ${String(error)}`);
        if (error instanceof Gone) return;
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
    }
  };

  let pause = 0;
  while (!signal.aborted) {
    if (atWork.size >= maxConcurrent) {
      await Promise.race(atWork);
      continue;
    }
    const asked = performance.now();
    try {
      const g = await say({ op: 'next', max_concurrent: maxConcurrent, after }, signal);
      if (g.error !== undefined) throw new Error(g.error);
      pause = 0;
      if (g.task === null) {
        if (performance.now() - asked < shortPollMs) await rest(shortPollMs, signal); // the arena holds no polls now
        continue;
      }
      after = g.task;
      const working: Promise<void> = answer(g).finally(() => atWork.delete(working));
      atWork.add(working);
    } catch (error) {
      if (signal.aborted) break;
      if (error instanceof Gone) throw new Error('the arena does not have this base: request a new one', { cause: error });
      logger.warn(`arena not reached: ${String(error)}`);
      pause = Math.min(Math.max(2 * pause, 150), 10_000);
      await rest(pause, signal);
    }
  }
  await Promise.allSettled(atWork);
}
