import { describe, expect, it } from 'vitest';
import { revealStep, Unveiled } from './reveal';

describe('the reveal of a frozen board', () => {
  it('comes only to those who saw it frozen', () => {
    const fresh = new Unveiled();
    expect([undefined, false, false].map((f) => fresh.see(f))).toEqual([false, false, false]);
    const watching = new Unveiled();
    expect([false, true, undefined, false, false, true].map((f) => watching.see(f))).toEqual([false, false, false, true, true, false]);
  });
  it('takes eight seconds at most', () => {
    expect(revealStep(3)).toBe(400);
    expect(revealStep(128) * 128).toBe(8_000);
    expect(revealStep(0)).toBe(400);
  });
});
