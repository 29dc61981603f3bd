import { afterEach, expect, it, vi } from 'vitest';
import { get } from './client';

const answer = (body: string, status = 200) => vi.stubGlobal('fetch', async () => new Response(body, { status, headers: { 'content-type': 'application/json' } }));
afterEach(() => vi.unstubAllGlobals());

it('fails when the answer is cut off, rather than read nothing', async () => {
  answer('{"text":"Draining at');
  await expect(get('/v1/banner')).rejects.toMatchObject({ status: 0, code: 'network' });
});

it('keeps the status of a refusal whose body is cut off', async () => {
  answer('{"code":"not_f', 404);
  await expect(get('/v1/banner')).rejects.toMatchObject({ status: 404, code: 'unknown' });
});
