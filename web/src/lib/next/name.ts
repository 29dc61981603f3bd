import type { Match } from '../api/contract';
import { t } from '../i18n';
import '../i18n/next.en';

/** A match in a few words: its two agents, or its league and how many play. */
export function nameOf(m: Match, league = m.league): string {
  const [a, b] = m.seats;
  return a && b && m.seats.length === 2 ? t('next.name', { a: a.name, b: b.name }) : t('next.many', { league, n: m.seats.length });
}
