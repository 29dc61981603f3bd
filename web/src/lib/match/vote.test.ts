import { afterEach, expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { cast, refusal } from './vote';

afterEach(() => vi.unstubAllGlobals());

const call = vi.fn();
const voter = (token: string) => ({ token, call });

it('votes as the owner who is signed in', async () => {
  call.mockResolvedValue({ round: 1, better: 'A', other: 'B' });
  vi.stubGlobal('fetch', () => Promise.reject(new Error('without a token')));
  await cast(voter('secret'), 'm_1', { round: 1, better: 'A', other: 'B' });
  expect(call).toHaveBeenCalledExactlyOnceWith('POST', '/v1/matches/m_1/votes', { round: 1, better: 'A', other: 'B' });
});

it('votes as the browser when nobody is signed in, and says when an account is needed', async () => {
  call.mockRejectedValue(new Error('with a token'));
  const answer = { status: 401, headers: { 'content-type': 'application/problem+json' } };
  const fetched = vi.fn((path: string) => Promise.resolve(new Response(`{"code":"unauthorized","detail":"${path}"}`, answer)));
  vi.stubGlobal('fetch', fetched);
  const cause: unknown = await cast(voter(''), 'm_1', { round: 1, better: 'A' }).catch((e: unknown) => e);
  expect(fetched.mock.calls[0]?.[0]).toBe('/v1/matches/m_1/votes');
  expect(refusal(cause instanceof ApiError ? cause : undefined)).toBe('account');
});
