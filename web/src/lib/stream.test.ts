import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ArenaEvent } from './api/contract';
import { afterClose, backoff, QUIET_MS, Stream, SUSPECT_MS, type Topic } from './stream';

class FakeSocket {
  onmessage: ((e: { data: string }) => void) | null = null;
  onclose: ((e: { code: number }) => void) | null = null;
  closed = false;
  constructor(readonly url: string) {}
  close() {
    this.closed = true;
  }
  say(...messages: object[]) {
    this.onmessage?.({ data: messages.map((m) => JSON.stringify(m)).join('\n') });
  }
}

function follow(topic: Topic) {
  const lost = new Set<object>();
  let checks = 0;
  let back = () => {};
  const contact = {
    heard: () => {},
    lost: (s: object) => void lost.add(s),
    found: (s: object) => void lost.delete(s),
    onReturn: (then: () => void) => ((back = then), () => {}),
    check: () => Promise.resolve(++checks > 0),
  };
  const sockets: FakeSocket[] = [];
  const ends: boolean[] = [];
  const seqs: (number | undefined)[] = [];
  const stream = new Stream(
    topic,
    { event: (e: ArenaEvent) => void seqs.push(e.seq), end: (refused) => void ends.push(refused) },
    {
      open: (url) => {
        const s = new FakeSocket(url);
        sockets.push(s);
        return s as unknown as WebSocket;
      },
      random: () => 1,
      contact,
    },
  );
  stream.start();
  return { stream, sockets, ends, seqs, lost, checks: () => checks, back: () => back(), last: () => sockets[sockets.length - 1]! };
}

const hello = { type: 'hello', topic: 'match:m_1', seq: 3 };
const event = (seq: number) => ({ type: 'thinking', seq, ts: '2026-11-21T18:00:00.000Z' });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('the close-code table', () => {
  it.each([
    [1000, 'stop'],
    [1012, 'now'],
    [4408, 'now'],
    [4400, 'refuse'],
    [4404, 'refuse'],
    [4401, 'refuse'],
    [1006, 'later'],
    [1001, 'later'],
    [1011, 'later'],
    [4429, 'later'],
  ] as const)('%i: %s', (code, next) => expect(afterClose(code)).toBe(next));
});

describe('backoff', () => {
  it('doubles up to a limit and is spread over its upper half', () => {
    expect([1, 2, 3, 4, 5, 6, 99].map((n) => backoff(n, () => 1))).toEqual([500, 1000, 2000, 4000, 8000, 15000, 15000]);
    expect(backoff(3, () => 0)).toBe(1000);
  });
});

describe('Stream', () => {
  it('asks for the whole log first, in batches', () => {
    const { sockets } = follow({ match: 'm_1' });
    expect(sockets[0]!.url).toBe('/v1/stream?match=m_1&since=0&batch=1');
    expect(follow({ lobby: true }).last().url).toBe('/v1/stream?lobby=1&batch=1');
    expect(follow({ league: 'a b' }).last().url).toBe('/v1/stream?league=a+b&batch=1');
  });

  it('comes back with the last seq, and hands on each event once', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello, event(1), event(2), event(3));
    f.last().onclose?.({ code: 1006 });
    vi.advanceTimersByTime(500);
    expect(f.sockets).toHaveLength(2);
    expect(f.last().url).toContain('since=3');
    f.last().say({ ...hello, seq: 5 }, event(3), event(4), event(5));
    expect(f.seqs).toEqual([1, 2, 3, 4, 5]);
  });

  it('is lost from a close to the next hello', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello);
    f.last().onclose?.({ code: 1006 });
    expect(f.lost.size).toBe(1);
    vi.advanceTimersByTime(500);
    expect(f.lost.size).toBe(1);
    f.last().say(hello);
    expect(f.lost.size).toBe(0);
    expect(f.ends).toEqual([]);
  });

  it('comes back at once from a restart, but not in a tight circle', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello);
    f.last().onclose?.({ code: 1012 });
    vi.advanceTimersByTime(0);
    expect(f.sockets).toHaveLength(2);
    f.last().onclose?.({ code: 1012 });
    vi.advanceTimersByTime(100);
    expect(f.sockets).toHaveLength(2);
    vi.advanceTimersByTime(1000);
    expect(f.sockets).toHaveLength(3);
  });

  it('comes back at once when the arena answers again, however long it was gone', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello, event(1));
    for (let n = 0; n < 8; n++) {
      f.last().onclose?.({ code: 1006 });
      vi.advanceTimersByTime(15_000);
    }
    f.last().onclose?.({ code: 1006 });
    expect(f.lost.size).toBe(1);
    const before = f.sockets.length;
    f.back();
    expect(f.sockets).toHaveLength(before + 1);
    expect(f.last().url).toContain('since=1');
    f.last().say(hello);
    expect(f.lost.size).toBe(0);
    f.back();
    expect(f.sockets).toHaveLength(before + 1);
  });

  it('stops when the match is over and when it is refused', () => {
    for (const [code, refused] of [
      [1000, false],
      [4404, true],
    ] as const) {
      const f = follow({ match: 'm_1' });
      f.last().say(hello);
      f.last().onclose?.({ code });
      vi.advanceTimersByTime(600_000);
      expect(f.ends).toEqual([refused]);
      expect(f.sockets).toHaveLength(1);
    }
  });

  it('asks again for what is missing, but only once', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello, event(1), event(3));
    expect(f.seqs).toEqual([1]);
    vi.advanceTimersByTime(1000);
    expect(f.last().url).toContain('since=1');
    f.last().say(hello, event(3));
    expect(f.seqs).toEqual([1, 3]);
  });

  it('begins anew when the log is shorter than what it saw', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello, event(1), event(2));
    f.last().onclose?.({ code: 1006 });
    vi.advanceTimersByTime(500);
    f.last().say({ ...hello, seq: 1, resync: true });
    expect(f.last().url).toContain('since=0');
    f.last().say(hello, event(1));
    expect(f.seqs).toEqual([1, 2, 1]);
  });

  it('renews a connection that says nothing', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello, event(1));
    vi.advanceTimersByTime(SUSPECT_MS);
    expect([f.checks(), f.sockets.length]).toEqual([1, 1]);
    vi.advanceTimersByTime(QUIET_MS - SUSPECT_MS + 1000);
    expect(f.sockets).toHaveLength(2);
    expect(f.sockets[0]!.closed).toBe(true);
  });

  it('takes what is not JSON for nothing', () => {
    const f = follow({ match: 'm_1' });
    f.last().onmessage?.({ data: 'nonsense\n[1]\nnull\n' + JSON.stringify(event(1)) });
    expect(f.seqs).toEqual([1]);
  });

  it('is silent after stop', () => {
    const f = follow({ match: 'm_1' });
    f.last().say(hello);
    f.stream.stop();
    expect(f.last().closed).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(600_000);
    expect(f.sockets).toHaveLength(1);
  });
});
