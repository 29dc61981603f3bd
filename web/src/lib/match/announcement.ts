import { moveText } from '../game/moves';
import { t } from '../i18n';
import { lastRound, ranking, type MatchState } from './state';

/** The text for screen readers: one sentence per round, and the result. */
export function announcementOf(match: MatchState): string {
  if (match.status === 'finished') {
    const first = ranking(match).filter((s) => s.place === 1);
    return first.length === 1 ? t('match.wins', { name: first[0]?.name ?? '' }) : t('match.draw');
  }
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
  if (!last.closedAt) return t('match.announce.round', { n: last.no, task: last.debate?.motion ?? last.task.description });
  return last.correct
    ? t('match.announce.closed', { n: last.no, correct: last.correct })
    : t('match.announce.closed.plain', { n: last.no });
}
