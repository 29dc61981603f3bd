import { afterEach, expect, it, vi } from 'vitest';
import { get } from './client';

const answer = (body: string, status = 200) =>
  vi.stubGlobal('fetch', async () => new Response(body, { status, headers: { 'content-type': 'application/json' } }));
afterEach(() => vi.unstubAllGlobals());

it('fails when the answer is cut off, rather than read nothing', async () => {
  answer('{"text":"Draining at');
  await expect(get('/v1/banner')).rejects.toMatchObject({ status: 0, code: 'network' });
});

it('keeps the status of a refusal whose body is cut off', async () => {
  answer('{"code":"not_f', 404);
  await expect(get('/v1/banner')).rejects.toMatchObject({ status: 404, code: 'unknown' });
});

it('says how long the arena asks to wait', async () => {
  const refuse = (wait: Record<string, string>) =>
    vi.stubGlobal(
      'fetch',
      async () =>
        new Response('{"code":"rate_limited"}', { status: 429, headers: { 'content-type': 'application/problem+json', ...wait } }),
    );
  refuse({ 'retry-after': '17' });
  await expect(get('/v1/banner')).rejects.toMatchObject({ status: 429, waitMs: 17_000 });
  refuse({});
  await expect(get('/v1/banner')).rejects.toMatchObject({ status: 429, waitMs: 0 });
});
