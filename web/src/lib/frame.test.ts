import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FrameQueue } from './frame';

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('requestAnimationFrame', (run: () => void) => setTimeout(run, 16));
  vi.stubGlobal('cancelAnimationFrame', (id: ReturnType<typeof setTimeout>) => clearTimeout(id));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('a frame queue', () => {
  it('hands on once a frame, all of it and in order', () => {
    const got: number[][] = [];
    const queue = new FrameQueue<number>((items) => got.push(items));
    [1, 2, 3].forEach((n) => queue.push(n));
    vi.advanceTimersByTime(16);
    queue.push(4);
    vi.advanceTimersByTime(16);
    expect(got).toEqual([[1, 2, 3], [4]]);
  });

  it('hands on eight times a second when a thousand come, and at once again when it is quiet', () => {
    const got: number[] = [];
    const queue = new FrameQueue<number>((items) => got.push(items.length));
    for (let ms = 0; ms < 1_000; ms++) {
      queue.push(ms);
      vi.advanceTimersByTime(1);
    }
    vi.advanceTimersByTime(125);
    expect(got.length).toBeLessThanOrEqual(10);
    expect(got.reduce((a, b) => a + b)).toBe(1_000);
    const before = got.length;
    queue.push(1);
    vi.advanceTimersByTime(125);
    queue.push(2);
    vi.advanceTimersByTime(16);
    expect(got.slice(before)).toEqual([1, 1]);
  });
});
