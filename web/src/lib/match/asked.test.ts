import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../api/client';
import type { ArenaEvent, Ballot } from '../api/contract';
import { applyEvent, applyEvents } from './apply';
import { majority, saysOf } from './ballots';
import { sideOf, speechesOf } from './debate';
import { emptyMatch, lastRound, verdict } from './state';
import { nextPair, pairsOf, refusal } from './vote';

const read = (name: string): ArenaEvent[] =>
  readFileSync(`src/lib/fixtures/${name}.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ArenaEvent);
const start = emptyMatch('m');

describe('a debate', () => {
  const log = read('debate');
  const m = applyEvents(start, log);
  const [a, b] = m.order as [string, string];

  it('knows motion, half and turn of every round', () => {
    expect(m.rounds.map((r) => [r.debate?.half, r.debate?.turn, r.debate?.turns, r.debate?.closes])).toEqual([
      [1, 1, 2, false],
      [1, 2, 2, true],
      [2, 1, 2, false],
      [2, 2, 2, true],
    ]);
    expect(new Set(m.rounds.map((r) => r.debate?.motion)).size).toBe(1);
    expect(m.rounds[0]!.debate!.motion).not.toContain('Turn');
    expect(m.rounds.map((r) => [sideOf(r.debate!, a), sideOf(r.debate!, b)])).toEqual([
      ['for', 'against'],
      ['for', 'against'],
      ['against', 'for'],
      ['against', 'for'],
    ]);
  });

  it('shows the speeches of one half, up to the round', () => {
    expect(speechesOf(m, m.rounds[1]!, a).map((s) => s.turn)).toEqual([1, 2]);
    expect(speechesOf(m, m.rounds[2]!, a)).toHaveLength(1);
    expect(speechesOf(m, m.rounds[0]!, a)[0]!.text).toContain('program');
    expect(speechesOf(m, m.rounds[3]!, b).map((s) => s.text === undefined)).toEqual([false, true]);
  });

  it('is judged at the end of a half only', () => {
    const of = (no: number, id: string) => verdict(m.rounds[no - 1]!, m.rounds[no - 1]!.lanes[id]!);
    expect([of(1, a), of(2, a), of(2, b), of(3, a), of(4, b)]).toEqual(['said', 'right', 'wrong', 'said', 'none']);
    expect(m.rounds.map((r) => r.ballots.length)).toEqual([0, 6, 0, 6]);
  });

  it('has the majority of its panel', () => {
    const says = saysOf(m.rounds[1]!.ballots, a, b);
    expect(says.map((s) => [s.choice, s.turned])).toEqual([
      [a, false],
      [a, false],
      ['', true],
    ]);
    expect(majority(says)).toEqual({ id: a, n: 2 });
    expect(says[0]!.reasons).toHaveLength(1);
    expect(saysOf(m.rounds[1]!.ballots, b, a).map((s) => s.choice)).toEqual(says.map((s) => s.choice));
  });
});

describe('a log from before the debate field', () => {
  const old = read('debate').map((e) => (e.type === 'round_started' ? { ...e, debate: undefined } : e) as ArenaEvent);

  it('shows the tasks as they are', () => {
    const m = applyEvents(start, old);
    expect(m.rounds.map((r) => r.debate)).toEqual([undefined, undefined, undefined, undefined]);
    expect(m.rounds[0]!.task.description).toContain('Turn 1 of 2. For: Meridian.');
    expect(m.status).toBe('finished');
  });
});

describe('a vote', () => {
  const log = read('vote');
  const opened = log.findIndex((e) => e.type === 'vote_opened');

  it('opens with blind answers while the round is still sealed', () => {
    const m = applyEvents(start, log.slice(0, opened + 1));
    const round = lastRound(m)!;
    expect(round.vote).toMatchObject({ criteria: expect.any(String), entries: [{ label: 'A' }, { label: 'B' }] });
    expect(Date.parse(round.vote!.until)).toBeGreaterThan(Date.parse(log[opened]!.ts));
    for (const lane of Object.values(round.lanes)) expect(lane.answer).toBeUndefined();
    expect(round.closedAt).toBeUndefined();
  });

  it('is counted when the round closes', () => {
    const m = applyEvents(start, log);
    const [a, b] = m.order as [string, string];
    expect(m.rounds.map((r) => saysOf(r.ballots, a, b).map((s) => [s.choice, s.votes]))).toEqual([[[a, 14]], [[a, 22]], [['', 30]]]);
    expect(majority(saysOf(m.rounds[2]!.ballots, a, b))).toBeUndefined();
  });

  it('opens anew after a take-over, and the last one counts', () => {
    const before = applyEvents(start, log.slice(0, opened + 1));
    const again = applyEvent(before, { ...log[opened], seq: before.seq + 1, until: '2026-11-21T20:00:00.000Z' } as ArenaEvent);
    expect(lastRound(again)!.vote!.until).toBe('2026-11-21T20:00:00.000Z');
  });

  it('is on one pair at a time, and another when asked for', () => {
    const entries = ['A', 'B', 'C', 'D'].map((label) => ({ label, text: label }));
    const pairs = pairsOf(entries).map((p) => p.map((e) => e.label).join(''));
    expect(pairs).toEqual(['AB', 'AC', 'BC', 'AD', 'BD', 'CD']);
    for (const lot of [0, 0.4, 0.999]) {
      for (let at = 0; at < 6; at++) expect(nextPair(6, at, lot)).not.toBe(at);
      expect(nextPair(6, -1, lot)).toBeLessThan(6);
    }
    expect([nextPair(1, 0, 0.9), nextPair(0, -1, 0.9)]).toEqual([0, 0]);
  });

  it('is refused in words', () => {
    const kinds = [0, 409, 429, 403, 500].map((status) => refusal(new ApiError(status, '', '')));
    expect(kinds).toEqual(['network', 'conflict', 'rate', 'own', 'other']);
    expect(refusal(undefined)).toBe('other');
  });
});

describe('ballots', () => {
  const ballot = (judge: string, first: string, choice: string): Ballot => ({ judge, first, second: first === 'a' ? 'b' : 'a', choice });
  it('of one order only do not count', () => {
    expect(saysOf([ballot('j1', 'a', 'a'), ballot('j2', 'a', 'b'), ballot('j2', 'b', 'b')], 'a', 'b').map((s) => s.judge)).toEqual(['j2']);
  });
  it('of other answers are left out', () => {
    expect(
      saysOf(
        [
          { judge: 'j1', first: 'a', second: 'c', choice: 'a' },
          { judge: 'j1', first: 'c', second: 'a', choice: 'a' },
        ],
        'a',
        'b',
      ),
    ).toEqual([]);
  });
  it('without more than half are split', () => {
    const says = saysOf(
      ['j1', 'j2'].flatMap((j, i) => [ballot(j, 'a', i ? 'a' : 'b'), ballot(j, 'b', i ? 'a' : 'b')]),
      'a',
      'b',
    );
    expect(majority(says)).toBeUndefined();
  });
});
