import { describe, expect, it } from 'vitest';
import type { ArenaEvent, StandingBrief } from '../api/contract';
import { words } from '../i18n';
import { texts } from '../i18n/commentary.en';
import { applyEvents } from '../match/apply';
import { emptyMatch, lastRound, type MatchState } from '../match/state';
import { lineOf, noContext, RULES, type Context } from './commentary';
import { named, textOf } from './text';

// Logs are written as one text per round: a letter per seat, in seat order.
// r right, h half a point, w wrong, t timeout, v void, . not playing.

interface Shape {
  format?: string;
  total?: number | null;
  /** The round at which the sudden death begins. */
  sudden?: number;
  debate?: boolean;
  finish?: boolean;
  ratings?: readonly number[];
}

const id = (i: number) => `ag_${i}`;
const NAMES = ['Ada', 'Bob', 'Cy', 'Dee', 'Eve', 'Fay', 'Gus', 'Hal', 'Ivy', 'Jo'];
const POINTS: Readonly<Record<string, number>> = { r: 1, h: 0.5 };

function logOf(rounds: readonly string[], shape: Shape = {}): ArenaEvent[] {
  const seats = [...rounds[0]!].map((_, i) => ({ agent_id: id(i), name: NAMES[i] ?? `N${i}` }));
  const events: ArenaEvent[] = [];
  const add = (e: object) => events.push({ match_id: 'm', ts: '2026-11-21T18:00:00.000Z', seq: events.length + 1, ...e } as ArenaEvent);
  const sum = seats.map(() => 0);
  const lost = seats.map(() => 0);
  const out = seats.map(() => 0);
  const standings = (): StandingBrief[] => {
    const key = (i: number) => (out[i] || 999) * 1e6 + sum[i]! * 1000 - lost[i]!;
    return seats.map((s, i) => ({
      agent_id: s.agent_id,
      points: sum[i]!,
      place: 1 + seats.filter((_, j) => key(j) > key(i)).length,
      state: out[i] ? 'out' : 'active',
    }));
  };
  add({
    type: 'match_started',
    league: 'l',
    format: shape.format ?? 'ladder',
    visibility: 'sealed',
    rated: true,
    total_rounds: shape.total === undefined ? rounds.length : shape.total,
    seats,
  });
  rounds.forEach((text, r) => {
    const no = r + 1;
    add({
      type: 'round_started',
      round: no,
      task: { description: '?' },
      time_limit_seconds: 10,
      deadline: '',
      ...(shape.sudden && no >= shape.sudden ? { sudden_death: { turn: no - shape.sudden + 1, turns: 5 } } : {}),
      ...(shape.debate
        ? { debate: { half: 1 + Math.floor(r / 2), turn: 1 + (r % 2), turns: 2, for: id(0), against: id(1), motion: 'M' } }
        : {}),
    });
    const outcome = (c: string) => (c === 't' ? 'timeout' : c === 'v' ? 'void' : 'answered');
    [...text].forEach(
      (c, i) =>
        c !== '.' && add({ type: 'seat_outcome', round: no, agent_id: id(i), outcome: outcome(c), elapsed_ms: 100 * (i + 1), attempts: 1 }),
    );
    [...text].forEach((c, i) => {
      sum[i]! += POINTS[c] ?? 0;
      lost[i]! += c === 't' ? 1 : 0;
    });
    if (shape.format === 'elimination' && /r/.test(text)) [...text].forEach((c, i) => 'wt'.includes(c) && (out[i] = no));
    add({ type: 'reveal', round: no, events: [] });
    add({
      type: 'round_closed',
      round: no,
      correct: 'x',
      standings: standings(),
      seats: [...text].flatMap((c, i) =>
        c === '.' ? [] : [{ agent_id: id(i), answer: 'x', points: POINTS[c] ?? 0, outcome: outcome(c), elapsed_ms: 100 * (i + 1) }],
      ),
    });
  });
  if (shape.finish) {
    add({
      type: 'match_finished',
      league: 'l',
      rated: true,
      seats: standings(),
      rating_changes:
        shape.ratings?.map((rating_before, i) => ({ agent_id: id(i), rating_before, rating_after: rating_before, rating_delta: 0 })) ?? [],
    });
  }
  return events;
}

const stateOf = (events: readonly ArenaEvent[]): MatchState => applyEvents(emptyMatch('m'), events);
const line = (m: MatchState, context: Context = noContext) => lineOf(m, lastRound(m)?.no ?? 0, m.status === 'finished', context);
const said = (rounds: readonly string[], shape: Shape = {}, context: Context = noContext) => {
  const got = line(stateOf(logOf(rounds, shape)), context);
  return got ? `${got.rule}: ${textOf(got).replace(/[\u2068\u2069]/g, '')}` : '';
};

const elimination = { format: 'elimination', total: null } as const;
const five = { total: 5 } as const;
const long = { total: 20 } as const;
const open = { total: null } as const;

describe('the line after a round', () => {
  it.each<[string, readonly string[], Shape, string]>([
    ['a void round', ['vv'], five, 'void: This round doesn’t count: the fault was ours.'],
    ['the first lead', ['rw'], long, 'lead_first: Ada takes the lead.'],
    ['a lead for the first time', ['rw', 'wr', 'wr'], long, 'lead_new: Bob takes the lead for the first time.'],
    ['a lead that comes back', ['rw', 'wr', 'wr', 'rw', 'rw'], long, 'lead_change: Ada takes the lead back from Bob.'],
    ['level', ['rw', 'wr'], long, 'level: Level again at 1–1.'],
    ['level after two behind', ['rw', 'rw', 'wr', 'wr'], long, 'comeback: Bob was 2 behind and is level at 2–2.'],
    ['match point', ['rw', 'rr', 'rw'], five, 'match_point: Match point for Ada at 3–1.'],
    ['decided', ['rw', 'rw', 'rw'], five, 'decided: Ada can no longer be caught: 3–0 with 2 rounds to go.'],
    ['before the last round', ['rw', 'wr'], { total: 3 }, 'decider: Level at 1–1. The last round decides.'],
    ['a streak', ['rw', 'rr', 'rw'], long, 'streak: Ada has 3 right in a row.'],
    ['the same round rule twice', ['rr', 'ww', 'ww'], long, 'nobody: Round 3: No points for anyone.'],
    ['nobody', ['ww'], long, 'nobody: Round 1: No points for anyone.'],
    ['both right', ['rr'], long, 'fastest: Round 1: Ada had the first right answer, after 0.1 s.'],
    ['both right again', ['rr', 'rr'], long, 'had_it: Round 2: 2 of 2 got it right.'],
    ['only one of many', ['wwrw'], { total: null, format: 'ladder' }, 'lead_first: Cy takes the lead.'],
    ['only one of many, without a lead', ['rrww', 'wwrw'], open, 'lone: Round 2: Only Cy got it right; 3 others missed.'],
    ['a timeout', ['hhhh', 'hhht'], open, 'late: Round 2: Dee ran out of time.'],
    ['a part of the points', ['rwhh', 'rwhh', 'hrhh'], open, 'takes: Bob takes round 3.'],
    ['parts for all', ['hh'], long, 'closed: Round 1 is over.'],
    ['half of a debate', ['hh', 'rw'], { total: 4, debate: true }, 'half: Ada wins half 1.'],
    ['half of a debate without a winner', ['hh', 'hh'], { total: 4, debate: true }, 'half_level: Half 1 is a tie.'],
    ['a speech', ['hh'], { total: 4, debate: true }, ''],
    ['one out', ['rrrrrw'], elimination, 'drops: Fay is out. 5 of 6 left.'],
    ['two of ten out', ['rrrrrrrrww'], elimination, 'out: 2 out. 8 of 10 left.'],
    ['a third out', ['rrrrrrwww'], elimination, 'mass_out: 3 out in a single round. 6 of 9 left.'],
    ['few left', ['rrwww'], elimination, 'few_left: 3 more out. Still in: Ada and Bob.'],
    ['one left', ['rwwww'], elimination, 'last_standing: Ada is the last one standing.'],
    ['everyone right', ['rrrrr'], elimination, 'all_stay: Round 1: Everyone knew that one. 5 stay in.'],
    ['nobody right', ['wwwww'], elimination, 'none_drop: Round 1: No agent got it right, so 5 stay in.'],
    [
      'sudden death, still level',
      ['rrr', 'rrr'],
      { ...elimination, sudden: 2 },
      'sudden_level: Still level: sudden death, round 1 of 5, changes nothing for 3 agents.',
    ],
  ])('%s', (_, rounds, shape, want) => expect(said(rounds, shape)).toBe(want));

  it('says that the lower rated leads, from half of the match on', () => {
    const context = { upsets: 0, priors: { ag_0: { rating: 1400 }, ag_1: { rating: 1600 } } };
    expect(said(['rw', 'rr'], { total: 6 }, context)).toMatch(/^fastest/);
    expect(said(['rw', 'rr', 'ww'], { total: 6 }, context)).toBe('upset_pending: Ada leads, though rated 200 points lower.');
    expect(said(['wr', 'rr', 'ww'], { total: 6 }, context)).toMatch(/^nobody/);
  });

  it('announces a sudden death when its first round opens', () => {
    const events = logOf(['rrr', 'rrr', 'rrr'], { ...elimination, sudden: 3 });
    const at = events.findIndex((e) => e.type === 'round_started' && e.sudden_death);
    expect(textOf(line(stateOf(events.slice(0, at + 1)))!)).toBe('Sudden death: 3 agents are level and play up to 5 more rounds.');
  });

  it('does not repeat a rule where another one applies', () => {
    const rounds = ['rrrrrrrrww', 'rrrrrrww..', 'rrrrww....'];
    const rules = rounds.map((_, i) => line(stateOf(logOf(rounds.slice(0, i + 1), elimination)))!.rule);
    rules.slice(1).forEach((rule, i) => expect(rule).not.toBe(rules[i]));
  });

  it('is that of the shown round, while the next one is open', () => {
    const events = logOf(['rw', 'wr'], long);
    const second = events.findIndex((e) => e.type === 'round_started' && e.round === 2);
    expect(line(stateOf(events.slice(0, second + 1)))?.round).toBe(1);
    expect(lineOf(stateOf(events), 1, false)?.round).toBe(1);
    expect(line(stateOf(events.slice(0, 2)))).toBeUndefined();
  });
});

describe('the line of the result', () => {
  const end = { finish: true } as const;
  it.each<[string, readonly string[], Shape, string]>([
    ['a score', ['rw', 'rr', 'rw', 'wr'], end, 'win_score: Ada wins 3–2.'],
    ['a win in the last round', ['rw', 'wr', 'rw'], end, 'win_last_round: Ada wins it in the last round, 2–1.'],
    ['a comeback', ['rw', 'rw', 'wr', 'wr', 'wr'], end, 'win_comeback: Bob wins 3–2 after being 2 behind.'],
    ['a perfect match', ['rw', 'rr', 'rw'], end, 'win_perfect: Ada wins with all 3 rounds right.'],
    ['a draw', ['rw', 'wr'], end, 'draw: A draw at 1–1.'],
    ['equal points', ['rw', 'tr'], end, 'win_lost_rounds: Bob wins on equal points: Ada timed out more often.'],
    ['an upset', ['rw', 'rr'], { ...end, ratings: [1400, 1600] }, 'win_upset: Upset: Ada wins with a 24% chance.'],
    ['an expected win', ['rw', 'rr'], { ...end, ratings: [1600, 1400] }, 'win_score: Ada wins 2–1.'],
    ['a win on points', ['rwhh', 'rwhh'], end, 'win_points: Ada wins on points: 2, 1 ahead.'],
    ['a tie of many', ['rrww'], end, 'tie: 2 agents share first place: equal points, equally many timeouts.'],
    ['an elimination', ['rrrrw', 'rwww.'], { ...elimination, ...end }, 'win_outlasts: Ada outlasts 4 others in 2 rounds.'],
    ['a sudden death', ['rr', 'rr', 'rw'], { ...elimination, ...end, sudden: 2 }, 'win_sudden: Ada wins in round 2 of sudden death.'],
    [
      'a sudden death without a winner',
      ['rrr', 'rrr'],
      { ...elimination, ...end, sudden: 2 },
      'tie_sudden: Sudden death ends level after 1 round: Ada, Bob, and Cy share first place.',
    ],
  ])('%s', (_, rounds, shape, want) => expect(said(rounds, shape)).toBe(want));

  it('counts the upsets of the night', () => {
    expect(said(['rw', 'rr'], { finish: true, ratings: [1400, 1600] }, { priors: {}, upsets: 2 })).toBe(
      'win_upset: Upset number 3 of the night: Ada wins with a 24% chance.',
    );
  });

  it('waits until the end is shown', () => {
    const m = stateOf(logOf(['rw', 'rr'], { finish: true }));
    expect(lineOf(m, 2, false)?.rule).not.toMatch(/^win/);
  });
});

describe('every line', () => {
  const random = (seed: number) => () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
  const randomLog = (seed: number): ArenaEvent[] => {
    const next = random(seed);
    const seats = 2 + Math.floor(next() * 8);
    const knockout = seats > 2 && next() < 0.6;
    const still = Array.from({ length: seats }, () => true);
    const rounds: string[] = [];
    for (let r = 0; r < 6; r++) {
      const text = still.map((s) => (s ? 'rrrwthv'[Math.floor(next() * 7)]! : '.'));
      rounds.push(text.join(''));
      if (knockout && text.includes('r')) text.forEach((c, i) => 'wt'.includes(c) && (still[i] = false));
    }
    return logOf(rounds, {
      ...(knockout ? { format: 'elimination', total: null, ...(next() < 0.5 ? { sudden: 4 } : {}) } : {}),
      finish: true,
      ratings: still.map(() => 1300 + Math.floor(next() * 500)),
    });
  };

  it('depends on the events up to the shown position alone, and not on those of an open round', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const events = randomLog(seed);
      const whole = stateOf(events);
      const closed = new Map<number, ReturnType<typeof line>>();
      let before: ReturnType<typeof line>;
      let m = emptyMatch('m');
      for (const e of events) {
        m = applyEvents(m, [e]);
        const now = line(m);
        const sudden = lastRound(m)?.suddenDeath?.turn === 1;
        if (e.type !== 'round_closed' && e.type !== 'match_finished' && !sudden) expect(now).toEqual(before);
        if (e.type === 'round_closed') closed.set(e.round ?? 0, now);
        before = now;
      }
      // Rounds after the shown one change nothing, though the page may know them.
      for (const [no, now] of closed) expect(lineOf(whole, no, false)).toEqual(now);
    }
  });

  it('has a text without open blanks, in both languages', async () => {
    for (const language of ['es', 'en'] as const) {
      await words.use(language, false);
      for (let seed = 1; seed <= 60; seed++) {
        let m = emptyMatch('m');
        for (const e of randomLog(seed)) {
          const got = line((m = applyEvents(m, [e])));
          if (got) expect(textOf(got)).not.toMatch(/[{}]|undefined|NaN/);
        }
      }
    }
  });

  it('has a text in the dictionary for its rule, and no other', () => {
    const keys = new Set(
      Object.keys(texts)
        .filter((k) => k.startsWith('commentary.say.'))
        .map((k) =>
          k
            .slice('commentary.say.'.length)
            .replace(/_(one|other)$/, (end, _, at: number, whole: string) => (RULES.includes(whole) ? end : '')),
        ),
    );
    expect([...keys].sort()).toEqual([...RULES].sort());
  });
});

describe('a name', () => {
  it('is cut, on one line, and cannot turn the sentence around', () => {
    expect(named('Ada')).toBe('\u2068Ada\u2069');
    expect(named('\u202eevil\u2069 \n <b>{n}')).toBe('\u2068evil <b>{n}\u2069');
    expect([...named('x'.repeat(100))]).toHaveLength(30);
  });
});
