import { call, file, ApiError } from '$lib/api/client';
import type { components } from '$lib/api/schema';

export type Me = components['schemas']['Me'];
export type Ways = components['schemas']['SignIn'];

/** In place of a token: the browser has the cookie of a session, which no script can read. */
const COOKIE = 'cookie';
const bearer = (token: string): Record<string, string> => (token === COOKIE ? {} : { authorization: `Bearer ${token}` });

// Who is signed in. The token lives in this tab unless its owner wants it
// remembered, and never in an address.
export class Session {
  readonly #scopes: readonly Me['scope'][];
  readonly #key: string;
  token = $state('');
  me = $state.raw<Me>();
  /** The arena no longer takes the token. */
  expired = $state(false);
  /** How people sign in with a browser; undefined until it is known. */
  ways = $state.raw<Ways>();
  /** Whoever is signed in with the browser, and may not do what is done here. */
  without = $state.raw<Me>();

  constructor(scope: Me['scope'], ...others: Me['scope'][]) {
    this.#scopes = [scope, ...others];
    this.#key = `arena.${scope}`;
    this.token = stored(this.#key);
  }

  /** Keeps a token that the arena knows as one of these scopes. Throws ApiError. */
  async signIn(token: string, remember: boolean): Promise<void> {
    const me = this.#as(await whose(token));
    if (!me) throw new ApiError(403, `not_${this.#scopes[0]}`, '');
    store(this.#key, token, remember);
    this.me = me;
    this.expired = false;
    this.token = token;
  }

  /** Learns how to sign in, and goes on with the browser's session if there is one. */
  async resume(): Promise<void> {
    this.ways = await call<Ways>('/v1/signin', {});
    if (this.token || !this.ways.session) return;
    const found = await whose(COOKIE);
    const me = this.#as(found);
    this.without = me ? undefined : found;
    if (!me) return;
    this.me = me;
    this.expired = false;
    this.token = COOKIE;
  }

  /** Signs out. Throws ApiError when the arena has not ended the browser's session: whoever is signed in still is. */
  async signOut(): Promise<void> {
    if (this.token === COOKIE || (!this.token && this.without)) await this.#leave();
    this.clear();
  }

  /** Ends the browser's session, if it is not over. */
  async #leave(): Promise<void> {
    await call('/v1/me/session', { method: 'DELETE' }).catch((cause: unknown) => {
      if (!(cause instanceof ApiError && cause.status === 401)) throw cause;
    });
    this.without = undefined;
    if (this.ways) this.ways = { ...this.ways, session: false };
  }

  /** Reads who is signed in, and keeps it. */
  async load(signal?: AbortSignal): Promise<Me> {
    const token = this.token;
    const found = await this.call<Me>('GET', '/v1/me', undefined, {}, signal);
    const me = this.#as(found) ?? found;
    if (token === this.token) this.me = me;
    return me;
  }

  /** A person as one of the scopes that count here: an owner who has a role has that, too. */
  #as(me: Me): Me | undefined {
    const scope = [me.role, me.scope].find((s) => s && this.#scopes.includes(s));
    return scope && { ...me, scope };
  }

  /** Goes on with a token that replaces the present one, remembered as that one was. */
  replace(token: string): void {
    store(this.#key, token, remembered(this.#key));
    this.token = token;
  }

  /** Forgets whoever is signed in, whose token or session is over. */
  clear(expired = false): void {
    forget(this.#key);
    this.token = '';
    this.me = undefined;
    this.expired = expired;
  }

  async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
    const token = this.token;
    const init: RequestInit = { method, headers: { ...bearer(token), ...headers } };
    if (body instanceof FormData) init.body = body;
    else if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { ...init.headers, 'content-type': 'application/json' };
    }
    return this.#checked(token, call<T>(path, init, signal));
  }

  /** Reads a file and hands it to the browser to save. */
  async save(path: string, name: string): Promise<void> {
    const token = this.token;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await this.#checked(token, file(path, { headers: bearer(token) })));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still read it
  }

  /** Signs out when the arena no longer accepts the token. */
  async #checked<T>(token: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 401 && token === this.token) this.clear(true);
      throw cause;
    }
  }
}

const whose = (token: string) => call<Me>('/v1/me', { headers: bearer(token) });

function stored(key: string): string {
  try {
    return sessionStorage.getItem(key) ?? localStorage.getItem(key) ?? '';
  } catch {
    return '';
  }
}

function remembered(key: string): boolean {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

function store(key: string, token: string, remember: boolean): void {
  forget(key);
  try {
    (remember ? localStorage : sessionStorage).setItem(key, token);
  } catch {
    // No storage: the token lives as long as the page.
  }
}

function forget(key: string): void {
  try {
    sessionStorage.removeItem(key);
    localStorage.removeItem(key);
  } catch {
    // Nothing was kept.
  }
}

export const session = new Session('owner');
