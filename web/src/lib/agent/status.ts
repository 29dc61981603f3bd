import type { Agent } from '$lib/api/contract';
import { countdown } from '$lib/format';
import { t } from '$lib/i18n/index.svelte';

/** The status of an agent, with the reason of its pause. With `now`, in ms, the end of a rate limit is counted down. */
export function statusText({ status, pause }: Pick<Agent, 'status' | 'pause'>, now?: () => number): string {
  if (status !== 'paused' || !pause) return t(`agent.status.${status}`);
  if (pause.reason !== 'rate_limit') return t(`agent.pause.${pause.reason}`);
  const left = now && pause.until ? Date.parse(pause.until) - now() : 0;
  return left > 0 ? t('agent.pause.rate_limit', { time: countdown(left) }) : t('agent.pause.rate_limit.plain');
}
