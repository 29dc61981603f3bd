import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Link } from '../src/link.js';
import { Final } from '../src/sink.js';
import type { Sink } from '../src/sink.js';
import { gate } from './arena.js';

/** Takes events as its fields say. */
class FakeArena implements Sink {
  error: Error | null = null;
  got: string[] = [];
  tries = 0;
  hold: Promise<void> | null = null;
  onTry = (): void => {};

  async send(token: string, left: { batch: string[] }): Promise<void> {
    this.tries++;
    this.onTry();
    if (this.hold !== null) await this.hold;
    if (this.error !== null) throw this.error;
    this.got.push(...left.batch.splice(0).map((e) => `${token}: ${e}`));
  }

  close(): void {}
}

function make(arena: FakeArena): { link: Link; dropped: () => number } {
  let dropped = 0;
  const link = new Link(arena, (n) => (dropped += n), () => {});
  return { link, dropped: () => dropped };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('order is kept through failures', async () => {
  const arena = new FakeArena();
  const { link, dropped } = make(arena);
  arena.error = new Error('down');
  link.push('a', '1');
  await link.flush();
  link.push('a', '2');
  arena.error = null;
  const again = gate();
  arena.onTry = again.open;
  await again.opened;
  await link.flush();
  assert.deepEqual([arena.got, dropped()], [['a: 1', 'a: 2'], 0]);
  link.end();
});

test('events of a round that is over are not sent in the next round', async () => {
  const arena = new FakeArena();
  const { link, dropped } = make(arena);
  const release = gate();
  arena.hold = release.opened;
  arena.error = new Error('down');
  link.push('a', '1');
  await settle();
  link.push('a', 'waits');
  link.push('b', '2'); // while 1 is under way
  release.open();
  await settle();
  arena.hold = null;
  arena.error = null;
  const again = gate();
  arena.onTry = again.open;
  await again.opened;
  await link.flush();
  arena.error = new Final('refused');
  link.push('b', '3');
  await link.flush();
  arena.error = null;
  link.push('b', '4'); // b is refused for good
  link.push('c', '5');
  await link.flush();
  assert.deepEqual([arena.got, dropped()], [['b: 2', 'c: 5'], 4]);
  link.end();
});

test('the oldest of too many are dropped, and the pace is kept', async () => {
  const arena = new FakeArena();
  const { link, dropped } = make(arena);
  for (let i = 0; i < 300; i++) link.push('a', String(i));
  await link.flush(); // longer than the burst takes
  assert.ok(arena.got.length >= 32 && arena.got.length <= 48, `${arena.got.length} events at once`);
  link.end();
  assert.equal(arena.got[0], 'a: 0');
  await settle();
  assert.equal(dropped() + arena.got.length, 300);

});

test('an agent does not wait long for an arena that hangs', async () => {
  const arena = new FakeArena();
  const { link } = make(arena);
  const never = gate();
  arena.hold = never.opened;
  link.push('a', '1');
  await link.flush(); // or the test never ends
  link.end();
  never.open();
});
