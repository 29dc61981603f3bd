import { createHash } from 'node:crypto';

import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import type { CryptoKey, FlattenedJWSInput, JWSHeaderParameters, JWTPayload } from 'jose';

import type { FullConfig } from './config.js';

/**
 * What the arena's token says of a task (AAP, "Authentication", and the arena's additions). The token of a whole match has
 * neither round nor body hash.
 */
export interface Claims {
  /** jti, "" when it has none */
  id: string;
  agentId: string;
  matchId: string;
  /** 0: the token serves the whole match */
  round: number;
  /** base64url SHA-256 of the request's body; "": the token serves the whole match */
  bodyHash: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** Whether the token serves a whole match. */
export const isOfMatch = (c: Claims): boolean => c.bodyHash === '';

/** The token is not one of this arena, for this agent and this body. */
export class Unauthorized extends Error {
  override name = 'Unauthorized';
}

/** The arena's keys could not be read. */
export class NoKeys extends Error {
  override name = 'NoKeys';
}

const taskTyp = 'aap-task+jwt'; // the arena signs no other kind of token with it
const algorithms = ['ES256', 'EdDSA', 'RS256']; // and then the published key's own alone
const keysFresh = 5 * 60_000; // as long as the arena lets its keys be cached
const keysTimeout = 5000;
const looksAtOnce = 4; // for unknown kids, one after the other
const looksPause = 5000; // until there may be one more
const maxKeySet = 64 << 10;
const maxToken = 8 << 10;

/** Checks task tokens against the arena's published keys. */
export class Verifier {
  agentId: string;
  readonly #config: FullConfig;
  #timer: NodeJS.Timeout | undefined;
  readonly #keys: ReturnType<typeof createRemoteJWKSet>;
  #look: Promise<void> | undefined; // under way
  #looks = looksAtOnce;
  #filled = performance.now();

  constructor(config: FullConfig) {
    this.#config = config;
    this.agentId = config.agentId;
    this.#keys = createRemoteJWKSet(new URL(config.arena + '/.well-known/jwks.json'), {
      cacheMaxAge: Infinity, // read again in the background, so that no task waits for it
      cooldownDuration: Infinity, // unknown kids are the business of #key
      timeoutDuration: keysTimeout,
      [customFetch]: cappedFetch,
    });
  }

  /** Reads the keys now, so that the first task need not wait for them, and again every five minutes until `end`. */
  load(): void {
    const read = (): void => {
      this.#keys.reload().catch((error: unknown) => this.#config.logger.warn(`arena keys not read: ${String(error)}`));
    };
    read();
    this.#timer = setInterval(read, keysFresh);
    this.#timer.unref();
  }

  end(): void {
    clearInterval(this.#timer);
  }

  /** Checks everything about a token but its fit to the task. It throws `NoKeys` or `Unauthorized`. */
  async verify(token: string, body: Buffer): Promise<Claims> {
    try {
      if (token.length > maxToken || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) throw new Unauthorized('not a token');
      checkHeader(token);
      const { payload } = await jwtVerify(token, (header, parts) => this.#key(token, header, parts), {
        algorithms,
        issuer: this.#config.issuer,
        requiredClaims: ['exp', 'iat'],
        clockTolerance: this.#config.leewayMs / 1000,
        currentDate: new Date(this.#config.now()),
      });
      return this.#check(payload, body);
    } catch (cause) {
      if (cause instanceof Unauthorized) throw cause;
      if (this.#keys.jwks() === undefined) throw new NoKeys("the arena's keys could not be read", { cause });
      throw new Unauthorized('not a token of this arena for this task', { cause });
    }
  }

  /**
   * The key that a token names. For an unknown one the arena is asked at once, and at a bounded rate; one asks, the others
   * wait and find what it brought.
   */
  async #key(token: string, header: JWSHeaderParameters, parts: FlattenedJWSInput): Promise<CryptoKey> {
    const own = decodeJwt(token).iss === this.#config.issuer; // before the arena is asked for its key
    const known = this.#keys.jwks()?.keys.some((k) => k.kid === header.kid);
    if (own && known === false && (this.#look !== undefined || this.#take())) {
      this.#look ??= this.#keys.reload().finally(() => (this.#look = undefined));
      await this.#look;
    }
    return this.#keys(header, parts);
  }

  /** Takes one of the looks for an unknown kid, if there is one. */
  #take(): boolean {
    const now = performance.now();
    this.#looks = Math.min(looksAtOnce, this.#looks + (now - this.#filled) / looksPause);
    this.#filled = now;
    if (this.#looks < 1) return false;
    this.#looks--;
    return true;
  }

  /** Checks claims that JWT libraries ignore. */
  #check(c: JWTPayload, body: Buffer): Claims {
    const agent = c['agent_id'];
    const audience = Array.isArray(c.aud) ? c.aud : [c.aud];
    const need = (holds: boolean, otherwise: string): void => {
      if (!holds) throw new Unauthorized(otherwise);
    };
    need(typeof c.iat === 'number' && c.iat * 1000 <= this.#config.now() + this.#config.leewayMs, 'iat is missing or in the future');
    need(typeof agent === 'string' && agent !== '' && c.sub === agent, 'agent_id and sub are not one agent');
    need(audience.length === 1 && audience[0] === agent, 'aud is not the agent');
    need(this.agentId !== '' || this.#config.anyAgent, 'the id of this agent is not known: set agentId or anyAgent');
    need(this.agentId === '' || agent === this.agentId, 'the token is for another agent');
    need(c['expires_at'] === c.exp, 'exp and expires_at differ');
    const ofMatch = !('round' in c) && !('bh' in c);
    need(ofMatch || c['bh'] === createHash('sha256').update(body).digest('base64url'), 'the token is for another body');
    need(typeof c['match_id'] === 'string' && (ofMatch || Number.isInteger(c['round'])), 'match_id or round is missing');
    return {
      id: c.jti ?? '',
      agentId: agent as string,
      matchId: c['match_id'] as string,
      round: ofMatch ? 0 : (c['round'] as number),
      bodyHash: ofMatch ? '' : (c['bh'] as string),
      issuedAt: new Date(c.iat! * 1000),
      expiresAt: new Date(c.exp! * 1000),
    };
  }
}

/**
 * Keys that a token brings along are never used, an unsupported demand is a refusal, and a token without a kid
 * would be tried with every key.
 */
function checkHeader(token: string): void {
  const header = decodeProtectedHeader(token);
  for (const name of ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64']) {
    if (name in header) throw new Unauthorized(`header ${name} is not allowed`);
  }
  if (header.typ !== taskTyp) throw new Unauthorized('another kind of token');
  if (typeof header.kid !== 'string' || header.kid === '') throw new Unauthorized('no kid');
}

/** Bounds what is read as a key set, and follows no redirect. */
async function cappedFetch(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'error' });
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    if ((size += part.length) > maxKeySet) throw new Error('the key set is too large');
    parts.push(part);
  }
  return new Response(Buffer.concat(parts), { status: response.status, headers: response.headers });
}
