import { t, tx } from '../i18n';
import '../i18n/admin.en';
import type { AuditEntry } from './api';

// The audit log in sentences. Pure.

/** What entries are about, and the actions of each. */
export const KINDS: Readonly<Record<'leagues' | 'matches' | 'agents' | 'packs' | 'games' | 'people' | 'arena', readonly string[]>> = {
  leagues: [
    ...['create-league', 'update-league', 'delete-league', 'open-league', 'start-league', 'start-now-league', 'pause-league'],
    ...[
      'resume-league',
      'freeze-league',
      'finish-league',
      'archive-league',
      'unarchive-league',
      'enter-league',
      'withdraw-from-league',
      'audit-league',
    ],
    'rescore-league',
  ],
  matches: ['create-match', 'challenge', 'cancel-match', 'void-match', 'rescore-match', 'hide-answer'],
  agents: [
    ...['create-agent', 'update-agent', 'check-agent', 'rehearse', 'pause-agent', 'resume-agent', 'retire-agent', 'prove-key'],
    ...['create-agent-key', 'revoke-agent-key', 'rotate-agent-key'],
  ],
  packs: ['create-pack', 'rename-pack', 'edit-task', 'remove-task', 'correct-task'],
  games: ['create-game'],
  people: [
    ...['sign-up', 'join', 'invite', 'revoke-invitation', 'set-mail', 'create-token', 'revoke-token', 'rotate-token', 'reset-token'],
    ...['supersede-token', 'create-admin-token', 'revoke-admin-token', 'end-session', 'set-role', 'remove-role', 'suspend-owner'],
    ...['restore-owner', 'export-owner', 'delete-owner', 'reapply-erasure'],
  ],
  arena: ['set-banner', 'drain-node', 'verify-ratings', 'rebuild-ratings'],
};

export interface Part {
  readonly text: string;
  /** Whom or what a filter can select by this part. */ readonly actor?: string;
  readonly find?: string;
}

/** The entry as a sentence, in parts: what it names by an id has the name of today. */
export function sentence(e: AuditEntry): readonly Part[] {
  const name = (id: string) => e.names?.[id] ?? id;
  const other = otherOf(e.after) ?? otherOf(e.before);
  const parts: Record<string, Part> = {
    actor: { text: name(e.actor), actor: e.actor },
    action: { text: e.action },
    target: { text: e.target ? name(e.target) : '', ...(e.target ? { find: e.target } : {}) },
    other: other ? { text: name(other), find: other } : { text: t('admin.audit.agent') },
  };
  return tx(`admin.act.${e.action}`, t('admin.audit.other'))
    .split(/(\{\w+\})/)
    .map((text) => parts[text.slice(1, -1)] ?? { text });
}

/** The agent that an entry about a league, a key or an answer names beside its target. */
function otherOf(side: unknown): string | undefined {
  const id = typeof side === 'object' && side !== null ? (side as { agent_id?: unknown }).agent_id : side;
  return typeof id === 'string' && id.startsWith('ag_') ? id : undefined;
}
