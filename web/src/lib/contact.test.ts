import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Contact, GRACE_MS, PROBE_MS } from './contact';

function made(random = 1) {
  const server = { up: true, probes: 0 };
  const contact = new Contact({
    probe: () => {
      server.probes++;
      return Promise.resolve(server.up);
    },
    now: Date.now,
    random: () => random,
  });
  const returns: number[] = [];
  contact.onReturn(() => void returns.push(Date.now()));
  return { contact, server, returns };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('Contact', () => {
  it('is stale from the last answer on, once a failure lasts', () => {
    const { contact, server } = made();
    server.up = false;
    contact.answered();
    const heard = Date.now();
    vi.advanceTimersByTime(10_000);
    contact.failed();
    expect([contact.down, contact.since]).toEqual([true, undefined]);
    vi.advanceTimersByTime(GRACE_MS);
    expect(contact.since).toBe(heard);
    contact.answered();
    expect([contact.down, contact.since]).toEqual([false, undefined]);
  });

  it('does not show a short failure', () => {
    const { contact } = made();
    contact.failed();
    vi.advanceTimersByTime(GRACE_MS - 1);
    contact.answered();
    vi.advanceTimersByTime(GRACE_MS);
    expect(contact.since).toBeUndefined();
  });

  it.each([0, 0.5, 1])('wakes everything within 2 s of the return, whatever chance says (%d)', async (random) => {
    const { contact, server, returns } = made(random);
    server.up = false;
    contact.failed();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.probes).toBeLessThanOrEqual(60_000 / (PROBE_MS / 2));
    server.up = true;
    const back = Date.now();
    await vi.advanceTimersByTimeAsync(PROBE_MS);
    expect(returns).toHaveLength(1);
    expect(returns[0]! - back).toBeLessThanOrEqual(PROBE_MS);
    const probes = server.probes;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(server.probes).toBe(probes);
  });

  it('keeps readers apart', async () => {
    const late = made(1);
    const early = made(0);
    for (const { contact, server } of [late, early]) {
      server.up = false;
      contact.failed();
      server.up = true;
    }
    await vi.advanceTimersByTimeAsync(PROBE_MS);
    expect(late.returns[0]! - early.returns[0]!).toBe(PROBE_MS / 2);
  });

  it('is stale while a stream is lost, though the arena answers', async () => {
    const { contact, returns } = made();
    const stream = {};
    contact.lost(stream);
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect([contact.down, contact.since !== undefined, returns.length]).toEqual([false, true, 0]);
    contact.found(stream);
    expect(contact.since).toBeUndefined();
  });

  it('finds out at once that a lost stream was all of the arena', async () => {
    const { contact, server } = made();
    server.up = false;
    contact.lost({});
    await vi.advanceTimersByTimeAsync(0);
    expect(contact.down).toBe(true);
  });
});
