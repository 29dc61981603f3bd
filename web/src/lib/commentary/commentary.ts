import type { Priors } from '../match/odds';
import { isOver, ranking, type MatchState } from '../match/state';
import { ratingsBefore, surprise } from '../rating';
import { deficit, factsOf, type Facts } from './facts';
import { GAME_RULES, gameLineOf, NOT_IN_GAMES } from './game';

// One line after each round: what happened, and why it matters (docs/watching.md).
// A line depends on the closed rounds of the state alone, and a state on the
// events up to the shown position alone.

/** What is known besides the log. */
export interface Context {
  /** Ratings before the match. */
  readonly priors: Priors;
  /** Upsets of the night before this match. */
  readonly upsets: number;
}

export const noContext: Context = { priors: {}, upsets: 0 };

/** What a text is filled with. Names are those of agents; ms and points are shown in the reader's language. */
export interface Said {
  readonly n?: number;
  readonly name?: string;
  readonly other?: string;
  readonly names?: readonly string[];
  /** As an agent made it. */
  readonly move?: string;
  readonly left?: number;
  readonly total?: number;
  readonly ms?: number;
  readonly points?: readonly [number, number];
  /** 0 to 1. */
  readonly chance?: number;
}

export interface Line extends Said {
  readonly round: number;
  readonly rule: string;
}

/** A rule of rounds or of results: what its text is filled with, or undefined where it does not apply. */
interface Rule {
  readonly rule: string;
  readonly say: (s: Scene) => Said | undefined;
}

/** What a rule sees: a match after one of its rounds. */
interface Scene {
  readonly m: MatchState;
  readonly context: Context;
  /** The judged rounds, up to this one. */
  readonly all: readonly Facts[];
  readonly f: Facts;
  readonly name: (id: string | undefined) => string;
}

/** Behind by so many points, an agent that gets level or wins comes back. */
const BEHIND = 2;
/** So many right answers in a row are a streak. */
const STREAK = 3;
/** As many agents are named at most. */
const NAMED = 3;

const elimination = (s: Scene) => s.m.format === 'elimination';
const lead = (s: Scene) => pointsOf(s, s.m.order[0]) - pointsOf(s, s.m.order[1]);
const pointsOf = (s: Scene, id: string | undefined) => s.f.after.get(id ?? '') ?? 0;
/** The points of a duel, those of the leader first. */
const score = (s: Scene): readonly [number, number] => {
  const [a, b] = [pointsOf(s, s.m.order[0]), pointsOf(s, s.m.order[1])];
  return [Math.max(a, b), Math.min(a, b)];
};

/** A duel whose number of rounds is known, with at least one to come. */
function open(s: Scene): { lead: number; left: number } | undefined {
  if (s.m.order.length !== 2 || !s.m.totalRounds || s.f.round.debate) return undefined;
  return { lead: Math.abs(lead(s)), left: s.m.totalRounds - s.f.round.no };
}

/** The rules of rounds, the weightiest first. */
const ROUND_RULES: readonly Rule[] = [
  { rule: 'void', say: ({ f }) => (f.played.length && f.played.every((id) => f.round.lanes[id]?.outcome === 'void') ? {} : undefined) },
  {
    rule: 'sudden_level',
    say: ({ f }) =>
      f.round.suddenDeath && !f.out.length && f.left.length > 1
        ? { n: f.left.length, left: f.round.suddenDeath.turn, total: f.round.suddenDeath.turns }
        : undefined,
  },
  {
    rule: 'last_standing',
    say: (s) => (elimination(s) && s.f.out.length && s.f.left.length === 1 ? { name: s.name(s.f.left[0]), n: s.f.out.length } : undefined),
  },
  {
    rule: 'few_left',
    say: (s) =>
      elimination(s) && s.f.out.length && s.f.left.length > 1 && s.f.left.length <= NAMED
        ? { n: s.f.out.length, names: s.f.left.map(s.name) }
        : undefined,
  },
  {
    rule: 'mass_out',
    say: ({ f, m }) =>
      f.out.length >= 3 && 3 * f.out.length >= f.played.length
        ? { n: f.out.length, left: f.left.length, total: m.order.length }
        : undefined,
  },
  {
    rule: 'drops',
    say: (s) => (s.f.out.length === 1 ? { name: s.name(s.f.out[0]), left: s.f.left.length, total: s.m.order.length } : undefined),
  },
  { rule: 'out', say: ({ f, m }) => (f.out.length > 1 ? { n: f.out.length, left: f.left.length, total: m.order.length } : undefined) },
  {
    rule: 'all_stay',
    say: (s) =>
      elimination(s) && !s.f.out.length && s.f.left.length > 1 && s.f.right.length === s.f.played.length
        ? { n: s.f.left.length }
        : undefined,
  },
  {
    rule: 'none_drop',
    say: (s) => (elimination(s) && !s.f.out.length && s.f.left.length > 1 && !s.f.right.length ? { n: s.f.left.length } : undefined),
  },
  {
    rule: 'half',
    say: (s) => (s.f.round.debate && best(s.f) ? { name: s.name(best(s.f)), n: s.f.round.debate.half } : undefined),
  },
  { rule: 'half_level', say: ({ f }) => (f.round.debate && !best(f) ? { n: f.round.debate.half } : undefined) },
  {
    rule: 'decided',
    say: (s) => {
      const o = open(s);
      const was = s.all.at(-2);
      const before = was ? Math.abs((was.after.get(s.m.order[0] ?? '') ?? 0) - (was.after.get(s.m.order[1] ?? '') ?? 0)) : 0;
      return o && o.left > 0 && o.lead > o.left && before <= o.left + 1
        ? { name: s.name(s.f.leader), points: score(s), n: o.left }
        : undefined;
    },
  },
  { rule: 'decider', say: (s) => (open(s)?.left === 1 && open(s)?.lead === 0 ? { points: score(s) } : undefined) },
  {
    rule: 'comeback',
    say: (s) => {
      if (s.m.order.length !== 2 || lead(s) !== 0 || leaderBefore(s) === undefined) return undefined;
      const id = s.m.order.find((x) => x !== leaderBefore(s))!;
      const behind = deficit(s.all, id, leaderBefore(s)!);
      return behind >= BEHIND ? { name: s.name(id), n: behind, points: score(s) } : undefined;
    },
  },
  {
    rule: 'lead_change',
    say: (s) => {
      const last = s.f.led.at(-1);
      return !elimination(s) && s.f.leader && last && last !== s.f.leader && s.f.led.includes(s.f.leader)
        ? { name: s.name(s.f.leader), other: s.name(last) }
        : undefined;
    },
  },
  {
    rule: 'lead_new',
    say: (s) =>
      !elimination(s) && s.f.leader && s.f.led.length && !s.f.led.includes(s.f.leader) ? { name: s.name(s.f.leader) } : undefined,
  },
  {
    rule: 'match_point',
    say: (s) => {
      const o = open(s);
      return o && o.left > 0 && o.lead > 0 && o.lead <= o.left && o.lead + 1 > o.left - 1
        ? { name: s.name(s.f.leader), points: score(s) }
        : undefined;
    },
  },
  {
    rule: 'upset_pending',
    say: (s) => {
      const before = s.m.order.flatMap((id) => (s.context.priors[id] ? [{ id, ...s.context.priors[id] }] : []));
      if (s.m.order.length !== 2 || !s.f.leader || 2 * s.f.round.no < (s.m.totalRounds ?? Infinity)) return undefined;
      return surprise(s.f.leader, before) === undefined
        ? undefined
        : { name: s.name(s.f.leader), n: Math.round(Math.abs(before[0]!.rating - before[1]!.rating)) };
    },
  },
  {
    rule: 'level',
    say: (s) => (s.m.order.length === 2 && lead(s) === 0 && leaderBefore(s) !== undefined ? { points: score(s) } : undefined),
  },
  { rule: 'lead_first', say: (s) => (!elimination(s) && s.f.leader && !s.f.led.length ? { name: s.name(s.f.leader) } : undefined) },
  {
    rule: 'lone',
    say: (s) => (s.f.right.length === 1 && s.f.played.length > 2 ? { name: s.name(s.f.right[0]), n: s.f.played.length - 1 } : undefined),
  },
  {
    rule: 'streak',
    say: (s) => {
      const most = Math.max(0, ...s.f.streaks.values());
      const at = [...s.f.streaks].filter(([, n]) => n === most);
      return most >= STREAK && at.length === 1 ? { name: s.name(at[0]![0]), n: most } : undefined;
    },
  },
  {
    rule: 'nobody',
    say: ({ f }) => (f.played.length > 1 && [...f.gained.values()].every((p) => p === 0) ? { n: f.played.length } : undefined),
  },
  {
    rule: 'fastest',
    say: (s) => {
      const times = s.f.right.map((id) => ({ id, ms: s.f.round.lanes[id]?.elapsedMs ?? Infinity })).sort((a, b) => a.ms - b.ms);
      const [first, second] = times;
      return first && second && first.ms < second.ms ? { name: s.name(first.id), ms: first.ms } : undefined;
    },
  },
  { rule: 'late', say: (s) => (s.f.late.length === 1 ? { name: s.name(s.f.late[0]) } : undefined) },
  { rule: 'takes', say: (s) => (best(s.f) ? { name: s.name(best(s.f)), n: s.f.round.no } : undefined) },
  { rule: 'had_it', say: ({ f }) => (f.right.length ? { n: f.right.length, total: f.played.length } : undefined) },
  { rule: 'closed', say: ({ f }) => ({ n: f.round.no }) },
];

/** The only agent with the most points of a round. */
function best(f: Facts): string | undefined {
  const most = Math.max(0, ...f.gained.values());
  const first = [...f.gained].filter(([, p]) => p === most);
  return most > 0 && first.length === 1 ? first[0]![0] : undefined;
}

const leaderBefore = (s: Scene): string | undefined => s.all.at(-2)?.leader;

/** The rules of results, the weightiest first. */
const END_RULES: readonly Rule[] = [
  {
    rule: 'tie_sudden',
    say: (s) =>
      winners(s).length > 1 && s.f.round.suddenDeath ? { names: winners(s).map(s.name), n: s.f.round.suddenDeath.turn } : undefined,
  },
  { rule: 'draw', say: (s) => (winners(s).length > 1 && s.m.order.length === 2 ? { points: score(s) } : undefined) },
  { rule: 'tie', say: (s) => (winners(s).length > 1 ? { n: winners(s).length } : undefined) },
  {
    rule: 'win_upset',
    say: (s) => {
      const [first] = winners(s);
      const chance = first && surprise(first, ratingsBefore(s.m.changes));
      return chance === undefined ? undefined : { name: s.name(first), n: s.context.upsets + 1, chance };
    },
  },
  {
    rule: 'win_comeback',
    say: (s) => {
      const [first] = winners(s);
      if (!first || s.m.order.length !== 2) return undefined;
      const n = deficit(
        s.all,
        first,
        s.m.order.find((x) => x !== first)!,
      );
      return n >= BEHIND ? { name: s.name(first), n, points: score(s) } : undefined;
    },
  },
  {
    rule: 'win_perfect',
    say: (s) => {
      const [first] = winners(s);
      return first && !elimination(s) && s.all.length >= STREAK && s.all.every((f) => f.right.includes(first))
        ? { name: s.name(first), n: s.all.length }
        : undefined;
    },
  },
  { rule: 'win_sudden', say: (s) => (s.f.round.suddenDeath ? { name: s.name(winners(s)[0]), n: s.f.round.suddenDeath.turn } : undefined) },
  {
    rule: 'win_outlasts',
    say: (s) =>
      elimination(s) && s.f.left.length === 1 ? { name: s.name(winners(s)[0]), n: s.m.order.length - 1, total: s.f.round.no } : undefined,
  },
  {
    rule: 'win_lost_rounds',
    say: (s) => {
      const [first, second] = ranking(s.m);
      return first && second && second.state !== 'left' && first.points === second.points
        ? { name: s.name(first.id), other: s.name(second.id) }
        : undefined;
    },
  },
  {
    rule: 'win_last_round',
    say: (s) =>
      s.m.order.length === 2 && s.all.length > 1 && leaderBefore(s) !== winners(s)[0]
        ? { name: s.name(winners(s)[0]), points: score(s) }
        : undefined,
  },
  { rule: 'win_score', say: (s) => (s.m.order.length === 2 ? { name: s.name(winners(s)[0]), points: score(s) } : undefined) },
  {
    rule: 'win_points',
    say: (s) => {
      const [first, second] = ranking(s.m);
      return first && second ? { name: s.name(first.id), points: [first.points, first.points - second.points] } : undefined;
    },
  },
];

const winners = (s: Scene): string[] => s.m.order.filter((id) => s.m.seats[id]?.place === 1);

/**
 * The line of a match as far as it is shown: of the newest closed round up to the shown one, or of the result. ended: whether the
 * page shows the end. Undefined before the first round has closed.
 */
export function lineOf(m: MatchState, shown: number, ended: boolean, context: Context = noContext): Line | undefined {
  const all = factsOf(m, shown);
  if (m.rounds.some((r) => r.turn)) {
    const line = gameLineOf(m, shown);
    if (!ended || m.status !== 'finished' || !all.length) return line;
    return (
      pick(
        END_RULES.filter((r) => !NOT_IN_GAMES.has(r.rule)),
        scene(m, context, all),
      ) ?? line
    );
  }
  const now = m.rounds.find((r) => r.no === shown);
  if (!isOver(m) && now?.suddenDeath?.turn === 1 && !now.closedAt) {
    return { round: shown, rule: 'sudden_death', n: Object.keys(now.lanes).length, total: now.suddenDeath.turns };
  }
  let last: Line | undefined;
  for (let i = 0; i < all.length; i++) last = pick(ROUND_RULES, scene(m, context, all.slice(0, i + 1)), last?.rule) ?? last;
  if (!ended || m.status !== 'finished' || !all.length) return last;
  return pick(END_RULES, scene(m, context, all)) ?? last;
}

const scene = (m: MatchState, context: Context, all: readonly Facts[]): Scene => ({
  m,
  context,
  all,
  f: all.at(-1)!,
  name: (id) => m.seats[id ?? '']?.name ?? '',
});

/** The weightiest rule that applies and was not the last one's; the last one's again where no other applies. */
function pick(rules: readonly Rule[], s: Scene, before?: string): Line | undefined {
  let again: Line | undefined;
  for (const { rule, say } of rules) {
    const said = say(s);
    if (!said) continue;
    const line = { round: s.f.round.no, rule, ...said };
    if (rule !== before) return rule === 'closed' && again ? again : line;
    again = line;
  }
  return again;
}

/** Names of all rules, for the dictionaries. */
export const RULES: readonly string[] = ['sudden_death', ...ROUND_RULES.map((r) => r.rule), ...GAME_RULES, ...END_RULES.map((r) => r.rule)];
