import { t, tx } from '../i18n';
import type { Outcome } from '../api/contract';
import { isOver, verdict, type Lane, type MatchState, type Round } from './state';

// The state that a seat's view shows, and its label.

export type ViewState = 'idle' | 'thinking' | 'tool' | 'answered' | 'sealed' | 'right' | 'partial' | 'wrong' | 'none' | 'out' | 'left';

export function viewStateOf(match: MatchState, round: Round | undefined, lane: Lane | undefined, id: string): ViewState {
  const seat = match.seats[id];
  if (!round || !lane) return seat && seat.state !== 'active' ? seat.state : 'idle';
  const judged = verdict(round, lane);
  if (judged === 'said') return 'answered';
  if (judged) return judged === 'none' && lane.outcome === 'unavailable' ? 'left' : judged;
  if (lane.phase === 'answered') return lane.answer ? 'answered' : 'sealed';
  if (isOver(match) && lane.phase !== 'failed') return 'none'; // the match ended in the middle of the round
  return lane.phase === 'failed' ? (lane.outcome === 'unavailable' ? 'left' : 'none') : lane.phase;
}

/** Where judges were asked nobody is right or wrong: one answer was the better one. */
export const viewStateText = (viewState: ViewState, round?: Round): string =>
  round?.debate || round?.ballots.length
    ? tx(`state.asked.${viewState}`, tx(`state.${viewState}`, viewState))
    : tx(`state.${viewState}`, viewState);

/** Why a seat has no answer, in words. */
export function cause(outcome: Outcome, reason?: string, limitSeconds?: number): string {
  const status = /^status_(\d{3})$/.exec(reason ?? '')?.[1];
  if (outcome === 'invalid' && status) return t('reason.status', { status });
  if (outcome === 'invalid' && reason) return tx(`reason.${reason}`, t('outcome.invalid'));
  if (outcome === 'timeout') return limitSeconds ? t('outcome.timeout', { limit: limitSeconds }) : t('outcome.timeout.plain');
  return tx(`outcome.${outcome}`, outcome);
}

/** The counts of a closed round with more than two seats, for the timeline. */
export function mix(round: Round): { right: number; wrong: number; none: number; said: number } {
  const counts = { right: 0, wrong: 0, none: 0, said: 0 };
  for (const lane of Object.values(round.lanes)) {
    const judged = verdict(round, lane) ?? 'none';
    counts[judged === 'partial' ? 'right' : judged]++;
  }
  return counts;
}
