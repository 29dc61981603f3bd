import { moveText } from '../game/moves';
import { t } from '../i18n';
import { resultText } from './result';
import { lastRound, type MatchState } from './state';

/** The text for screen readers, which changes once per round: what the last one gave and what is asked now, and at the end the result. */
export function announcementOf(match: MatchState): string {
  if (match.status === 'finished') return resultText(match);
  const last = lastRound(match);
  if (!last) return '';
  const moved = match.rounds.findLast((r) => r.turn?.closed);
  if (moved?.turn) {
    const { game, turn } = moved.turn.opened.place;
    const moves = moved.turn.moves
      .map((x) => `${match.seats[x.agent_id]?.name ?? ''} ${moveText(x.move, moved.turn) || t('state.none')}`)
      .join(', ');
    return t('match.announce.move', { game, n: turn, moves });
  }
  if (last.turn) return '';
  const before = match.rounds.at(-2);
  const closed = !before
    ? ''
    : before.correct
      ? t('match.announce.closed', { n: before.no, correct: before.correct })
      : t('match.announce.closed.plain', { n: before.no });
  return `${closed} ${t('match.announce.round', { n: last.no, task: last.debate?.motion ?? last.task.description })}`.trim();
}
