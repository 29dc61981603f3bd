import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Agent, ArenaEvent } from '../api/contract';
import { expected } from '../rating';
import { applyEvents } from './apply';
import { chancesOf, oddsOf, priorsOf, shownChance, spanOf, swingsOf, winChance } from './odds';
import { emptyMatch } from './state';

const read = (name: string): ArenaEvent[] =>
  readFileSync(`src/lib/fixtures/${name}.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ArenaEvent);
const percent = (p: number) => Math.round(100 * p);

describe('winChance', () => {
  const start = { gap: 0, lead: 0, left: 5, total: 5 };

  it('is the expected score before the first round', () => {
    for (const gap of [-300, 0, 85, 400]) expect(winChance({ ...start, gap })).toBeCloseTo(expected(gap, 0), 12);
  });
  it('is that of the example in docs/rules.md', () => {
    const example = { gap: 100, total: 5 };
    expect(
      [
        winChance({ ...example, lead: 0, left: 5 }),
        winChance({ ...example, lead: -1, left: 4 }),
        winChance({ ...example, lead: 0, left: 2 }),
        winChance({ ...example, lead: 1, left: 1 }),
      ].map(percent),
    ).toEqual([64, 35, 59, 93]);
  });
  it('weighs a lead more and a rating less the fewer rounds are left', () => {
    const leads = [8, 4, 2, 1].map((left) => winChance({ gap: 0, lead: 1, left, total: 9 }));
    expect(leads).toEqual([...leads].sort((a, b) => a - b));
    const gaps = [9, 4, 2, 1].map((left) => winChance({ gap: 200, lead: 0, left, total: 9 }));
    expect(gaps).toEqual([...gaps].sort((a, b) => b - a));
  });
  it('adds up to one for both seats', () => {
    for (const byRound of [false, true]) {
      for (const lead of [-2, 0, 1.5])
        expect(
          winChance({ gap: 120, lead, left: 3, total: 7, byRound }) + winChance({ gap: -120, lead: -lead, left: 3, total: 7, byRound }),
        ).toBeCloseTo(1, 12);
    }
  });
  it('is certain once the lead cannot be caught, and only then', () => {
    expect(winChance({ gap: -500, lead: 3, left: 2, total: 5 })).toBe(1);
    expect(winChance({ gap: 500, lead: -1, left: 0, total: 5 })).toBe(0);
    expect(winChance({ gap: -500, lead: 2, left: 2, total: 5 })).toBeLessThan(1);
    expect(winChance({ gap: 300, lead: 0, left: 0, total: 5 })).toBe(0.5);
  });
  it('favors the higher rating more where every round is rated', () => {
    expect(winChance({ ...start, gap: 200, byRound: true })).toBeGreaterThan(winChance({ ...start, gap: 200 }));
    expect(winChance({ ...start, byRound: true })).toBe(0.5);
  });
});

describe('oddsOf', () => {
  const log = read('duel');
  const upTo = (type: ArenaEvent['type'], round: number) =>
    applyEvents(emptyMatch('m'), log.slice(0, 1 + log.findIndex((e) => e.type === type && e.round === round)));
  const whole = applyEvents(emptyMatch('m'), log);
  const priors = priorsOf(whole, {});

  it('takes the ratings before the match from its result', () => {
    expect(whole.order.map((id) => priors[id])).toEqual([
      { rating: 1500, matches: 30 },
      { rating: 1537, matches: 30 },
    ]);
  });
  it('takes the current ratings of a match without a result, 1500 for newcomers', () => {
    const first = upTo('round_started', 1);
    const agent = { ratings: { [first.league]: { rating: 1612, rated_matches: 12 } } } as unknown as Agent;
    const newcomer = { ratings: {} } as unknown as Agent;
    const [a, b] = [first.order[0]!, first.order[1]!];
    expect(priorsOf(first, { [a]: agent, [b]: newcomer })).toEqual({
      [a]: { rating: 1612, matches: 12 },
      [b]: { rating: 1500, matches: 0 },
    });
    expect(priorsOf(first, {})).toEqual({});
  });
  it('follows the score at the position that is shown, not the whole match', () => {
    expect(oddsOf(upTo('round_started', 1), priors)).toEqual({ kind: 'chance', first: expected(1500, 1537) });
    expect(oddsOf(upTo('round_closed', 2), priors)!.first).toBe(winChance({ gap: -37, lead: 1, left: 3, total: 5 }));
    expect(oddsOf(whole, priors)).toEqual({ kind: 'result', first: 1 });
  });
  it('counts agents without ratings as equal', () => expect(oddsOf(upTo('round_started', 1), {})!.first).toBe(0.5));
  it('shows the share of points where the end is open', () => {
    expect(oddsOf({ ...upTo('round_started', 1), totalRounds: null }, priors)).toEqual({ kind: 'points', first: 0.5 });
    expect(oddsOf({ ...upTo('round_closed', 2), totalRounds: null }, priors)).toEqual({ kind: 'points', first: 2 / 3 });
  });
  it('counts the halves of a debate', () => {
    const debate = read('debate');
    const closes = debate.findIndex(
      (e) =>
        e.type === 'round_closed' && applyEvents(emptyMatch('m'), debate.slice(0, debate.indexOf(e) + 1)).rounds.at(-1)?.debate?.closes,
    );
    const half = applyEvents(emptyMatch('m'), debate.slice(0, closes + 1));
    const [a, b] = half.order.map((id) => half.seats[id]!.points);
    expect(oddsOf(half, {})!.first).toBe(winChance({ gap: 0, lead: a! - b!, left: 1, total: 2 }));
  });
  it('is nothing for larger, void and scheduled matches', () => {
    expect(oddsOf(applyEvents(emptyMatch('m'), read('table')), {})).toBeUndefined();
    expect(oddsOf({ ...whole, status: 'void' }, priors)).toBeUndefined();
    expect(oddsOf(applyEvents(emptyMatch('m'), log.slice(0, 1)), priors)).toBeUndefined();
  });
});

describe('chancesOf', () => {
  const log = read('duel');
  const whole = applyEvents(emptyMatch('m'), log);
  const priors = priorsOf(whole, {});
  const upTo = (round: number) =>
    applyEvents(emptyMatch('m'), log.slice(0, 1 + log.findIndex((e) => e.type === 'round_closed' && e.round === round)));

  it('ends with what the bar shows, after each round', () => {
    for (const no of [1, 2, 3, 4])
      expect(chancesOf(whole, priors)[no]).toEqual({ round: whole.rounds[no - 1], first: oddsOf(upTo(no), priors)!.first });
    expect(chancesOf(whole, priors).map((c) => c.round?.no)).toEqual([undefined, 1, 2, 3, 4, 5]);
    expect(chancesOf(whole, priors)[0]!.first).toBe(expected(1500, 1537));
    expect(chancesOf(whole, priors).at(-1)!.first).toBe(1);
  });
  it('grows with the rounds that are shown', () => {
    expect(chancesOf(upTo(2), priors)).toHaveLength(3);
    expect(chancesOf(upTo(2), priors)[1]!.first).toBe(chancesOf(whole, priors)[1]!.first);
  });
  it('has one for each half of a debate', () => {
    const debate = applyEvents(emptyMatch('m'), read('debate'));
    expect(spanOf(debate)).toBe(2);
    expect(chancesOf(debate, {})).toHaveLength(3);
  });
  it('is empty where no chance is known', () => {
    expect(chancesOf({ ...whole, totalRounds: null }, priors)).toEqual([]);
    expect(chancesOf({ ...whole, status: 'void' }, priors)).toEqual([]);
    expect(chancesOf(applyEvents(emptyMatch('m'), read('table')), {})).toEqual([]);
    expect(spanOf(applyEvents(emptyMatch('m'), read('table')))).toBe(0);
  });
});

describe('swingsOf', () => {
  const of = (...chances: number[]) => swingsOf(chances.map((first) => ({ first })));

  it('has the three largest, in their order', () => expect(of(0.5, 0.7, 0.3, 0.1, 0.4, 0.9)).toEqual([2, 4, 5]));
  it('leaves small ones out', () => expect(of(0.5, 0.64, 0.5, 0.66)).toEqual([3]));
  it('is empty before the first round', () => expect([of(), of(0.5)]).toEqual([[], []]));
});

it('shows certainty only where it is one', () => expect([0, 0.0001, 0.5, 0.9999, 1].map(shownChance)).toEqual([0, 0.01, 0.5, 0.99, 1]));
