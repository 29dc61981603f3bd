import { call, file, ApiError } from '$lib/api/client';
import type { components } from '$lib/api/schema';

export type Me = components['schemas']['Me'];

// Who is signed in. The token lives in this tab unless its owner wants it
// remembered, and never in an address.
export class Session {
  readonly #scopes: readonly Me['scope'][];
  readonly #key: string;
  token = $state('');
  me = $state.raw<Me>();
  /** The arena no longer takes the token. */
  expired = $state(false);

  constructor(scope: Me['scope'], ...others: Me['scope'][]) {
    this.#scopes = [scope, ...others];
    this.#key = `arena.${scope}`;
    this.token = stored(this.#key);
  }

  /** Keeps a token that the arena knows as one of these scopes. Throws ApiError. */
  async signIn(token: string, remember: boolean): Promise<void> {
    const me = await whose(token);
    if (!this.#scopes.includes(me.scope)) throw new ApiError(403, `not_${this.#scopes[0]}`, '');
    store(this.#key, token, remember);
    this.me = me;
    this.expired = false;
    this.token = token;
  }

  /** Goes on with a token that replaces the present one, remembered as that one was. */
  replace(token: string): void {
    store(this.#key, token, remembered(this.#key));
    this.token = token;
  }

  signOut(expired = false): void {
    forget(this.#key);
    this.token = '';
    this.me = undefined;
    this.expired = expired;
  }

  async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
    const token = this.token;
    const init: RequestInit = { method, headers: { authorization: `Bearer ${token}`, ...headers } };
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
    link.href = URL.createObjectURL(await this.#checked(token, file(path, { headers: { authorization: `Bearer ${token}` } })));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still read it
  }

  /** Signs out when the arena no longer accepts the token. */
  async #checked<T>(token: string, answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (cause) {
      if (cause instanceof ApiError && cause.status === 401 && token === this.token) this.signOut(true);
      throw cause;
    }
  }
}

const whose = (token: string) => call<Me>('/v1/me', { headers: { authorization: `Bearer ${token}` } });

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
