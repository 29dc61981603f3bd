import type { Agent } from '$lib/api/contract';
import { countdown } from '$lib/format';
import { t, tn } from '$lib/i18n';
import '$lib/i18n/agent.en';

/** The status of an agent, with the reason of its pause. With `now`, in ms, the end of a rate limit is counted down. */
export function statusText({ status, pause }: Pick<Agent, 'status' | 'pause'>, now?: () => number): string {
  if (status !== 'paused' || !pause) return t(`status.${status}`);
  if (pause.reason !== 'rate_limit') return t(`pause.${pause.reason}`);
  const left = now && pause.until ? Date.parse(pause.until) - now() : 0;
  return left > 0 ? t('pause.rate_limit', { time: countdown(left) }) : t('pause.rate_limit.plain');
}

/** Why a match that was won cost rating, by the rounds that were not compared. */
export const fellText = (leftOut: number): string => (leftOut ? tn('agent.fell.left', leftOut) : t('agent.fell.rounds'));
