import type { Moment } from '../api/contract';
import { isolated, percent, points, scoreline } from '../format';
import { t, tn, words } from '../i18n';
import '../i18n/find.en';

// The best moments of a day or season in words (docs/watching.md, "Recap").

/** The sentence of a moment. */
export function momentText(m: Moment): string {
  const [first, second] = m.agents;
  const [name, other] = [isolated(first?.name ?? ''), isolated(second?.name ?? '')];
  const score = scoreline([first?.points ?? 0, second?.points ?? 0], words.language).join('–');
  const inPoints = (n = 0) => tn('match.points', n, { n: points(n, words.language) });
  switch (m.kind) {
    case 'upset':
      return t('find.recap.upset', { name, other, score, chance: percent(m.chance ?? 0, words.language) });
    case 'comeback':
      return t('find.recap.comeback', { name, other, score, points: inPoints(m.behind), round: m.round });
    case 'perfect':
      return t('find.recap.perfect', { name, n: m.rounds });
    case 'last_standing':
      return t('find.recap.last_standing', { name, n: m.seats - 1, rounds: m.rounds });
    case 'close':
      return m.ahead
        ? t('find.recap.close', { name, other, score, points: inPoints(m.ahead) })
        : t('find.recap.close.level', { name, other, score });
  }
}

/** Where a moment is shown: at the end of its round, or the whole match. */
export const momentLink = (m: Moment): string => `/m/${m.match_id}${m.seq ? `?seq=${m.seq}` : ''}`;
