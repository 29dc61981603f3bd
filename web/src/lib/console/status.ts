import type { Agent } from '$lib/api/contract';
import { t } from '$lib/i18n/index.svelte';
import { connectionOf } from './connect';
import { tc } from './words';

/** The status of an agent for its owner. */
export function statusText(agent: Agent): string {
  const { status, pause, pull } = agent;
  if (status === 'pending' && pull && connectionOf(agent) === 'waiting') return tc('connection.waiting');
  if (status !== 'paused' || !pause) return t(`agent.status.${status}`);
  return pause.reason === 'rate_limit' ? t('agent.pause.rate_limit.plain') : t(`agent.pause.${pause.reason}`);
}
