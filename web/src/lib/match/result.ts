import { points, scoreline } from '../format';
import { t, tn, words } from '../i18n';
import { shownName } from '../notices';
import { ranking, type MatchState } from './state';

/** Who won a match and by how much, in a few words. */
export function resultText(match: MatchState): string {
  if (match.status === 'void') return t('match.void.title');
  if (match.status === 'cancelled') return t('match.cancelled.title');
  const [first, second] = ranking(match);
  const name = shownName(first?.name ?? '');
  const duel = match.order.length === 2;
  if (!first || !second) return t('match.wins', { name });
  const score = scoreline([first.points, second.points], words.language).join('–');
  if (second.place === 1) return duel ? t('match.draw', { score }) : t('match.draw.many');
  if (match.format === 'elimination' && match.order.every((id) => id === first.id || match.seats[id]?.state !== 'active'))
    return t('match.wins.last', { name, n: match.order.length - 1 });
  const lead = first.points - second.points;
  if (lead <= 0) return t('match.wins.level', { name });
  return duel ? t('match.wins.score', { name, score }) : tn('match.wins.lead', lead, { name, n: points(lead, words.language) });
}
