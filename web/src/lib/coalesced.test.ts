import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { coalesced } from './coalesced';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** When runs of so many milliseconds began. */
function runs(lastsMs: number) {
  const start = Date.now();
  const begun: number[] = [];
  return {
    begun,
    ...coalesced(() => {
      begun.push(Date.now() - start);
      return new Promise((done) => setTimeout(done, lastsMs));
    }, 10_000),
  };
}

it('runs at once, and once more for all that was asked meanwhile', async () => {
  const { begun, ask } = runs(100);
  for (let i = 0; i < 30; i++) {
    ask();
    await vi.advanceTimersByTimeAsync(500);
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toEqual([0, 10_000, 20_000]);
  ask();
  expect(begun).toEqual([0, 10_000, 20_000, 75_000]);
});

it('does not begin before the last run is over', async () => {
  const { begun, ask } = runs(25_000);
  ask();
  ask();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toEqual([0, 25_000]);
});

it('runs nothing after it was stopped', async () => {
  const { begun, ask, stop } = runs(100);
  ask();
  ask();
  stop();
  ask();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(begun).toEqual([0]);
});
