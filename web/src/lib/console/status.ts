import { statusText as publicStatus } from '$lib/agent/status';
import type { Agent } from '$lib/api/contract';
import { connectionOf } from './connect';
import { t } from '../i18n';
import '../i18n/console.en';

/** The status of an agent for its owner. */
export function statusText(agent: Agent): string {
  if (agent.status === 'pending' && agent.pull && connectionOf(agent) === 'waiting') return t('console.connection.waiting');
  return publicStatus(agent);
}
