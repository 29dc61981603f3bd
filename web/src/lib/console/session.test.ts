import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Session } from './session.svelte';

// Without the compiler of Svelte, state is a plain value.
vi.hoisted(() => {
  const plain = (value: unknown) => value;
  Object.assign(globalThis, { $state: Object.assign(plain, { raw: plain }) });
});

const json = (body: unknown, status = 200) => Promise.resolve(new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } }));
const fetched = vi.fn<typeof fetch>();
beforeEach(() => {
  fetched.mockReset().mockImplementation(() => json({ scope: 'owner', owner_id: 'o_1', name: 'Ada' }));
  vi.stubGlobal('fetch', fetched);
});
afterEach(() => void vi.unstubAllGlobals());

describe('Session', () => {
  it('keeps who is signed in when the second try reads it', async () => {
    const session = new Session('owner');
    session.token = 'secret';
    fetched.mockImplementationOnce(() => json({ code: 'internal' }, 500));
    await expect(session.load()).rejects.toMatchObject({ status: 500 });
    expect(session.me).toBeUndefined();
    await session.load();
    expect(session.me).toMatchObject({ name: 'Ada' });
  });

  it('does not keep who has signed out meanwhile', async () => {
    const session = new Session('owner');
    session.token = 'secret';
    const read = session.load();
    session.token = '';
    await read;
    expect(session.me).toBeUndefined();
  });
});
