import { call, ApiError } from '$lib/api/client';
import type { components } from '$lib/api/schema';

export type Me = components['schemas']['Me'];

const KEY = 'arena.owner';

// Who is signed in. The token lives in this tab unless the owner wants it
// remembered, and never in an address.
class Session {
  token = $state(stored());
  me = $state.raw<Me>();
  /** The arena no longer takes the token. */
  expired = $state(false);

  /** Keeps a token that the arena knows as an owner's. Throws ApiError. */
  async signIn(token: string, remember: boolean): Promise<void> {
    const me = await whose(token);
    if (me.scope !== 'owner') throw new ApiError(403, 'not_owner', '');
    store(token, remember);
    this.me = me;
    this.expired = false;
    this.token = token;
  }

  signOut(expired = false): void {
    forget();
    this.token = '';
    this.me = undefined;
    this.expired = expired;
  }

  async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
    const token = this.token;
    const init: RequestInit = { method, headers: { authorization: `Bearer ${token}`, ...headers } };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { ...init.headers, 'content-type': 'application/json' };
    }
    try {
      return await call<T>(path, init, signal);
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 401 && token === this.token) this.signOut(true);
      throw cause;
    }
  }
}

const whose = (token: string) => call<Me>('/v1/me', { headers: { authorization: `Bearer ${token}` } });

function stored(): string {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}

function store(token: string, remember: boolean): void {
  forget();
  try {
    (remember ? localStorage : sessionStorage).setItem(KEY, token);
  } catch {
    // No storage: the token lives as long as the page.
  }
}

function forget(): void {
  try {
    sessionStorage.removeItem(KEY);
    localStorage.removeItem(KEY);
  } catch {
    // Nothing was kept.
  }
}

export const session = new Session();
