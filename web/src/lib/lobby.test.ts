import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ArenaEvent, Match, MatchSeat } from './api/contract';
import { applyToLists, beside, emptyLists, inPlaces, listsOf, placed, RECENT, unplaced } from './lobby';

const log = readFileSync('src/lib/fixtures/duel.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((l) => JSON.parse(l) as ArenaEvent);
const at = (type: ArenaEvent['type']) => log.slice(0, log.findIndex((e) => e.type === type) + 1);

const seat = (id: string, points: number): MatchSeat => ({ agent_id: id, name: id, owner_id: 'ow_1', points, state: 'active' });
const match = (id: string, over: Partial<Match> = {}): Match => ({
  match_id: id,
  league: 'trivia',
  status: 'running',
  rated: true,
  round: 2,
  total_rounds: 5,
  created_at: '',
  starts_at: '2026-11-21T18:00:00.000Z',
  started_at: null,
  finished_at: null,
  seq: 9,
  format: 'ladder',
  judge: 'choice',
  visibility: 'sealed',
  time_limit_seconds: 12,
  viewers: 0,
  seats: [seat('ag_1', 1), seat('ag_2', 1)],
  ...over,
});

describe('the lists of matches', () => {
  it('moves a match from next to live to recent', () => {
    const scheduled = at('match_scheduled').reduce(applyToLists, emptyLists);
    expect([scheduled.next.length, scheduled.live.length, scheduled.recent.length]).toEqual([1, 0, 0]);
    const running = at('round_closed').reduce(applyToLists, emptyLists);
    expect([running.next.length, running.live.length, running.recent.length]).toEqual([0, 1, 0]);
    expect(running.live[0]).toMatchObject({ round: 1, league: 'trivia', total_rounds: 5 });
    expect(running.live[0]!.seats.map((s) => [s.name, s.points])).toEqual([
      ['Quill', 1],
      ['Meridian', 1],
    ]);
    const finished = log.reduce(applyToLists, emptyLists);
    expect([finished.next.length, finished.live.length, finished.recent.length]).toEqual([0, 0, 1]);
    expect(finished.recent[0]!.seats[0]).toMatchObject({ points: 4, place: 1, rating_delta: 18.244 });
  });

  it('knows the round of a live match, so that a stage can show it at once', () => {
    const [live] = at('round_started').reduce(applyToLists, emptyLists).live;
    const opened = log.find((e) => e.type === 'round_started')!;
    expect(live).toMatchObject({ time_limit_seconds: opened.time_limit_seconds });
    expect(live!.current_round).toMatchObject({
      round: 1,
      task: opened.task,
      started_at: opened.ts,
      deadline: opened.deadline,
      closed: false,
    });
    expect(at('round_closed').reduce(applyToLists, emptyLists).live[0]!.current_round).toEqual({ ...live!.current_round, closed: true });
  });

  it('knows the format of a match that it first heard of when it started, and who is out', () => {
    const log = readFileSync('src/lib/fixtures/elimination.jsonl', 'utf8')
      .trim()
      .split('\n')
      .map((l) => JSON.parse(l) as ArenaEvent);
    const [match] = log
      .slice(
        log.findIndex((e) => e.type === 'match_started'),
        log.findIndex((e) => e.type === 'match_finished'),
      )
      .reduce(applyToLists, emptyLists).live;
    expect(match).toMatchObject({ format: 'elimination', visibility: 'sealed' });
    expect(match!.seats.some((s) => s.state === 'out')).toBe(true);
    expect(match!.seats.some((s) => s.state === 'active')).toBe(true);
  });

  it('ignores what a list already knew', () => {
    const lists = listsOf([match('m_fixture_duel', { seq: log.length, round: 5 })]);
    expect(log.reduce(applyToLists, lists)).toBe(lists);
  });

  it('ignores a match that it never heard of, until it starts', () => {
    expect(applyToLists(emptyLists, log[2]!)).toBe(emptyLists);
    expect(applyToLists(emptyLists, log[1]!).live).toHaveLength(1);
  });

  it('counts viewers without a seq', () => {
    const lists = listsOf([match('m_1')]);
    const e: ArenaEvent = { type: 'viewers', match_id: 'm_1', ts: '', count: 7 };
    expect(applyToLists(lists, e).live[0]).toMatchObject({ viewers: 7, seq: 9 });
  });

  it('keeps no more than it shows, newest first', () => {
    const many = Array.from({ length: 20 }, (_, i) =>
      match(`m_${i}`, { status: 'finished', finished_at: `2026-11-21T18:${10 + i}:00.000Z` }),
    );
    const lists = listsOf(many);
    expect(lists.recent).toHaveLength(RECENT);
    expect(lists.recent[0]!.match_id).toBe('m_19');
  });

  it('fills the places beside the stage once, with the best of each league first', () => {
    const live = [match('m_1'), match('m_2'), match('m_3'), match('m_4', { league: 'maths' })];
    const first = beside([], live, 'm_1', 2);
    expect(first).toEqual(['m_2', 'm_4']);
    const later = [...live.filter((m) => m.match_id !== 'm_2'), match('m_5', { started_at: '2026-11-21T19:00:00.000Z' })];
    expect(beside(first, later, 'm_1', 2)).toEqual(['m_4', 'm_5']);
    expect(beside(first, [...live, match('m_5', { started_at: '2026-11-21T19:00:00.000Z' })], 'm_1', 2)).toEqual(first);
    expect(beside(first, [], undefined, 2)).toEqual([]);
  });
});

describe('the places beside the stage', () => {
  const ids = (matches: readonly Match[]) => matches.map((m) => m.match_id);
  const lists = (live: string[], over: string[] = []) =>
    listsOf([
      ...live.map((id) => match(id)),
      ...over.map((id) => match(id, { status: 'finished', finished_at: '2026-11-21T18:05:00.000Z' })),
    ]);

  it('keeps a match where it is, and fills a place that has become free', () => {
    const first = inPlaces([], lists(['a', 'b', 'c']), ['a', 'b', 'c']);
    expect(ids(first)).toEqual(['a', 'b', 'c']);
    expect(ids(inPlaces(first, lists(['c', 'd', 'a'], ['b']), ['c', 'a', 'd']))).toEqual(['a', 'd', 'c']);
  });

  it('shows the result of a match that has ended until another takes its place', () => {
    const first = inPlaces([], lists(['a', 'b']), ['a', 'b']);
    const ended = inPlaces(first, lists(['b'], ['a']), ['b']);
    expect(ended.map((m) => [m.match_id, m.status])).toEqual([
      ['a', 'finished'],
      ['b', 'running'],
    ]);
    expect(inPlaces(ended, lists(['b']), ['b']).map((m) => m.status)).toEqual(['finished', 'running']);
    expect(ids(inPlaces(ended, lists(['b', 'e'], ['a']), ['b', 'e']))).toEqual(['e', 'b']);
  });

  it('fills the places of a league and counts the matches without one', () => {
    const first = placed([], lists(['a', 'b', 'c']), 2);
    expect([ids(first), unplaced(first, lists(['a', 'b', 'c']))]).toEqual([['a', 'b'], 1]);
    const next = placed(first, lists(['d', 'c', 'b'], ['a']), 2);
    expect([ids(next)[1], unplaced(next, lists(['d', 'c', 'b']))]).toEqual(['b', 1]);
    const last = placed(next, lists([], ['d', 'c', 'b', 'a']), 2);
    expect([ids(last), unplaced(last, lists([]))]).toEqual([ids(next), 0]);
  });

  it('leaves out what has come to the stage', () => {
    const first = inPlaces([], lists(['a', 'b']), ['a', 'b']);
    expect(ids(inPlaces(first, lists(['a', 'b']), ['b'], 'a'))).toEqual(['b']);
  });
});
