import { clock } from './clock';
import { contact, type Contact } from './contact';
import type { ArenaEvent, Hello } from './api/contract';

// One spectator's connection to /v1/stream. It comes back by itself after
// every loss, with the last seq that it saw, so that its listener gets each
// event of a match once and in order.

export type Topic = { match: string; since?: number } | { league: string } | { lobby: true };

export interface Listener {
  /** A connection stands; the topic's log reaches up to seq. */
  hello?(hello: Hello): void;
  event(event: ArenaEvent): void;
  /** Nothing more comes: the match is over, or the server refuses its topic. */
  end?(refused: boolean): void;
}

/** How to go on after a close. */
export type Next = 'stop' | 'now' | 'later' | 'refuse';

/** The close-code table of the contract. */
export function afterClose(code: number): Next {
  switch (code) {
    case 1000: // the match is over
      return 'stop';
    case 1012: // the server restarts
    case 4408: // we were too slow
      return 'now';
    case 4400: // a bad request stays bad
    case 4401:
    case 4403:
    case 4404: // no such match
      return 'refuse';
    default:
      return 'later';
  }
}

/** Wait before attempt n (1, 2, …): doubling from 0.5 s to 15 s, half of it random. */
export function backoff(n: number, random: () => number): number {
  const top = Math.min(15_000, 500 * 2 ** Math.min(n - 1, 10));
  return top / 2 + (top / 2) * random();
}

/** A connection without a word for this long is renewed; nothing is lost by it. */
export const QUIET_MS = 45_000;
/** After this long without a message a connection is suspect, and the page asks whether the arena still answers. */
export const SUSPECT_MS = 15_000;
/** A connection must have stood this long for the next loss to count as the first. */
const STABLE_MS = 5_000;

/** WebSocket.CONNECTING. */
const CONNECTING = 0;

export interface Parts {
  open(url: string): WebSocket;
  random(): number;
  contact: Pick<Contact, 'heard' | 'lost' | 'found' | 'onReturn' | 'check'>;
}

const browser: Parts = { open: (url) => new WebSocket(url), random: Math.random, contact };

export class Stream {
  readonly #topic: Topic;
  readonly #listener: Listener;
  readonly #parts: Parts;
  #socket: WebSocket | undefined;
  #seq = 0;
  #gapAt = -1;
  #attempts = 0;
  #openedAt = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #quiet: ReturnType<typeof setTimeout> | undefined;
  #suspect: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  readonly #wake = () => this.#renewIfIdle();
  #returned: (() => void) | undefined;

  constructor(topic: Topic, listener: Listener, parts: Parts = browser) {
    this.#topic = topic;
    this.#listener = listener;
    this.#parts = parts;
    if ('match' in topic) this.#seq = topic.since ?? 0;
  }

  start(): void {
    globalThis.addEventListener?.('online', this.#wake);
    this.#returned = this.#parts.contact.onReturn(this.#wake);
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    globalThis.removeEventListener?.('online', this.#wake);
    this.#returned?.();
    this.#parts.contact.found(this);
    clearTimeout(this.#retry);
    clearTimeout(this.#quiet);
    clearTimeout(this.#suspect);
    this.#drop();
  }

  #path(): string {
    const params = new URLSearchParams();
    if ('match' in this.#topic) {
      params.set('match', this.#topic.match);
      params.set('since', String(this.#seq));
    } else if ('league' in this.#topic) {
      params.set('league', this.#topic.league);
    } else {
      params.set('lobby', '1');
    }
    params.set('batch', '1');
    return `/v1/stream?${params}`;
  }

  #connect(): void {
    clearTimeout(this.#retry);
    this.#drop();
    if (this.#stopped) return;
    this.#attempts++;
    const socket = this.#parts.open(this.#path());
    this.#socket = socket;
    this.#openedAt = 0;
    socket.onmessage = (m: MessageEvent<unknown>) => this.#take(String(m.data));
    socket.onclose = (e: CloseEvent) => this.#closed(e.code);
    this.#listenForLife();
  }

  #take(text: string): void {
    this.#parts.contact.heard();
    this.#listenForLife();
    for (const line of text.split('\n')) {
      if (!line || this.#stopped) continue;
      const message = parse(line);
      if (!message) continue;
      clock.sample(message.ts);
      if (message.type === 'hello') this.#hello(message);
      else if (!this.#deliver(message)) return;
    }
  }

  #hello(hello: Hello): void {
    this.#openedAt = Date.now();
    this.#parts.contact.found(this);
    if (hello.resync) this.#seq = 0; // the log is shorter than what we saw: begin anew
    this.#listener.hello?.(hello);
    if (hello.resync) this.#connect();
  }

  /** Hands an event on; false when a gap showed and the connection starts anew. */
  #deliver(event: ArenaEvent): boolean {
    if ('match' in this.#topic && event.seq !== undefined) {
      if (event.seq <= this.#seq) return true;
      if (event.seq > this.#seq + 1 && this.#gapAt !== this.#seq) {
        this.#gapAt = this.#seq; // asked once for what is missing; a second time the log is what it is
        this.#lost('later');
        return false;
      }
      this.#seq = event.seq;
    }
    this.#listener.event(event);
    return true;
  }

  #closed(code: number): void {
    this.#socket = undefined;
    clearTimeout(this.#quiet);
    clearTimeout(this.#suspect);
    const next = afterClose(code);
    if (next === 'stop' || next === 'refuse') {
      this.stop();
      this.#listener.end?.(next === 'refuse');
      return;
    }
    this.#lost(next);
  }

  #lost(next: 'now' | 'later'): void {
    this.#drop();
    clearTimeout(this.#quiet);
    clearTimeout(this.#suspect);
    if (this.#stopped) return;
    this.#parts.contact.lost(this);
    if (this.#openedAt && Date.now() - this.#openedAt > STABLE_MS) this.#attempts = 0;
    this.#openedAt = 0;
    // "At once" holds for the first time only: a server that keeps closing is left in peace.
    const wait = next === 'now' && this.#attempts <= 1 ? 0 : backoff(this.#attempts || 1, this.#parts.random);
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#connect(), wait);
  }

  #listenForLife(): void {
    clearTimeout(this.#quiet);
    clearTimeout(this.#suspect);
    this.#quiet = setTimeout(() => this.#lost('later'), QUIET_MS);
    this.#suspect = setTimeout(() => void this.#parts.contact.check(), SUSPECT_MS);
  }

  #renewIfIdle(): void {
    if (this.#stopped || this.#openedAt) return;
    this.#attempts = 0; // what failed before was the outage
    this.#connect();
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onmessage = null;
    socket.onclose = null;
    // A socket that is not open yet is closed when it is: browsers complain about less.
    if (socket.readyState === CONNECTING) socket.onopen = () => socket.close();
    else socket.close();
  }
}

function parse(line: string): ArenaEvent | Hello | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('type' in value)) return undefined;
    return value as ArenaEvent | Hello;
  } catch {
    return undefined;
  }
}
