import type { League } from './api/contract';
import { t, tn, tx } from './i18n/index.svelte';

/** A league's rules as sentences. */
export function rulesOf(l: League): string[] {
  const s = l.time_limit_seconds;
  const kind = l.judge.kind;
  return [
    tx(`rules.format.${l.format}`, ''),
    l.rounds === null ? t('rules.rounds.open', { s }) : tn('rules.rounds', l.rounds, { s }),
    l.min_seats === l.max_seats ? t('rules.seats.exact', { n: l.min_seats }) : t('rules.seats', { min: l.min_seats, max: l.max_seats }),
    kind === 'number' && l.judge.tolerance
      ? t('rules.judge.number.tolerance', { tolerance: l.judge.tolerance })
      : tx(`rules.judge.${kind}`, t('rules.judge.other', { kind })),
    l.generator ? t('rules.generator', { name: l.generator.name }) : '',
    t(l.visibility === 'sealed' ? 'rules.sealed' : 'rules.live'),
    t(l.rated ? 'rules.rated' : 'rules.unrated'),
    l.schedule ? t('rules.schedule', { schedule: l.schedule }) : '',
    ...l.rules,
  ].filter(Boolean);
}
