import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from './api/client';
import { Resource } from './resource.svelte';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What is read a second apart, and when the reads began, in seconds. */
function reads(answer: (n: number, signal: AbortSignal) => Promise<string>) {
  const start = Date.now();
  const begun: number[] = [];
  const resource = new Resource((signal) => answer(begun.push((Date.now() - start) / 1000), signal));
  return { resource, begun };
}
const after = (ms: number, what: string) => new Promise<string>((done) => setTimeout(() => done(what), ms));

describe('Resource', () => {
  it('lets a slow read finish while it polls', async () => {
    const { resource, begun } = reads((n) => after(12_000, `read ${n}`));
    const stop = resource.poll(5_000);
    await vi.advanceTimersByTimeAsync(14_000);
    expect([resource.data, begun]).toEqual(['read 1', [0]]);
    await vi.advanceTimersByTimeAsync(14_000);
    expect([resource.data, begun]).toEqual(['read 2', [0, 15]]);
    stop();
  });

  it('waits as long as the arena asks, also while it polls', async () => {
    const { resource, begun } = reads((n) =>
      n === 1 ? Promise.reject(new ApiError(429, 'rate_limited', '', [], 17_000)) : after(0, 'data'),
    );
    const stop = resource.poll(5_000);
    await vi.advanceTimersByTimeAsync(16_999);
    expect([resource.error?.status, begun]).toEqual([429, [0]]);
    await vi.advanceTimersByTimeAsync(2);
    expect([resource.data, resource.error, begun]).toEqual(['data', undefined, [0, 17]]);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(begun).toEqual([0, 17, 20]);
    stop();
  });

  it('drops a read under way for one that is asked for', async () => {
    const aborted: number[] = [];
    const { resource, begun } = reads((n, signal) => {
      signal.addEventListener('abort', () => aborted.push(n));
      return after(1_000, `read ${n}`);
    });
    void resource.load();
    await vi.advanceTimersByTimeAsync(500);
    void resource.load();
    await vi.advanceTimersByTimeAsync(1_000);
    expect([resource.data, begun, aborted]).toEqual(['read 2', [0, 0.5], [1]]);
  });

  it('tries a failure that may pass again, and no other', async () => {
    for (const [status, tries] of [
      [0, 2],
      [429, 2],
      [503, 2],
      [404, 1],
    ] as const) {
      const { resource, begun } = reads(() => Promise.reject(new ApiError(status, '', '')));
      void resource.load();
      await vi.advanceTimersByTimeAsync(4_500);
      expect(begun.length, String(status)).toBe(tries);
      resource.stop();
    }
  });
});
