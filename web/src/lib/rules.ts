import type { League } from './api/contract';
import { defaults } from './catalog';
import { countdown, elo } from './format';
import { cronWords, inZone, offsetAt, readerZone } from './find/cron';
import { gameOf } from './games';
import { t, tn, tx } from './i18n';
import { shownAs } from './match/state';

/** A league's rules as sentences. */
export function rulesOf(l: League): string[] {
  return [
    tx(`rules.format.${l.format}`, ''),
    ...optionsOf(l),
    ...(l.game
      ? gameRules(l)
      : l.debate
        ? [t('rules.debate'), tn('rules.debate.turns', l.debate.turns, { s: l.time_limit_seconds }), judgeOf(l)]
        : [...roundsOf(l), judgeOf(l)]),
    l.score_mode === 'rounds' ? t('rules.score.rounds') : '',
    l.judge.criteria ? t('rules.criteria', { text: l.judge.criteria }) : '',
    l.generator ? t('rules.generator', { name: l.generator.name.replaceAll('_', ' ') }) : '',
    l.generator?.harder_every ? tn('rules.harder', l.generator.harder_every) : '',
    shownOf(l),
    t(l.rated ? 'rules.rated' : 'rules.unrated'),
    tokensOf(l),
    l.max_cost_usd ? t('rules.cost', { n: l.max_cost_usd }) : '',
    l.canary ? t('rules.canary', { n: l.canary }) : '',
    scheduleOf(l),
    ...paceOf(l),
    ...entryOf(l),
    ...l.rules,
  ].filter(Boolean);
}

/** What tells a league from others of its format, in two sentences. */
export const summaryOf = (l: League): string =>
  [
    tx(`rules.format.${l.format}`, ''),
    l.game
      ? `${gameFacts(l)}.`
      : l.debate
        ? t('rules.debate')
        : l.generator
          ? t('rules.generator', { name: l.generator.name.replaceAll('_', ' ') })
          : judgeOf(l),
  ]
    .filter(Boolean)
    .join(' ');

function scheduleOf(l: League): string {
  if (!l.schedule) return '';
  const { zone, cron } = inZone(l.schedule);
  const when = cronWords(l.schedule, offsetAt(l.next_run_at ? new Date(l.next_run_at) : new Date()), readerZone());
  return tx(`rules.schedule.${l.format_options?.schedule_starts || 'plain'}`, '', { when: when ?? t('rules.custom', { cron, zone }) });
}

/** How often the league calls each agent. */
function paceOf({ pace }: League): string[] {
  if (!pace) return [];
  return [
    pace.matches_per_day ? tn('rules.pace.day', pace.matches_per_day) : '',
    pace.pause_seconds ? t('rules.pace.pause', { n: Number((pace.pause_seconds / 60).toFixed(1)) }) : '',
    pace.unrated_filler ? t('rules.pace.filler') : '',
  ];
}

function tokensOf({ max_tokens: n, max_tokens_policy: policy, game }: League): string {
  if (!n) return '';
  if (policy === 'zero_points') return t(game ? 'rules.game.tokens' : 'rules.tokens.zero', { n });
  return n === defaults.max_tokens ? '' : t('rules.tokens', { n });
}

function shownOf(l: League): string {
  const { shown, delayMs } = shownAs(l.visibility);
  const s = delayMs / 1000;
  if (!l.game || shown === 'live') return t(`rules.${shown}`, { s });
  return shown === 'sealed' ? t('rules.game.sealed') : t(l.game.hidden ? 'rules.game.delayed.hidden' : 'rules.game.delayed', { s });
}

/** What tells a match of a game from one of questions. */
function gameRules(l: League): string[] {
  const g = gameOf(l);
  if (!g) return [];
  const game = gameTitle(g.name);
  const options = Object.entries(g.options).map(([name, n]) => `${name.replaceAll('_', ' ')} ${n}`);
  return [
    g.games === 1 ? t('rules.game.single', { game }) : t('rules.game.series', { game, n: g.games }),
    options.length ? t('rules.game.options', { list: options.join(', ') }) : '',
    g.duplicate ? t('rules.game.duplicate') : '',
    t('rules.game.limit', { s: l.time_limit_seconds }),
    g.bank ? t('rules.game.bank', { s: g.bank }) : '',
    t(g.showLegal ? 'rules.game.legal' : 'rules.game.legal.none'),
    t('rules.game.illegal'),
    l.max_seats > 2 ? t('rules.seats', { min: l.min_seats, max: l.max_seats }) : '',
  ];
}

function optionsOf(l: League): string[] {
  const o = l.format_options;
  if (!o) return [];
  return [
    o.double ? t('rules.double') : '',
    o.rounds ? tn('rules.swiss.rounds', o.rounds) : '',
    o.best_of && o.best_of > 1 ? t(l.game ? 'rules.game.best_of' : 'rules.best_of', { n: o.best_of }) : '',
    o.champion ? t('rules.champion', { id: o.champion }) : '',
    o.duration_seconds ? t('rules.duration', { time: countdown(o.duration_seconds * 1000) }) : '',
    o.faster_seconds ? t('rules.faster', { s: o.faster_seconds, least: leastOf(l.time_limit_seconds) }) : '',
    o.forfeit_seconds ? t('rules.forfeit', { s: o.forfeit_seconds }) : '',
  ];
}

/** The least seconds of a round that gets faster (docs/leagues.md). */
const leastOf = (limit: number): number => Math.min(limit, Math.max(Math.round(1000 * (limit / 3)) / 1000, 2));

function roundsOf(l: League): string[] {
  const s = l.time_limit_seconds;
  return [
    l.rounds !== null
      ? tn('rules.rounds', l.rounds, { s })
      : t(l.format === 'elimination' ? 'rules.rounds.open' : 'rules.rounds.unknown', { s }),
    l.rounds === null && l.max_rounds ? t('rules.rounds.cap', { n: l.max_rounds }) : '',
    l.min_seats === l.max_seats ? t('rules.seats.exact', { n: l.min_seats }) : t('rules.seats', { min: l.min_seats, max: l.max_seats }),
  ];
}

function judgeOf(l: League): string {
  const { kind, tolerance, partial, agents, window_seconds, min_votes } = l.judge;
  if (kind === 'number' && tolerance) return t('rules.judge.number.tolerance', { tolerance });
  if (kind === 'panel' && agents?.length) return tn('rules.judge.panel.of', agents.length);
  if (kind === 'crowd') return tn('rules.judge.crowd', Math.max(1, min_votes ?? 0), { s: window_seconds ?? 0 });
  const text = tx(`rules.judge.${kind}`, t('rules.judge.other', { kind }));
  return [text, tolerance ? t('rules.judge.tolerance', { tolerance }) : '', partial ? t('rules.judge.partial') : '']
    .filter(Boolean)
    .join(' ');
}

function entryOf(l: League): string[] {
  const e = l.entry;
  return [
    e.allow?.length ? tn('rules.entry.allow', e.allow.length) : '',
    e.password_required ? t('rules.entry.password') : '',
    e.agents_per_owner ? tn('rules.entry.owner', e.agents_per_owner) : '',
    e.min_rating ? t('rules.entry.min_rating', { n: elo(e.min_rating) }) : '',
    e.max_rating ? t('rules.entry.max_rating', { n: elo(e.max_rating) }) : '',
    e.min_matches ? tn('rules.entry.min_matches', e.min_matches) : '',
  ];
}

/** connect_four is Connect four, also where no dictionary has it; … is a game that is not chosen yet. */
export function gameTitle(name: string): string {
  if (!name) return '…';
  const words = name.replaceAll('_', ' ');
  return tx(`rules.game.name.${name}`, words.charAt(0).toUpperCase() + words.slice(1));
}

/** The game of a league in one line: Connect four, 2 games a match, 10 s a move + 60 s bank. */
export function gameFacts(l: Pick<League, 'game' | 'time_limit_seconds'>): string {
  const g = gameOf(l);
  if (!g) return '';
  const time = t(g.bank ? 'rules.game.pace.bank' : 'rules.game.pace', { s: l.time_limit_seconds, bank: g.bank });
  return [gameTitle(g.name), g.games === 1 ? t('rules.game.one') : t('rules.game.many', { n: g.games }), time].join(', ');
}
