import { url } from '$lib/api/client';
import type { Agent, League, LeagueAudit, List, Match, MatchStatus } from '$lib/api/contract';
import type { components } from '$lib/api/schema';
import { bytes } from '$lib/console/api';
import { admin } from './session';

// The API's routes that admins use, one function each.

type Schemas = components['schemas'];
export type Status = Schemas['Status'];
export type Node = Schemas['Node'];
export type AuditEntry = Schemas['Audit'];
export type Banner = Schemas['Banner'];
export type Pack = Schemas['Pack'];
export type CreatedPack = Schemas['CreatedPack'];
export type PackReport = Schemas['PackReport'];
export type LeagueBody = Schemas['LeagueBody'];
export type Calendar = Schemas['Calendar'];
export type AdminToken = Schemas['AdminToken'];
export type AdminTokenBody = Schemas['CreateAdminTokenBody'];
export type Scope = AdminTokenBody['scope'];
export type Owner = Schemas['OwnerSummary'];
export type OwnerStatus = Owner['status'];
export type Move = 'open' | 'start' | 'start-now' | 'pause' | 'resume' | 'freeze' | 'finish' | 'archive' | 'unarchive';

const id = encodeURIComponent;
const get = <T>(path: string, signal?: AbortSignal) => admin.call<T>('GET', path, undefined, {}, signal);

export const me = (signal?: AbortSignal) => admin.load(signal);
export const status = (signal?: AbortSignal) => get<Status>('/v1/admin/status', signal);
export interface AuditQuery {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly find?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly cursor?: string | undefined;
}
export const audit = (query: AuditQuery, signal?: AbortSignal) =>
  get<List<AuditEntry>>(url('/v1/admin/audit', { ...query, limit: 50 }), signal);
export const setBanner = (text: string) => admin.call<Banner>('POST', '/v1/admin/banner', { text });
export const drain = () => admin.call<{ node: string }>('POST', '/v1/admin/drain');

/** With the admin's eyes: a frozen table is not hidden. */
export const leagues = (signal?: AbortSignal, archived = false) =>
  get<List<League>>(url('/v1/leagues', { archived: archived ? 'true' : undefined }), signal);
export const league = (slug: string, signal?: AbortSignal) => get<League>(`/v1/leagues/${id(slug)}`, signal);
export const updateLeague = (slug: string, body: Schemas['UpdateLeagueBody']) =>
  admin.call<League>('PATCH', `/v1/leagues/${id(slug)}`, body);
export const deleteLeague = (slug: string) => admin.call<void>('DELETE', `/v1/leagues/${id(slug)}`);
export type Entry = Schemas['Entry'];
/** Enters agents, with a result for each. Passwords may hold any letter, headers only bytes. */
export const enter = (slug: string, agents: readonly string[], password: string) =>
  admin.call<{ items: Entry[] }>(
    'POST',
    `/v1/leagues/${id(slug)}/entries`,
    { agents },
    password ? { 'x-league-password': bytes(password) } : {},
  );
export const withdraw = (slug: string, agentId: string) => admin.call<void>('DELETE', `/v1/leagues/${id(slug)}/entries/${id(agentId)}`);
export const createLeague = (body: LeagueBody) => admin.call<League>('POST', '/v1/leagues', body);
/** Have cheats play on a copy of a league; it takes a while. */
export const auditLeague = (slug: string) => admin.call<LeagueAudit>('POST', `/v1/leagues/${id(slug)}/audit`);
export const move = (slug: string, what: Move) => admin.call<League>('POST', `/v1/leagues/${id(slug)}/${what}`);

/** A month such as 2026-11; the present one when empty. */
export const calendar = (month: string, signal?: AbortSignal) =>
  get<Calendar>(url('/v1/admin/calendar', { month: month || undefined }), signal);

export const packs = (cursor: string, signal?: AbortSignal) =>
  get<List<Pack>>(url('/v1/packs', { cursor: cursor || undefined, limit: 100 }), signal);
export const pack = (packId: string, signal?: AbortSignal) => get<Pack>(`/v1/packs/${id(packId)}`, signal);
export type PackTask = Schemas['PackTask'];
export const packTasks = (packId: string, cursor: string, signal?: AbortSignal) =>
  get<List<PackTask>>(url(`/v1/packs/${id(packId)}/tasks`, { cursor: cursor || undefined, limit: 50 }), signal);
export const renamePack = (packId: string, name: string) => admin.call<Pack>('PATCH', `/v1/packs/${id(packId)}`, { name });
export const editTask = (packId: string, n: number, body: Schemas['EditTaskInputBody']) =>
  admin.call<PackTask>('PATCH', `/v1/packs/${id(packId)}/tasks/${n}`, body);
export const removeTask = (packId: string, n: number) => admin.call<Schemas['TaskRemoval']>('DELETE', `/v1/packs/${id(packId)}/tasks/${n}`);
/** What judging played rounds by the corrected answer of a question changes; a preview changes nothing. */
export const correctTask = (packId: string, n: number, preview: boolean) =>
  admin.call<Schemas['TaskCorrection']>(
    'POST',
    url(`/v1/packs/${id(packId)}/tasks/${n}/correct`, { preview: preview ? 'true' : undefined }),
  );
const fileForm = (file: File) => {
  const form = new FormData();
  form.append('file', file);
  return form;
};
/** What an import would find in a file. An empty map leaves the choice to the server. */
export const checkPack = (file: File, format: string, map: string) =>
  admin.call<PackReport>('POST', url('/v1/packs/check', { format, map: map || undefined }), fileForm(file));
export const upload = (file: File, format: string, map: string, name: string, skipBad: boolean) =>
  admin.call<CreatedPack>(
    'POST',
    url('/v1/packs', { format, map: map || undefined, name: name || undefined, skip_bad: skipBad ? 'true' : undefined }),
    fileForm(file),
  );

export type GameVersion = Schemas['GameVersion'];
export const games = (signal?: AbortSignal) => get<List<Schemas['Game']>>('/v1/games', signal);
/** Plays random games of a file and stores it. */
export const addGame = (file: File) => admin.call<GameVersion>('POST', '/v1/games', fileForm(file));

export const matches = (statuses: readonly MatchStatus[], league: string, signal?: AbortSignal) =>
  get<List<Match>>(url('/v1/matches', { status: statuses.join(','), league: league || undefined, limit: 50 }), signal);
export const schedule = (body: Schemas['CreateMatchBody']) => admin.call<Match>('POST', '/v1/matches', body);
export const end = (matchId: string, how: 'cancel' | 'void', reason: string) =>
  admin.call<Match>('POST', `/v1/matches/${id(matchId)}/${how}`, reason ? { reason } : {});

/** Whether the caller may hide answers. */
export const moderates = async (): Promise<boolean> => {
  if (!admin.token) return false;
  const { scope } = admin.me ?? (await me());
  return scope === 'admin' || scope === 'moderator';
};
export const hideAnswer = (matchId: string, round: number, agentId: string, reason: string) =>
  admin.call<void>('POST', `/v1/matches/${id(matchId)}/rounds/${round}/answers/${id(agentId)}/hide`, { reason });

export const rescore = (matchId: string) => admin.call<Schemas['RescoreReport']>('POST', `/v1/matches/${id(matchId)}/rescore`);

export const agents = (query: string, league: string, cursor: string, signal?: AbortSignal) =>
  get<List<Agent>>(
    url('/v1/agents', { q: query || undefined, league: league || undefined, cursor: cursor || undefined, limit: 50 }),
    signal,
  );
export const act = (agentId: string, what: 'pause' | 'resume' | 'check') => admin.call<Agent>('POST', `/v1/agents/${id(agentId)}/${what}`);

export const tokens = (signal?: AbortSignal) => get<List<AdminToken>>('/v1/admin/tokens', signal);
export const createToken = (body: AdminTokenBody) => admin.call<Schemas['CreatedAdminToken']>('POST', '/v1/admin/tokens', body);
export const revokeToken = (tokenId: string) => admin.call<void>('DELETE', `/v1/admin/tokens/${id(tokenId)}`);

export type Person = Schemas['Person'];
export type Invitation = Schemas['Invitation'];
export const people = (signal?: AbortSignal) => get<List<Person>>('/v1/admin/people', signal);
export const setRole = (ownerId: string, body: Schemas['SetRoleBody']) =>
  admin.call<Person>('PUT', `/v1/admin/people/${id(ownerId)}`, body);
export const removeRole = (ownerId: string) => admin.call<void>('DELETE', `/v1/admin/people/${id(ownerId)}`);
export const invitations = (signal?: AbortSignal) => get<List<Invitation>>('/v1/admin/invitations', signal);
export const invite = (body: Schemas['InviteBody']) => admin.call<Invitation>('POST', '/v1/admin/invitations', body);
export const revokeInvitation = (invitationId: string) => admin.call<void>('DELETE', `/v1/admin/invitations/${id(invitationId)}`);

export const owners = (query: string, status: OwnerStatus | '', cursor: string, signal?: AbortSignal) =>
  get<List<Owner>>(
    url('/v1/admin/owners', { q: query || undefined, status: status || undefined, cursor: cursor || undefined, limit: 50 }),
    signal,
  );
export const owner = (ownerId: string, signal?: AbortSignal) => get<Schemas['OwnerDetail']>(`/v1/admin/owners/${id(ownerId)}`, signal);
export const suspend = (ownerId: string, reason: string) =>
  admin.call<Schemas['Owner']>('POST', `/v1/admin/owners/${id(ownerId)}/suspend`, { reason });
export const exportOwner = (ownerId: string) => admin.save(`/v1/admin/owners/${id(ownerId)}/export`, `${ownerId}.zip`);
export const deleteOwner = (ownerId: string, confirm: string) =>
  admin.call<Schemas['Erasure']>('DELETE', url(`/v1/admin/owners/${id(ownerId)}`, { confirm }));
export const restore = (ownerId: string) => admin.call<Schemas['Owner']>('POST', `/v1/admin/owners/${id(ownerId)}/restore`);
export const reissue = (ownerId: string) => admin.call<Schemas['ReissuedToken']>('POST', `/v1/admin/owners/${id(ownerId)}/tokens`);
