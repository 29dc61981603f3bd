import type { League } from '../api/contract';
import type { Move } from './api';
import type { components } from '../api/schema';
import { defaults, formatOf, formats, generators, judgeKind, judges, limits, visibilities } from '../catalog';
import { gameOf, type Game } from '../games';

// What is entered in the form of a league, as the API takes it and as the league
// page shows it. Pure.

type LeagueBody = components['schemas']['LeagueBody'];
type UpdateLeagueBody = components['schemas']['UpdateLeagueBody'];

/** Numbers that are 0 ask for nothing, unless they say otherwise. What does not apply stays in the draft and is not sent. */
export interface Draft {
  title: string;
  description: string;
  prize: string;
  /** For people; the rules below are for agents. */
  rulesText: string;
  slug: string;
  /** What a match is made of. */
  plays: Plays;
  format: string;
  minSeats: number;
  maxSeats: number;
  /** Round robin: every pair meets twice. */
  double: boolean;
  /** Swiss; 0: enough for one winner. */
  swissRounds: number;
  bestOf: string;
  /** Gauntlet: one agent, or none for the highest rated. */
  champion: string[];
  source: 'generator' | 'pack';
  generator: string;
  difficulty: number;
  /** Rounds after which the difficulty rises; 0: it stays. */
  harderEvery: number;
  packId: string;
  turns: number;
  game: string;
  /** Of an uploaded game; empty: its newest version. */
  gameHash: string;
  /** The players of the game know different things. */
  hidden: boolean;
  /** Of the game, by name; those left out have their defaults. */
  gameOptions: Record<string, number>;
  games: number;
  duplicate: boolean;
  showLegal: boolean;
  /** Seconds of each seat and match after the time limit of a move. */
  timeBank: number;
  /** Most players of a game. */
  players: number;
  judge: string;
  tolerance: number;
  partial: boolean;
  /** The panel. */
  judges: string[];
  criteria: string;
  /** The pack of gold items; "": none. */
  gold: string;
  /** The vote of a crowd, in seconds. */
  window: number;
  minVotes: number;
  /** Votes need the token of an owner also where the league is not rated; the form has no field for it. */
  voterAccounts: boolean;
  rounds: number;
  openEnd: boolean;
  /** The cap of an open end. */
  maxRounds: number;
  timeLimit: number;
  breakSeconds: number;
  /** Ratings compare single rounds, not the points of the match. */
  byRound: boolean;
  rated: boolean;
  visibility: string;
  /** How many seconds later everything is shown. */
  delay: number;
  maxTokens: number;
  /** Answers over maxTokens get no points. */
  zeroOverTokens: boolean;
  /** Seconds that each round of an elimination is shorter than the one before. */
  faster: number;
  /** The highest price of an offer, in USD. */
  maxCost: number;
  canary: number;
  rules: string;
  schedule: string;
  starts: string;
  /** Of a season; 0: as long as it takes. */
  minutes: number;
  /** Seconds that a paired agent is waited for. */
  forfeit: number;
  /** Matches of each agent in 24 hours; 0: no limit. */
  perDay: number;
  /** Minutes between two matches of an agent. */
  pause: number;
  /** A rated ladder pairs agents that can meet only unrated. */
  filler: boolean;
  /** Of the reader, as fields of dates hold it: 2026-11-21T20:00; empty for no deadline. */
  signupUntil: string;
  /** Names of opponents that come with the program, with spaces or commas between. */
  builtIn: string;
  allow: string[];
  password: string;
  agentsPerOwner: number;
  minRating: number;
  maxRating: number;
  minMatches: number;
}

export const PLAYS = ['questions', 'debate', 'game'] as const;
export type Plays = (typeof PLAYS)[number];
export const BEST_OF = ['1', '3', '5', '7'] as const;
export const STARTS = ['season', 'round'] as const;
const kindsOf = (asked: boolean) => judges.filter((j) => j.compares === asked).map((j) => j.kind);
const [ASKED, PURE] = [kindsOf(true), kindsOf(false)];
const MOST_SEATS = Math.max(...formats.map((f) => f.max_seats));
const DEFAULT_TOKENS = defaults.max_tokens;
/** A match of a game has many turns; a question is read once. */
const PACE = { timeLimit: 20, breakSeconds: 3, timeBank: 0 };
/** How often a format calls each agent, and how long its seasons last. */
const usualOf = (format: string) => {
  const f = formatOf(format);
  return { perDay: f?.pace?.matches_per_day ?? 0, pause: (f?.pace?.pause_seconds ?? 0) / 60, minutes: (f?.duration_seconds ?? 0) / 60 };
};
const GAME_PACE = { timeLimit: 10, breakSeconds: 1, timeBank: 60 };

export const emptyDraft = (): Draft => ({
  title: '',
  description: '',
  prize: '',
  rulesText: '',
  slug: '',
  plays: 'questions',
  format: 'ladder',
  minSeats: 8,
  maxSeats: MOST_SEATS,
  double: false,
  swissRounds: 0,
  bestOf: '1',
  champion: [],
  source: 'generator',
  generator: 'arithmetic',
  difficulty: defaults.difficulty,
  harderEvery: 0,
  packId: '',
  turns: 2,
  game: '',
  gameHash: '',
  hidden: false,
  gameOptions: {},
  games: defaults.games_per_match,
  duplicate: false,
  showLegal: true,
  players: 2,
  judge: 'number',
  tolerance: 0,
  partial: false,
  judges: [],
  criteria: '',
  gold: '',
  window: 30,
  minVotes: 1,
  voterAccounts: false,
  rounds: 5,
  openEnd: false,
  maxRounds: defaults.max_rounds,
  ...PACE,
  byRound: false,
  rated: true,
  visibility: 'sealed',
  delay: 30,
  maxTokens: DEFAULT_TOKENS,
  zeroOverTokens: false,
  faster: 0,
  maxCost: 0,
  canary: 0,
  rules: '',
  schedule: '',
  starts: 'season',
  ...usualOf('ladder'),
  forfeit: 120,
  filler: false,
  signupUntil: '',
  builtIn: '',
  allow: [],
  password: '',
  agentsPerOwner: 0,
  minRating: 0,
  maxRating: 0,
  minMatches: 0,
});

/** A slug for a title: lower-case letters, digits and single hyphens. */
export const slugOf = (title: string): string =>
  title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');

// What applies to a draft (the checks themselves are the API's).
export const has = (d: Draft, option: string): boolean => !!formatOf(d.format)?.options.includes(option);
export const many = (d: Draft): boolean => (formatOf(d.format)?.max_seats ?? 0) > 2;
export const isBracket = (d: Draft): boolean => has(d, 'best_of');
/** Formats that order duels by name: who does not come forfeits. */
export const isTournament = (d: Draft): boolean => has(d, 'forfeit_seconds');
export const maySpanRounds = (d: Draft): boolean => !!formatOf(d.format)?.starts.includes('round') && d.schedule !== '';
export const mayFill = (d: Draft): boolean => d.format === 'ladder' && d.rated;
export const isDebate = (d: Draft): boolean => d.plays === 'debate';
export const isGame = (d: Draft): boolean => d.plays === 'game';
/** Only questions can be put to more than two. */
export const formatsOf = (d: Draft): readonly string[] =>
  formats.filter((f) => d.plays === 'questions' || f.max_seats === 2).map((f) => f.format);
export const isAsked = (d: Draft): boolean => !isGame(d) && ASKED.includes(d.judge);
export const mostSeats = (d: Draft): number => (isAsked(d) ? limits.compared_seats : MOST_SEATS);
const judgeHas = (d: Draft, member: string): boolean => !!judgeKind(d.judge)?.fields.includes(member);
export const mayHaveGold = (d: Draft): boolean => judgeHas(d, 'gold') && !isDebate(d) && !isGame(d);
export const hasTolerance = (d: Draft): boolean => judgeHas(d, 'tolerance');
export const hasPartial = (d: Draft): boolean => judgeHas(d, 'partial');
export const mayCanary = (d: Draft): boolean => d.plays === 'questions' && (d.judge === 'exact' || d.judge === 'choice');
/** A crowd votes while the round is open; hidden cards are not shown before the end. */
export const visibilitiesOf = (d: Draft): readonly string[] =>
  visibilities.filter((v) => !(isGame(d) && d.hidden && v === 'live') && !(!isGame(d) && d.judge === 'crowd' && v === 'delayed'));
export const judgesOf = (d: Draft): readonly string[] =>
  isDebate(d) ? ASKED : d.source === 'generator' ? (generators.find((g) => g.name === d.generator)?.judges ?? PURE) : [...PURE, ...ASKED];

/** The draft with a change, and with what cannot go with it put right. */
export function changed(was: Draft, change: Partial<Draft>): Draft {
  const d = { ...was, ...change };
  if (d.plays !== was.plays) {
    const [old, pace] = [was, d].map((x) => (isGame(x) ? GAME_PACE : PACE)) as [typeof PACE, typeof PACE];
    for (const key of ['timeLimit', 'breakSeconds', 'timeBank'] as const) if (d[key] === old[key]) d[key] = pace[key];
  }
  if (isDebate(d)) d.source = 'pack';
  if (!formatsOf(d).includes(d.format)) d.format = 'ladder';
  const judges = judgesOf(d);
  if (change.generator || change.source || !judges.includes(d.judge))
    d.judge = (d.source === 'pack' && !isDebate(d) ? 'choice' : judges[0]) ?? d.judge;
  if (d.format !== was.format) {
    d.openEnd = many(d);
    const [old, usual] = [usualOf(was.format), usualOf(d.format)];
    for (const key of ['perDay', 'pause', 'minutes'] as const) if (d[key] === old[key]) d[key] = usual[key];
  }
  // Who votes must not know whose answer it is; a debate is there to be read.
  if (d.judge === 'crowd' && was.judge !== 'crowd') d.visibility = 'sealed';
  else if (isDebate(d) !== isDebate(was) || (isDebate(d) && d.judge !== was.judge && was.judge === 'crowd'))
    d.visibility = isDebate(d) ? 'live' : 'sealed';
  if (!visibilitiesOf(d).includes(d.visibility)) d.visibility = 'sealed';
  d.maxSeats = Math.min(d.maxSeats, mostSeats(d));
  d.minSeats = Math.min(d.minSeats, d.maxSeats);
  return d;
}

/** The draft with another game, with that game's own settings. Deals with hidden hands are played once. */
export const withGame = (d: Draft, g: Pick<Game, 'name' | 'deals' | 'hidden' | 'max_seats'>): Draft =>
  changed(d, {
    game: g.name,
    gameHash: '',
    hidden: g.hidden,
    gameOptions: {},
    duplicate: d.duplicate && g.deals && !g.hidden,
    players: Math.min(Math.max(d.players, 2), g.max_seats),
  });

const rulesOf = (d: Draft): string[] =>
  d.rules
    .split('\n')
    .map((r) => r.trim())
    .filter(Boolean);
const generatorOf = (d: Draft) => ({
  name: d.generator,
  difficulty: d.difficulty,
  ...(d.harderEvery ? { harder_every: d.harderEvery } : {}),
});

const gameBodyOf = (d: Draft) =>
  ({
    ...d.gameOptions,
    name: d.game,
    games_per_match: d.games,
    duplicate: d.duplicate,
    time_bank_seconds: d.timeBank,
    show_legal_moves: d.showLegal,
    ...(d.gameHash ? { sha256: d.gameHash } : {}),
  }) as NonNullable<LeagueBody['game']>;

function judgeOf(d: Draft): League['judge'] {
  return {
    kind: d.judge,
    ...(hasTolerance(d) && d.tolerance ? { tolerance: d.tolerance } : {}),
    ...(hasPartial(d) && d.partial ? { partial: true } : {}),
    ...(judgeHas(d, 'agents') ? { agents: [...d.judges] } : {}),
    ...(isAsked(d) && d.criteria ? { criteria: d.criteria } : {}),
    ...(mayHaveGold(d) && d.gold.trim() ? { gold: d.gold.trim() } : {}),
    ...(judgeHas(d, 'window_seconds')
      ? { window_seconds: d.window, min_votes: d.minVotes, ...(d.rated || d.voterAccounts ? { voter_accounts: true } : {}) }
      : {}),
  };
}

function optionsOf(d: Draft): NonNullable<League['format_options']> {
  return {
    ...(has(d, 'double') && d.double ? { double: true } : {}),
    ...(has(d, 'rounds') && d.swissRounds ? { rounds: d.swissRounds } : {}),
    ...(isBracket(d) ? { best_of: Number(d.bestOf) as 1 | 3 | 5 | 7 } : {}),
    ...(has(d, 'champion') && d.champion[0] ? { champion: d.champion[0] } : {}),
    ...(d.minutes ? { duration_seconds: d.minutes * 60 } : {}),
    ...(isTournament(d) ? { forfeit_seconds: d.forfeit } : {}),
    ...(has(d, 'faster_seconds') && d.faster ? { faster_seconds: d.faster } : {}),
    ...(maySpanRounds(d) ? { schedule_starts: d.starts as 'season' | 'round' } : {}),
  };
}

const entryOf = (d: Draft) => ({
  ...(d.allow.length ? { allow: [...d.allow] } : {}),
  ...(d.agentsPerOwner ? { agents_per_owner: d.agentsPerOwner } : {}),
  ...(d.minRating ? { min_rating: d.minRating } : {}),
  ...(d.maxRating ? { max_rating: d.maxRating } : {}),
  ...(d.minMatches ? { min_matches: d.minMatches } : {}),
});

/** Only ladders have them, and no debate. */
export const mayHaveBuiltIn = (d: Draft): boolean => d.format === 'ladder' && !isDebate(d);
const builtInOf = (d: Draft): string[] => (mayHaveBuiltIn(d) ? d.builtIn.split(/[\s,]+/).filter(Boolean) : []);

const paceOf = (d: Draft) => ({ matches_per_day: d.perDay, pause_seconds: d.pause * 60, unrated_filler: mayFill(d) && d.filler });
const isUsual = (d: Draft): boolean =>
  d.perDay === usualOf(d.format).perDay && d.pause === usualOf(d.format).pause && !(mayFill(d) && d.filler);

/** What the body and the page have in common. */
function common(d: Draft) {
  const options = optionsOf(d);
  return {
    title: d.title,
    slug: d.slug,
    format: d.format,
    ...(d.description ? { description: d.description } : {}),
    ...(d.prize ? { prize: d.prize } : {}),
    ...(d.rulesText ? { rules_text: d.rulesText } : {}),
    ...(d.signupUntil ? { signup_until: new Date(d.signupUntil).toISOString() } : {}),
    ...(isGame(d)
      ? { game: gameBodyOf(d) }
      : { ...(d.source === 'pack' ? { pack_id: d.packId } : { generator: generatorOf(d) }), judge: judgeOf(d) }),
    ...(isGame(d)
      ? {}
      : isDebate(d)
        ? { debate: { turns: d.turns }, rounds: 2 * d.turns }
        : { rounds: d.openEnd ? null : d.rounds, ...(d.openEnd ? { max_rounds: d.maxRounds } : {}) }),
    time_limit_seconds: d.timeLimit,
    break_seconds: d.breakSeconds,
    rated: d.rated,
    visibility: d.visibility === 'delayed' ? `delayed:${d.delay}` : d.visibility,
    ...(isGame(d) ? { score_mode: 'result' as const } : d.byRound && !many(d) ? { score_mode: 'rounds' as const } : {}),
    ...(d.maxTokens === DEFAULT_TOKENS ? {} : { max_tokens: d.maxTokens }),
    ...(d.zeroOverTokens ? { max_tokens_policy: 'zero_points' as const } : {}),
    ...(d.maxCost === 0 ? {} : { max_cost_usd: d.maxCost }),
    ...(mayCanary(d) && d.canary ? { canary: d.canary } : {}),
    ...(d.schedule ? { schedule: d.schedule } : {}),
    ...(Object.keys(options).length ? { format_options: options } : {}),
    ...(isUsual(d) ? {} : { pace: paceOf(d) }),
    ...(builtInOf(d).length ? { built_in: builtInOf(d) } : {}),
  };
}

const seatsOf = (d: Draft) =>
  many(d) ? { min_seats: d.minSeats, max_seats: d.maxSeats } : isGame(d) && d.players > 2 ? { min_seats: 2, max_seats: d.players } : {};

export function bodyOf(d: Draft): LeagueBody {
  const entry = { ...entryOf(d), ...(d.password ? { password: d.password } : {}) };
  return {
    ...common(d),
    ...seatsOf(d),
    ...(rulesOf(d).length ? { rules: rulesOf(d) } : {}),
    ...(Object.keys(entry).length ? { entry } : {}),
  };
}

/** What changes a league to the draft. Its format, its slug, its password when none is typed, and what it plays stay. */
export function patchOf(d: Draft): UpdateLeagueBody {
  const { slug: _, format: __, ...body } = bodyOf(d);
  return {
    description: '',
    prize: '',
    rules_text: '',
    signup_until: null,
    schedule: '',
    max_tokens: d.maxTokens,
    max_tokens_policy: 'note',
    max_cost_usd: 0,
    score_mode: 'match',
    canary: 0,
    rules: [],
    format_options: {},
    entry: {},
    pace: paceOf(d),
    built_in: [],
    ...body,
  };
}

/** The draft that makes a league like this one. The password is not known. */
export function draftOf(l: League): Draft {
  const was = emptyDraft();
  const [visibility = 'live', delay] = l.visibility.split(':');
  const { judge: j, entry: e, format_options: o } = l;
  const g = gameOf(l);
  return {
    ...was,
    title: l.title,
    description: l.description ?? '',
    prize: l.prize ?? '',
    rulesText: l.rules_text ?? '',
    slug: l.slug,
    plays: g ? 'game' : l.debate ? 'debate' : 'questions',
    format: l.format,
    minSeats: l.min_seats,
    maxSeats: l.max_seats,
    double: !!o?.double,
    swissRounds: o?.rounds ?? 0,
    bestOf: String(o?.best_of || 1),
    champion: o?.champion ? [o.champion] : [],
    source: l.pack_id ? 'pack' : 'generator',
    packId: l.pack_id ?? '',
    generator: l.generator?.name ?? was.generator,
    difficulty: l.generator?.difficulty ?? was.difficulty,
    harderEvery: l.generator?.harder_every ?? was.harderEvery,
    turns: l.debate?.turns ?? was.turns,
    ...(g
      ? {
          game: g.name,
          gameHash: g.hash,
          hidden: g.hidden,
          gameOptions: g.options,
          games: g.games,
          duplicate: g.duplicate,
          showLegal: g.showLegal,
          timeBank: g.bank,
          players: l.max_seats,
        }
      : {}),
    judge: j.kind || was.judge,
    tolerance: j.tolerance ?? 0,
    partial: !!j.partial,
    judges: j.agents ?? [],
    criteria: j.criteria ?? '',
    gold: j.gold ?? '',
    window: j.window_seconds || was.window,
    minVotes: j.min_votes || was.minVotes,
    voterAccounts: !!j.voter_accounts,
    rounds: l.rounds ?? was.rounds,
    openEnd: l.rounds === null,
    maxRounds: l.max_rounds ?? was.maxRounds,
    timeLimit: l.time_limit_seconds,
    breakSeconds: l.break_seconds ?? 0,
    byRound: l.score_mode === 'rounds',
    rated: l.rated,
    visibility,
    delay: delay ? Number(delay) : was.delay,
    maxTokens: l.max_tokens || was.maxTokens,
    zeroOverTokens: l.max_tokens_policy === 'zero_points',
    faster: o?.faster_seconds ?? 0,
    maxCost: l.max_cost_usd ?? 0,
    canary: l.canary ?? 0,
    rules: l.rules.join('\n'),
    schedule: l.schedule ?? '',
    starts: o?.schedule_starts === 'round' ? 'round' : 'season',
    minutes: (o?.duration_seconds ?? 0) / 60,
    forfeit: o?.forfeit_seconds || was.forfeit,
    perDay: l.pace?.matches_per_day ?? 0,
    pause: (l.pace?.pause_seconds ?? 0) / 60,
    filler: !!l.pace?.unrated_filler,
    signupUntil: l.signup_until ? localTime(new Date(l.signup_until)) : '',
    builtIn: (l.built_in ?? []).join(' '),
    allow: e.allow ?? [],
    agentsPerOwner: e.agents_per_owner ?? 0,
    minRating: e.min_rating ?? 0,
    maxRating: e.max_rating ?? 0,
    minMatches: e.min_matches ?? 0,
  };
}

/** A moment as fields of dates hold it, in the reader's zone. */
function localTime(at: Date): string {
  const pad = (n: number) => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}T${pad(at.getHours())}:${pad(at.getMinutes())}`;
}

/** The league as its page will show it. */
export function previewOf(d: Draft): League {
  const all = common(d);
  const starts = maySpanRounds(d) ? d.starts : many(d) ? 'match' : 'season';
  return {
    score_mode: 'match',
    max_tokens_policy: 'note',
    judge: { kind: '' },
    rounds: null,
    min_seats: 2,
    max_seats: 2,
    ...all,
    ...seatsOf(d),
    status: 'open',
    rules: rulesOf(d),
    pace: paceOf(d),
    agents: builtInOf(d).length,
    drift: 0,
    created_at: new Date(0).toISOString(),
    entry: { ...entryOf(d), ...(d.password ? { password_required: true } : {}) },
    format_options: { ...all.format_options, schedule_starts: starts as 'season' | 'round' | 'match' },
  };
}

const MOVES = {
  draft: ['open'],
  open: ['start', 'finish'],
  running: ['freeze', 'pause', 'finish'],
  frozen: ['resume', 'pause', 'finish'],
  paused: ['resume', 'finish'],
  finished: ['open'],
} as const;

/** What may be done to a league (states: docs/rules.md). One with a schedule need not wait for it. */
export function movesOf(l: Pick<League, 'status' | 'schedule' | 'format' | 'archived_at'>): readonly Move[] {
  if (l.archived_at) return ['unarchive'];
  const waits = l.schedule && formatOf(l.format)?.table && (l.status === 'open' || l.status === 'running');
  return waits ? ['start-now', ...MOVES[l.status]] : MOVES[l.status];
}
