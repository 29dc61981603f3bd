import { afterEach, beforeEach, expect, it, vi } from 'vitest';

const reads = vi.fn(async () => Response.json({ text: 'read' }));
beforeEach(() => {
  vi.resetModules();
  vi.stubGlobal('fetch', reads);
});
afterEach(() => {
  vi.unstubAllGlobals();
  reads.mockClear();
});

/** The client of a page with this block of answers. */
async function page(block: string | undefined) {
  vi.stubGlobal('document', { getElementById: () => block && { textContent: block }, documentElement: {} });
  const [{ get }, { first }] = await Promise.all([import('./client'), import('./first')]);
  return { get, first };
}

const block = JSON.stringify({ date: '2026-05-01T18:30:00Z', answers: { '/v1/banner': { text: 'brought' }, '/v1/lobby?a=b': {} } });

it('takes an answer that the page brought along, once and for that address alone', async () => {
  const { get } = await page(block);
  expect(await get('/v1/banner', { a: 1 })).toEqual({ text: 'read' });
  expect([await get('/v1/banner'), await get('/v1/banner'), await get('/v1/lobby', { a: 'b' })]).toEqual([
    { text: 'brought' },
    { text: 'read' },
    {},
  ]);
  expect(reads).toHaveBeenCalledTimes(2);
});

it('forgets what was not taken when the reader moves on', async () => {
  const { get, first } = await page(block);
  first.drop();
  expect(await get('/v1/banner')).toEqual({ text: 'read' });
});

it.each([undefined, '', '{"answers":{"/v1/ba'])('reads all by itself when the page brought %j', async (nothing) => {
  const { get } = await page(nothing);
  expect(await get('/v1/banner')).toEqual({ text: 'read' });
});
