import { WebSocket } from 'ws';

/** The arena accepts no more events under this token. */
export class Final extends Error {
  override name = 'Final';
}

/** Hands events to the arena. */
export interface Sink {
  /** Hands over a batch in order; what went is taken off it. The rest is sent again unless a `Final` is thrown. */
  send(token: string, left: { batch: string[] }): Promise<void>;
  close(): void;
}

const sendMs = 3000; // for one batch, the dial included

// Close codes of the arena's stream after which the socket is not opened again under the same token: bad request,
// token, forged identity, replaced, too many.
const finalCodes = [4400, 4401, 4403, 4409, 4429];

/** Sends over one WebSocket, which lives as long as the match: a later round's token is handed in by a message. */
export class SocketSink implements Sink {
  readonly #url: string;
  #socket: WebSocket | undefined;
  #token = ''; // that the socket was opened or renewed with
  #closed = false;
  #final = ''; // the token under which the socket was closed for good

  constructor(arena: string) {
    this.#url = arena.replace(/^http/, 'ws') + '/v1/stream';
  }

  async send(token: string, left: { batch: string[] }): Promise<void> {
    const deadline = Date.now() + sendMs;
    if (token === this.#final) throw new Final('the stream was closed for good');
    if (this.#socket?.readyState !== WebSocket.OPEN) this.#socket = await this.#dial(token);
    else if (token !== this.#token) await this.#write(JSON.stringify({ type: 'auth', token }), deadline);
    this.#token = token;
    while (left.batch.length > 0) {
      await this.#write(left.batch[0]!, deadline);
      left.batch.shift();
    }
  }

  close(): void {
    this.#closed = true;
    this.#socket?.terminate(); // without the handshake, which would wait for an arena that is gone
    this.#socket = undefined;
  }

  #dial(token: string): Promise<WebSocket> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(this.#url, {
        headers: { Authorization: `Bearer ${token}` },
        handshakeTimeout: sendMs,
        perMessageDeflate: false,
        maxPayload: 1 << 20,
      });
      socket.on('open', () => {
        if (this.#closed) socket.terminate(); // it was ended meanwhile
        resolve(socket);
      });
      socket.on('error', reject); // and later ones, which the close reports
      socket.on('unexpected-response', (request, response) => {
        const status = response.statusCode ?? 0;
        request.destroy();
        reject(status >= 400 && status < 500 && status !== 429 ? new Final(`status ${status}`) : new Error(`open the stream: status ${status}`));
      });
      socket.on('close', (code) => {
        if (finalCodes.includes(code) && this.#socket === socket) this.#final = this.#token;
      });
    });
  }

  #write(message: string, deadline: number): Promise<void> {
    const socket = this.#socket!;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        socket.terminate();
        reject(new Error('write to the stream: too slow'));
      }, Math.max(deadline - Date.now(), 0));
      socket.send(message, (error) => {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve();
      });
    });
  }
}

/** Sends each batch as one POST of NDJSON. */
export class PostSink implements Sink {
  readonly #url: string;
  readonly #end = new AbortController();

  constructor(arena: string) {
    this.#url = arena + '/v1/stream';
  }

  async send(token: string, left: { batch: string[] }): Promise<void> {
    const response = await fetch(this.#url, {
      method: 'POST',
      redirect: 'error',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson' },
      body: left.batch.join('\n') + '\n',
      signal: AbortSignal.any([this.#end.signal, AbortSignal.timeout(sendMs)]),
    });
    await response.body?.cancel();
    if ([401, 403, 429].includes(response.status)) throw new Final(`status ${response.status}`);
    if (response.status >= 500) throw new Error(`post events: status ${response.status}`);
    left.batch = []; // taken, or refused for good: the round has closed
  }

  close(): void {
    this.#end.abort();
  }
}
