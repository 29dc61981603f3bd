import { describe, expect, it } from 'vitest';
import type { Match } from '../api/contract';
import { Announcer, LEAGUE_QUIET_MS } from './announcer';
import { FOLLOWS_MAX, isFollowed, lineUp, parseFollows, toggled, type Follow } from './follow';

const NOW = Date.parse('2026-11-21T18:00:00.000Z');
const match = (id: string, agents: string[], over: Partial<Match> = {}): Match => ({
  match_id: id,
  league: 'trivia',
  status: 'running',
  rated: true,
  round: 1,
  total_rounds: 5,
  created_at: '',
  starts_at: '',
  started_at: new Date(NOW).toISOString(),
  finished_at: null,
  seq: 9,
  format: 'ladder',
  judge: 'choice',
  visibility: 'sealed',
  time_limit_seconds: 12,
  viewers: 0,
  seats: agents.map((a) => ({ agent_id: a, name: a, owner_id: 'ow_1', points: 0, state: 'active' })),
  ...over,
});
const agent = (id: string): Follow => ({ kind: 'agent', id, name: id });
const league = (id: string): Follow => ({ kind: 'league', id, name: id });
const ids = (list: readonly Match[]) => list.map((m) => m.match_id);

describe('the stored list', () => {
  it('survives being stored', () => {
    const list = [agent('ag_1'), league('trivia')];
    expect(parseFollows(JSON.stringify(list))).toEqual(list);
  });

  it.each([
    null,
    '',
    '{',
    'null',
    '7',
    '{"kind":"agent"}',
    '[null, 7, "ag_1", [], {}]',
    '[{"kind":"owner","id":"x"}]',
    '[{"kind":"agent","id":""}]',
    '[{"kind":"agent","id":7}]',
  ])('is empty for %s', (text) => expect(parseFollows(text)).toEqual([]));

  it('drops what is too long, repeated or too much', () => {
    const long = { kind: 'agent', id: 'x'.repeat(65), name: 'x' };
    const named = { kind: 'agent', id: 'ag_1', name: 'n'.repeat(500) };
    const read = parseFollows(JSON.stringify([long, named, named, ...Array.from({ length: 200 }, (_, i) => agent(`ag_x${i}`))]));
    expect(read).toHaveLength(FOLLOWS_MAX);
    expect(read[0]).toMatchObject({ id: 'ag_1' });
    expect(read[0]!.name).toHaveLength(80);
    expect(read[1]!.id).toBe('ag_x0');
  });
});

describe('following', () => {
  it('is turned on and off', () => {
    const on = toggled([], agent('ag_1'))!;
    expect(isFollowed(on, 'agent', 'ag_1')).toBe(true);
    expect(isFollowed(on, 'league', 'ag_1')).toBe(false);
    expect(toggled(on, agent('ag_1'))).toEqual([]);
  });

  it('has a limit, at which one can still stop', () => {
    const full = Array.from({ length: FOLLOWS_MAX }, (_, i) => agent(`ag_${i}`));
    expect(toggled(full, agent('ag_new'))).toBeUndefined();
    expect(toggled(full, agent('ag_0'))).toHaveLength(FOLLOWS_MAX - 1);
  });

  it('lists what is live first, then what plays soonest', () => {
    const follows = [agent('ag_idle'), agent('ag_late'), agent('ag_soon'), league('maths')];
    const next = [
      match('m_late', ['ag_late'], { starts_at: '2026-11-21T19:00:00.000Z' }),
      match('m_soon', ['ag_soon'], { starts_at: '2026-11-21T18:30:00.000Z' }),
    ];
    const lines = lineUp(follows, [match('m_live', ['ag_9'], { league: 'maths' })], next);
    expect(lines.map((l) => [l.follow.id, l.live?.match_id ?? l.next?.match_id])).toEqual([
      ['maths', 'm_live'],
      ['ag_soon', 'm_soon'],
      ['ag_late', 'm_late'],
      ['ag_idle', undefined],
    ]);
  });
});

describe('a match that starts', () => {
  it('is announced once, if it is followed and was not live before', () => {
    const a = new Announcer();
    expect(a.started([match('m_1', ['ag_1'])], [agent('ag_1')], NOW)).toEqual([]);
    const live = [match('m_1', ['ag_1']), match('m_2', ['ag_2', 'ag_1']), match('m_3', ['ag_3'])];
    expect(ids(a.started(live, [agent('ag_1')], NOW))).toEqual(['m_2']);
    expect(a.started([], [agent('ag_1')], NOW)).toEqual([]);
    expect(a.started(live, [agent('ag_1')], NOW)).toEqual([]);
  });

  it('is not announced when it started long ago', () => {
    const a = new Announcer();
    a.started([], [], NOW);
    expect(a.started([match('m_1', ['ag_1'])], [agent('ag_1')], NOW + 10 * 60_000)).toEqual([]);
  });

  it('waits until it runs', () => {
    const a = new Announcer();
    a.started([], [], NOW);
    expect(a.started([match('m_1', ['ag_1'], { status: 'ready' })], [agent('ag_1')], NOW)).toEqual([]);
    expect(ids(a.started([match('m_1', ['ag_1'])], [agent('ag_1')], NOW))).toEqual(['m_1']);
  });

  it('of a league is announced at most once a minute, of an agent always', () => {
    const a = new Announcer();
    const follows = [league('trivia'), agent('ag_1')];
    a.started([], follows, NOW);
    expect(ids(a.started([match('m_1', ['x']), match('m_2', ['y'])], follows, NOW))).toEqual(['m_1']);
    expect(ids(a.started([match('m_3', ['x']), match('m_4', ['ag_1'])], follows, NOW + 1_000))).toEqual(['m_4']);
    expect(ids(a.started([match('m_5', ['x'])], follows, NOW + LEAGUE_QUIET_MS))).toEqual(['m_5']);
  });
});
