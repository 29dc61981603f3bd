import type { Context, Handler } from './agent.js';
import { statusOf, TaskTimeout } from './errors.js';
import { Events } from './events.js';
import { decodeTask, encodeAnswer, timesOf } from './task.js';

/** What came of a task: the JSON of the answer, or the word for the failure. */
export type Worked =
  | { answer: string }
  | { error: 'TIMEOUT' | 'RATE_LIMITED' | 'UNAVAILABLE' | 'INTERNAL_ERROR'; cause: unknown };

/**
 * Does one task that came over another protocol than AAP: reads its JSON (AAP, "Request format"), calls the handler
 * until the task's time limit, or `limitMs` when that is less, and returns the answer. `show` gets each event of the
 * handler as JSON, at once. It never throws.
 *
 * @internal
 */
export async function work(
  handler: Handler,
  body: string,
  options: { limitMs?: number; signal?: AbortSignal; show?: (event: string) => void } = {},
): Promise<Worked> {
  const began = performance.now();
  const { show, signal } = options;
  const events = new Events(show === undefined ? null : { push: (_token, event) => show(event) });
  let timer: NodeJS.Timeout | undefined;
  let aborted = (): void => {};
  try {
    const task = decodeTask(Buffer.from(body));
    const limit = task.observation !== null && options.limitMs !== undefined // it includes the time bank of a game
      ? options.limitMs
      : Math.min(timesOf(task).work, options.limitMs ?? Infinity);
    const end = new AbortController();
    const stopped = new Promise<never>((_resolve, reject) => {
      const stop = (reason: unknown): void => {
        end.abort(reason);
        reject(reason instanceof Error ? reason : new TaskTimeout());
      };
      timer = setTimeout(() => stop(new TaskTimeout()), limit);
      aborted = (): void => stop(signal?.reason);
      if (signal?.aborted) aborted();
      signal?.addEventListener('abort', aborted, { once: true });
    });
    const deadline = new Date(Date.now() + limit);
    const ctx: Context = { signal: end.signal, deadline, remainingMs: () => Math.max(0, limit - (performance.now() - began)) };
    const handled = (async () => handler(ctx, task, events))();
    handled.catch(() => {}); // one that still runs after its time limit
    const answer = await Promise.race([handled, stopped]);
    return { answer: encodeAnswer(events.fill(answer), performance.now() - began) };
  } catch (cause) {
    const status = statusOf(cause);
    const word = status === 408 ? 'TIMEOUT' : status === 429 ? 'RATE_LIMITED' : status === 503 ? 'UNAVAILABLE' : 'INTERNAL_ERROR';
    return { error: word, cause };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', aborted); // it may outlive many tasks
    events.shut();
  }
}
