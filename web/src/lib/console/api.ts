import { get, post, url } from '$lib/api/client';
import type { Agent, ConformanceReport, List, Loss, Match, Topics } from '$lib/api/contract';
import type { components } from '$lib/api/schema';
import { session } from './session.svelte';

// The API's routes that owners use, one function each.

type Schemas = components['schemas'];
export type Delivery = Schemas['Delivery'];
export type Token = Schemas['Token'];
export type CreatedToken = Schemas['CreatedToken'];
export type NewAgent = Schemas['CreateAgentBody'];
export type AgentChange = Schemas['UpdateAgentBody'];
export type CreatedAgent = Schemas['CreatedAgent'];
export type Key = Schemas['Key'];
/** For how many seconds a replaced token or key stays valid. */
export type Grace = NonNullable<Schemas['RotateBody']['grace_seconds']>;
export type Rehearsal = Schemas['Rehearsal'];

const at = (agentId: string) => `/v1/agents/${encodeURIComponent(agentId)}`;
const entry = (slug: string, agentId: string) => `/v1/leagues/${encodeURIComponent(slug)}/entries/${encodeURIComponent(agentId)}`;

export const signUp = (body: Schemas['SignUpBody']) => post<Schemas['SignedUp']>('/v1/owners', body);
export const me = (signal?: AbortSignal) => session.load(signal);
export const tokens = (signal?: AbortSignal) => session.call<List<Token>>('GET', '/v1/me/tokens', undefined, {}, signal);
export const createToken = (name: string) => session.call<CreatedToken>('POST', '/v1/me/tokens', { name });
export const revokeToken = (tokenId: string) => session.call<void>('DELETE', `/v1/me/tokens/${encodeURIComponent(tokenId)}`);
export const rotateToken = (tokenId: string, grace_seconds: Grace) =>
  session.call<CreatedToken>('POST', `/v1/me/tokens/${encodeURIComponent(tokenId)}/rotate`, { grace_seconds });
/** Saves everything that the arena stores about the owner. */
export const exportMe = () => session.save('/v1/me/export', 'arena-data.zip');
/** Changes the owner's address, or which mails it gets. */
export const updateMe = (body: Schemas['UpdateMeBody']) => session.call<Schemas['Me']>('PATCH', '/v1/me', body);
export const sendConfirmation = () => session.call<void>('POST', '/v1/me/confirmation');
export const confirmEmail = (secret: string) => post<void>('/v1/confirmations', { secret });
/** Asks for a mail with a link that re-issues the token. */
export const requestReset = (email: string) => post<void>('/v1/resets', { email });
export const reset = (secret: string) => post<Schemas['Reset']>('/v1/resets/use', { secret });
export const deleteMe = (confirm: string) => session.call<Schemas['Erasure']>('DELETE', url('/v1/me', { confirm }));

export const agents = (retired: boolean, cursor: string, signal?: AbortSignal) =>
  session.call<List<Agent>>(
    'GET',
    url('/v1/agents', { owner: 'me', limit: 100, retired: retired ? 'true' : undefined, cursor: cursor || undefined }),
    undefined,
    {},
    signal,
  );
export const agent = (agentId: string, signal?: AbortSignal) => session.call<Agent>('GET', at(agentId), undefined, {}, signal);
export const register = (body: NewAgent) => session.call<CreatedAgent>('POST', '/v1/agents', body);
export const change = (agentId: string, body: AgentChange) => session.call<Agent>('PATCH', at(agentId), body);
/** What the agent has used of its budget today. */
export const budget = (agentId: string, signal?: AbortSignal) =>
  session.call<Schemas['BudgetUse']>('GET', `${at(agentId)}/budget`, undefined, {}, signal);
export const act = (agentId: string, what: 'check' | 'pause' | 'resume') => session.call<Agent>('POST', `${at(agentId)}/${what}`);
export const proveKey = (agentId: string, signature: string) => session.call<Agent>('POST', `${at(agentId)}/key`, { signature });
export const retire = (agentId: string) => session.call<void>('DELETE', at(agentId));

/** The keys of an agent that fetches its tasks, oldest first. */
export const keys = (agentId: string, signal?: AbortSignal) => session.call<List<Key>>('GET', `${at(agentId)}/keys`, undefined, {}, signal);
export const createKey = (agentId: string, name: string) => session.call<Schemas['CreatedKey']>('POST', `${at(agentId)}/keys`, { name });
export const revokeKey = (agentId: string, keyId: string) =>
  session.call<void>('DELETE', `${at(agentId)}/keys/${encodeURIComponent(keyId)}`);
export const rotateKey = (agentId: string, keyId: string, grace_seconds: Grace) =>
  session.call<Schemas['CreatedKey']>('POST', `${at(agentId)}/keys/${encodeURIComponent(keyId)}/rotate`, { grace_seconds });

/** A private run with injected faults; without any, one plain round. Answered when it is over, within a minute. */
export const rehearse = (agentId: string, body: Schemas['RehearseBody']) =>
  session.call<Rehearsal>('POST', `${at(agentId)}/rehearse`, body);
/** Runs the conformance kit, within a minute. */
export const fullCheck = (agentId: string) => session.call<Agent>('POST', `${at(agentId)}/check?full=true`);
/** The findings of the last full check, with requests and replies. */
export const findings = (agentId: string, signal?: AbortSignal) =>
  session.call<ConformanceReport>('GET', `${at(agentId)}/conformance`, undefined, {}, signal);

/** What /sdk/ lists of a package. */
export interface SDK {
  language: string;
  install: string[];
}
/** The packages of SDKs that the arena serves, the preferred one of a language first. */
export const sdks = (signal?: AbortSignal) => get<{ artifacts: SDK[] }>('/sdk/', {}, signal);

/** The password travels as a header, in UTF-8 as the bytes of ISO 8859-1. */
export const enter = (slug: string, agentId: string, password: string) =>
  session.call<void>('PUT', entry(slug, agentId), undefined, password ? { 'x-league-password': bytes(password) } : {});
export const withdraw = (slug: string, agentId: string) => session.call<void>('DELETE', entry(slug, agentId));

/** Who may be challenged in a league. */
export const opponents = (league: string, signal?: AbortSignal) =>
  session.call<List<Agent>>('GET', url('/v1/agents', { league, limit: 100 }), undefined, {}, signal);
export const challenge = (body: Schemas['ChallengeBody']) => session.call<Match>('POST', '/v1/challenges', body);

export const bytes = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));

/** Those that spectators do not see yet too. */
export const losses = (agentId: string, limit: number, signal?: AbortSignal) =>
  session.call<List<Loss>>('GET', url(`${at(agentId)}/losses`, { limit }), undefined, {}, signal);
export const topics = (agentId: string, version: string, signal?: AbortSignal) =>
  session.call<Topics>('GET', url(`${at(agentId)}/topics`, { version: version || undefined }), undefined, {}, signal);

export const deliveries = (agentId: string, outcome: string, cursor: string, signal?: AbortSignal) =>
  session.call<List<Delivery>>(
    'GET',
    url(`${at(agentId)}/deliveries`, { outcome: outcome || undefined, cursor: cursor || undefined, limit: 50 }),
    undefined,
    {},
    signal,
  );
