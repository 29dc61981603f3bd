import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Session } from './session.svelte';

const json = (body: unknown, status = 200) =>
  Promise.resolve(new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } }));
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

  it('stays signed in until the session of the browser has ended', async () => {
    const session = new Session('owner');
    fetched.mockImplementationOnce(() => json({ session: true }));
    await session.resume();
    fetched.mockImplementationOnce(() => json({ code: 'unavailable' }, 503));
    await expect(session.signOut()).rejects.toMatchObject({ status: 503 });
    expect([session.token, session.me?.name, session.ways?.session]).toEqual(['cookie', 'Ada', true]);
    fetched.mockImplementationOnce(() => Promise.resolve(new Response(null, { status: 204 })));
    await session.signOut();
    expect(fetched).toHaveBeenLastCalledWith('/v1/me/session', expect.objectContaining({ method: 'DELETE' }));
    expect([session.token, session.me, session.ways?.session]).toEqual(['', undefined, false]);
  });

  it('signs out when the session of the browser is over already', async () => {
    const session = new Session('owner');
    fetched.mockImplementationOnce(() => json({ session: true }));
    await session.resume();
    fetched.mockImplementationOnce(() => json({ code: 'unauthorized' }, 401));
    await session.signOut();
    expect(session.token).toBe('');
  });

  it('asks the arena for nothing to forget a token', async () => {
    const session = new Session('owner');
    session.token = 'secret';
    await session.signOut();
    expect([session.token, fetched.mock.calls]).toEqual(['', []]);
  });
});
