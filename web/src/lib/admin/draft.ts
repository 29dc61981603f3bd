import type { League } from '../api/contract';
import type { components } from '../api/schema';

// The wizard's answers, as the API takes them and as the league page shows
// them. Pure.

type LeagueBody = components['schemas']['LeagueBody'];

export interface Draft {
  title: string;
  slug: string;
  format: string;
  /** Only where a match may have more than two. */
  minSeats: number;
  maxSeats: number;
  source: 'generator' | 'pack';
  generator: string;
  difficulty: number;
  packId: string;
  judge: string;
  criteria: string;
  rounds: number;
  /** Until one is left. */
  openEnd: boolean;
  timeLimit: number;
  breakSeconds: number;
  rated: boolean;
  sealed: boolean;
  schedule: string;
  rules: string;
  password: string;
  agentsPerOwner: number;
}

export const FORMATS = ['ladder', 'round_robin', 'swiss', 'knockout', 'double_elimination', 'arena', 'elimination', 'gauntlet'] as const;
export const JUDGES = ['exact', 'choice', 'number', 'regex', 'set', 'json', 'code', 'crowd', 'model'] as const;
/** What the arena makes itself, each with the judge that it is made for. */
export const GENERATORS = { arithmetic: 'number', units: 'number', dates: 'choice', word_problems: 'number' } as const;

export const emptyDraft = (): Draft => ({
  title: '', slug: '', format: 'ladder', minSeats: 8, maxSeats: 128, source: 'generator', generator: 'arithmetic', difficulty: 2, packId: '',
  judge: 'number', criteria: '', rounds: 5, openEnd: false, timeLimit: 20, breakSeconds: 3, rated: true, sealed: true, schedule: '', rules: '',
  password: '', agentsPerOwner: 0,
});

/** A slug for a title: lower-case letters, digits and single hyphens. */
export const slugOf = (title: string): string =>
  title.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '').replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 40).replace(/-+$/, '');

export const many = (d: Draft): boolean => d.format === 'elimination';
const asks = (d: Draft): boolean => d.judge === 'crowd' || d.judge === 'model';
const rulesOf = (d: Draft): string[] => d.rules.split('\n').map((r) => r.trim()).filter(Boolean);
const judgeOf = (d: Draft) => ({
  kind: d.judge, ...(asks(d) && d.criteria ? { criteria: d.criteria } : {}), ...(d.judge === 'crowd' ? { window_seconds: 30, min_votes: 1 } : {}),
});
const generatorOf = (d: Draft) => ({ name: d.generator, difficulty: d.difficulty });

export function bodyOf(d: Draft): LeagueBody {
  const entry = { ...(d.password ? { password: d.password } : {}), ...(d.agentsPerOwner ? { agents_per_owner: d.agentsPerOwner } : {}) };
  return {
    title: d.title, slug: d.slug, format: d.format,
    ...(d.source === 'pack' ? { pack_id: d.packId } : { generator: generatorOf(d) }),
    judge: judgeOf(d), rounds: d.openEnd ? null : d.rounds, time_limit_seconds: d.timeLimit, break_seconds: d.breakSeconds, rated: d.rated,
    visibility: d.sealed ? 'sealed' : 'live',
    ...(many(d) ? { min_seats: d.minSeats, max_seats: d.maxSeats } : {}),
    ...(d.schedule ? { schedule: d.schedule } : {}),
    ...(rulesOf(d).length ? { rules: rulesOf(d) } : {}),
    ...(Object.keys(entry).length ? { entry } : {}),
  };
}

/** The league as its page will show it. */
export const previewOf = (d: Draft): League => ({
  slug: d.slug, title: d.title, status: 'open', format: d.format, judge: judgeOf(d), rounds: d.openEnd ? null : d.rounds,
  time_limit_seconds: d.timeLimit, break_seconds: d.breakSeconds, rated: d.rated, visibility: d.sealed ? 'sealed' : 'live', score_mode: 'match',
  min_seats: many(d) ? d.minSeats : 2, max_seats: many(d) ? d.maxSeats : 2, rules: rulesOf(d), agents: 0, drift: 0, created_at: new Date(0).toISOString(),
  entry: { ...(d.password ? { password_required: true } : {}), ...(d.agentsPerOwner ? { agents_per_owner: d.agentsPerOwner } : {}) },
  ...(d.source === 'generator' ? { generator: generatorOf(d) } : { pack_id: d.packId }),
  ...(d.schedule ? { schedule: d.schedule } : {}),
});

/** What may be done to a league in a state (the states are the rulebook's). */
export const MOVES = {
  draft: ['open'], open: ['start', 'finish'], running: ['freeze', 'pause', 'finish'], frozen: ['resume', 'pause', 'finish'], paused: ['resume', 'finish'],
  finished: ['open'],
} as const;
