import type { Key } from '../i18n';
import { formatOf, limits } from '../catalog';
import {
  has,
  hasPartial,
  hasTolerance,
  isAsked,
  isBracket,
  isDebate,
  isGame,
  isTournament,
  many,
  mayCanary,
  mayFill,
  mayHaveBuiltIn,
  mayHaveGold,
  maySpanRounds,
  mostSeats,
  type Draft,
} from './draft';

// The fields of the form of a league: the section that each is in, when it applies,
// and what it asks for. Pure.

export const SECTIONS = ['about', 'what', 'tasks', 'play', 'when', 'who'] as const;
export type Section = (typeof SECTIONS)[number];

type Keys<T> = { [K in keyof Draft]: Draft[K] extends T ? K : never }[keyof Draft];
type By<T> = T | ((d: Draft) => T);

export interface Row {
  section: Section;
  /** How the API names it; left out: as the form does. */
  path?: string;
  when?: (d: Draft) => boolean;
  /** A league that is there keeps it. */
  once?: true;
  label?: By<Key>;
  hint?: By<Key | ''>;
  number?: { key: Keys<number>; min: By<number>; max: By<number>; step?: 'any' };
  tick?: Keys<boolean>;
  text?: { key: Keys<string>; maxlength?: number; rows?: number; required?: true; pattern?: string; type?: 'password' | 'datetime-local' };
}

const DAY = 24 * 60;
const fewest = (d: Draft): number => formatOf(d.format)?.min_seats ?? 2;
const asks = (d: Draft): boolean => !isGame(d);
const quiz = (d: Draft): boolean => !isGame(d) && !isDebate(d);
const generated = (d: Draft): boolean => asks(d) && d.source === 'generator';
const votes = (d: Draft): boolean => asks(d) && d.judge === 'crowd';

const rows = {
  title: { section: 'about', label: 'admin.form.name', text: { key: 'title', maxlength: 80, required: true } },
  slug: {
    section: 'about',
    once: true,
    label: 'admin.form.slug',
    hint: 'admin.form.slug.hint',
    text: { key: 'slug', maxlength: 40, required: true, pattern: '[a-z0-9]+(-[a-z0-9]+)*' },
  },
  description: {
    section: 'about',
    label: 'admin.form.description',
    hint: 'admin.form.description.hint',
    text: { key: 'description', maxlength: 2000, rows: 4 },
  },
  prize: { section: 'about', label: 'admin.form.prize', text: { key: 'prize', maxlength: 200 } },
  rules_text: {
    section: 'about',
    label: 'admin.form.rulestext',
    hint: 'admin.form.description.hint',
    text: { key: 'rulesText', maxlength: 4000, rows: 4 },
  },

  plays: { section: 'what', once: true },
  format: { section: 'what', once: true },
  min_seats: { section: 'what', when: many, label: 'admin.form.seats.min', number: { key: 'minSeats', min: fewest, max: mostSeats } },
  max_seats: { section: 'what', when: many, label: 'admin.form.seats.max', number: { key: 'maxSeats', min: fewest, max: mostSeats } },
  double: {
    section: 'what',
    path: 'format_options.double',
    when: (d) => has(d, 'double'),
    label: 'admin.form.double',
    tick: 'double',
  },
  swiss_rounds: {
    section: 'what',
    path: 'format_options.rounds',
    when: (d) => has(d, 'rounds'),
    label: 'admin.form.swiss',
    hint: 'admin.form.swiss.hint',
    number: { key: 'swissRounds', min: 0, max: 30 },
  },
  best_of: { section: 'what', path: 'format_options.best_of', when: isBracket },
  champion: { section: 'what', path: 'format_options.champion', when: (d) => has(d, 'champion') },

  game: { section: 'tasks', when: isGame },
  games_per_match: {
    section: 'tasks',
    path: 'game.games_per_match',
    when: isGame,
    label: 'admin.play.games',
    hint: 'admin.play.games.hint',
    number: { key: 'games', min: 1, max: limits.games_per_match },
  },
  show_legal_moves: {
    section: 'tasks',
    path: 'game.show_legal_moves',
    when: isGame,
    label: 'admin.play.legal',
    hint: 'admin.play.legal.hint',
    tick: 'showLegal',
  },
  source: { section: 'tasks', when: quiz },
  generator: { section: 'tasks', when: generated },
  difficulty: {
    section: 'tasks',
    path: 'generator.difficulty',
    when: generated,
    label: 'admin.form.difficulty',
    number: { key: 'difficulty', min: 1, max: 5 },
  },
  harder_every: {
    section: 'tasks',
    path: 'generator.harder_every',
    when: generated,
    label: 'admin.form.harder',
    hint: 'admin.form.harder.hint',
    number: { key: 'harderEvery', min: 0, max: 200 },
  },
  pack_id: { section: 'tasks', when: (d) => asks(d) && d.source === 'pack' },
  turns: {
    section: 'tasks',
    path: 'debate',
    when: isDebate,
    label: 'admin.form.turns',
    hint: 'admin.form.turns.hint',
    number: { key: 'turns', min: 1, max: limits.debate_turns },
  },
  judge: { section: 'tasks', when: asks },
  tolerance: {
    section: 'tasks',
    path: 'judge.tolerance',
    when: (d) => asks(d) && hasTolerance(d),
    label: 'admin.form.tolerance',
    hint: 'admin.form.tolerance.hint',
    number: { key: 'tolerance', min: 0, max: limits.tolerance, step: 'any' },
  },
  partial: {
    section: 'tasks',
    path: 'judge.partial',
    when: (d) => asks(d) && hasPartial(d),
    label: 'admin.form.partial',
    tick: 'partial',
  },
  judges: { section: 'tasks', path: 'judge.agents', when: (d) => asks(d) && d.judge === 'panel' },
  criteria: {
    section: 'tasks',
    path: 'judge.criteria',
    when: isAsked,
    label: 'admin.form.criteria',
    text: { key: 'criteria', maxlength: 2000, rows: 2, required: true },
  },
  gold: {
    section: 'tasks',
    path: 'judge.gold',
    when: mayHaveGold,
    label: 'admin.form.gold',
    hint: 'admin.form.gold.hint',
    text: { key: 'gold', maxlength: 64 },
  },
  window_seconds: {
    section: 'tasks',
    path: 'judge.window_seconds',
    when: votes,
    label: 'admin.form.window',
    number: { key: 'window', min: 5, max: limits.window_seconds },
  },
  min_votes: {
    section: 'tasks',
    path: 'judge.min_votes',
    when: votes,
    label: 'admin.form.votes',
    hint: 'admin.form.votes.hint',
    number: { key: 'minVotes', min: 1, max: limits.min_votes },
  },

  open_end: { section: 'play', when: quiz, label: (d) => (many(d) ? 'admin.form.open' : 'admin.form.open.duel'), tick: 'openEnd' },
  max_rounds: {
    section: 'play',
    when: (d) => quiz(d) && d.openEnd,
    label: 'admin.form.cap',
    hint: 'admin.form.cap.hint',
    number: { key: 'maxRounds', min: 1, max: limits.rounds },
  },
  rounds: {
    section: 'play',
    when: (d) => quiz(d) && !d.openEnd,
    label: 'admin.form.rounds',
    number: { key: 'rounds', min: 1, max: limits.rounds },
  },
  time_limit_seconds: {
    section: 'play',
    label: (d) => (isGame(d) ? 'admin.play.limit' : isDebate(d) ? 'admin.form.limit.debate' : 'admin.form.limit'),
    number: { key: 'timeLimit', min: 1, max: limits.time_limit_seconds },
  },
  faster_seconds: {
    section: 'play',
    path: 'format_options.faster_seconds',
    when: (d) => has(d, 'faster_seconds'),
    label: 'admin.form.faster',
    hint: 'admin.form.faster.hint',
    number: { key: 'faster', min: 0, max: 60, step: 'any' },
  },
  time_bank_seconds: {
    section: 'play',
    path: 'game.time_bank_seconds',
    when: isGame,
    label: 'admin.play.bank',
    hint: 'admin.play.bank.hint',
    number: { key: 'timeBank', min: 0, max: limits.time_bank_seconds },
  },
  break_seconds: {
    section: 'play',
    label: (d) => (isGame(d) ? 'admin.play.break' : 'admin.form.break'),
    number: { key: 'breakSeconds', min: 0, max: limits.break_seconds },
  },
  rated: { section: 'play', label: 'admin.form.rated', tick: 'rated' },
  score_mode: { section: 'play', when: (d) => d.rated && !many(d) && !isGame(d), label: 'admin.form.byround', tick: 'byRound' },
  visibility: { section: 'play' },
  delay: {
    section: 'play',
    path: 'visibility',
    when: (d) => d.visibility === 'delayed',
    label: 'admin.form.delay',
    hint: 'admin.form.delay.hint',
    number: { key: 'delay', min: 1, max: limits.delay_seconds },
  },
  max_tokens: {
    section: 'play',
    label: 'admin.form.tokens',
    hint: 'admin.form.tokens.hint',
    number: { key: 'maxTokens', min: 1, max: limits.max_tokens },
  },
  max_tokens_policy: {
    section: 'play',
    label: (d) => (isGame(d) ? 'admin.play.tokens.zero' : 'admin.form.tokens.zero'),
    tick: 'zeroOverTokens',
  },
  max_cost_usd: {
    section: 'play',
    label: 'admin.form.cost',
    hint: 'admin.form.cost.hint',
    number: { key: 'maxCost', min: 0, max: limits.max_cost_usd, step: 'any' },
  },
  canary: {
    section: 'play',
    when: mayCanary,
    label: 'admin.form.canary',
    hint: 'admin.form.canary.hint',
    number: { key: 'canary', min: 0, max: limits.canary },
  },
  rules: { section: 'play', label: 'admin.form.rules', hint: 'admin.form.rules.hint', text: { key: 'rules', rows: 3 } },

  schedule: { section: 'when' },
  schedule_starts: { section: 'when', path: 'format_options.schedule_starts', when: maySpanRounds },
  duration: {
    section: 'when',
    path: 'format_options.duration_seconds',
    label: 'admin.form.minutes',
    hint: (d) => (d.format === 'arena' ? '' : 'admin.form.minutes.hint'),
    number: { key: 'minutes', min: (d) => (d.format === 'arena' ? 1 : 0), max: (d) => (d.format === 'arena' ? DAY : 366 * DAY) },
  },
  forfeit_seconds: {
    section: 'when',
    path: 'format_options.forfeit_seconds',
    when: isTournament,
    label: 'admin.form.forfeit',
    number: { key: 'forfeit', min: 10, max: 86_400 },
  },
  matches_per_day: {
    section: 'when',
    path: 'pace.matches_per_day',
    label: 'admin.form.pace.day',
    hint: 'admin.form.pace.day.hint',
    number: { key: 'perDay', min: 0, max: limits.matches_per_day },
  },
  pace_pause: {
    section: 'when',
    path: 'pace.pause_seconds',
    label: 'admin.form.pace.pause',
    number: { key: 'pause', min: 0, max: limits.pause_seconds / 60, step: 'any' },
  },
  unrated_filler: {
    section: 'when',
    path: 'pace.unrated_filler',
    when: mayFill,
    label: 'admin.form.pace.filler',
    hint: 'admin.form.pace.filler.hint',
    tick: 'filler',
  },

  built_in: {
    section: 'who',
    when: mayHaveBuiltIn,
    label: 'admin.form.builtin',
    hint: (d) => (isGame(d) ? 'admin.form.builtin.games' : 'admin.form.builtin.questions'),
    text: { key: 'builtIn', maxlength: 80 },
  },
  signup_until: {
    section: 'who',
    label: 'admin.form.signup',
    hint: 'admin.form.signup.hint',
    text: { key: 'signupUntil', type: 'datetime-local' },
  },
  password: {
    section: 'who',
    path: 'entry.password',
    label: 'admin.form.password',
    text: { key: 'password', maxlength: 128, type: 'password' },
  },
  agents_per_owner: {
    section: 'who',
    path: 'entry.agents_per_owner',
    label: 'admin.form.owner',
    hint: 'admin.form.zero',
    number: { key: 'agentsPerOwner', min: 0, max: 100 },
  },
  min_rating: {
    section: 'who',
    path: 'entry.min_rating',
    label: 'admin.form.rating.min',
    hint: 'admin.form.zero',
    number: { key: 'minRating', min: 0, max: 10_000 },
  },
  max_rating: {
    section: 'who',
    path: 'entry.max_rating',
    label: 'admin.form.rating.max',
    hint: 'admin.form.zero',
    number: { key: 'maxRating', min: 0, max: 10_000 },
  },
  min_matches: {
    section: 'who',
    path: 'entry.min_matches',
    label: 'admin.form.matches',
    hint: 'admin.form.zero',
    number: { key: 'minMatches', min: 0, max: 100_000 },
  },
  allow: { section: 'who', path: 'entry.allow' },
} as const satisfies Record<string, Row>;

export type FieldName = keyof typeof rows;
export const FIELDS: Readonly<Record<FieldName, Row>> = rows;
const NAMES = Object.keys(rows) as FieldName[];
export const pathOf = (name: FieldName): string => FIELDS[name].path ?? name;
/** How problems of the API name the fields. */
export const PATHS = NAMES.map(pathOf);

/** What applies to a draft of the fields named, or of all; fixed: the league is there. */
export const applying = (d: Draft, fixed: boolean, names: readonly FieldName[] = NAMES): FieldName[] =>
  names.filter((n) => !(fixed && FIELDS[n].once) && (FIELDS[n].when?.(d) ?? true));
