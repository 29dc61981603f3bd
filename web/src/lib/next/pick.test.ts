import { describe, expect, it } from 'vitest';
import type { Match, MatchSeat, Pairing, WholeSeason } from '../api/contract';
import { FEW, finalsOf, interest, interrupts, isFinal, isReading, nothingKnown, pick, ranked, STAY_MS, withSeen, type Known } from './pick';

const seat = (id: string, points = 0, state: MatchSeat['state'] = 'active'): MatchSeat => ({
  agent_id: id,
  name: id,
  owner_id: 'ow_1',
  points,
  state,
});
const match = (id: string, over: Partial<Match> = {}): Match => ({
  match_id: id,
  league: 'trivia',
  status: 'running',
  rated: true,
  round: 1,
  total_rounds: 5,
  created_at: '',
  starts_at: '',
  started_at: '2026-11-21T18:00:00.000Z',
  finished_at: null,
  seq: 9,
  format: 'ladder',
  judge: 'choice',
  visibility: 'sealed',
  time_limit_seconds: 12,
  viewers: 0,
  seats: [seat('ag_1'), seat('ag_2')],
  ...over,
});
const known = (over: Partial<Known>): Known => ({ ...nothingKnown, ...over });
const ids = (list: readonly Match[]) => list.map((m) => m.match_id);
const survivors = (n: number) =>
  match(`m_${n}_left`, {
    format: 'elimination',
    total_rounds: null,
    seats: Array.from({ length: 16 }, (_, i) => seat(`ag_${i}`, 1, i < n ? 'active' : 'out')),
  });

describe('the best live match', () => {
  it('is the final of a bracket before anything closer', () => {
    const final = match('m_final', { seats: [seat('ag_1', 3), seat('ag_2')], round: 4 });
    expect(ids(ranked([match('m_close'), final], known({ finals: new Set(['m_final']) })))).toEqual(['m_final', 'm_close']);
    expect(ids(ranked([match('m_close'), final]))).toEqual(['m_close', 'm_final']);
  });

  it('is an elimination match with few agents left before a plain one', () => {
    expect(isFinal(survivors(FEW), nothingKnown)).toBe(true);
    expect(isFinal(survivors(FEW + 1), nothingKnown)).toBe(false);
    expect(isFinal(survivors(1), nothingKnown)).toBe(false);
    expect(isFinal(match('m_small', { format: 'elimination', seats: [seat('ag_1'), seat('ag_2'), seat('ag_3')] }), nothingKnown)).toBe(
      false,
    );
    expect(ids(ranked([match('m_plain'), survivors(3)]))[0]).toBe('m_3_left');
  });

  it('is the closest one, and of equals the stronger one', () => {
    const ratings = { trivia: { ag_1: 1500, ag_2: 1500, ag_3: 1900, ag_4: 1900, ag_5: 1900, ag_6: 1300 } };
    const live = [
      match('m_even'),
      match('m_strong', { seats: [seat('ag_3'), seat('ag_4')] }),
      match('m_odd', { seats: [seat('ag_5'), seat('ag_6')] }),
    ];
    expect(ids(ranked(live, known({ ratings })))).toEqual(['m_strong', 'm_even', 'm_odd']);
    expect(interest(match('m_over', { seats: [seat('ag_1', 4), seat('ag_2', 0)], round: 5 }), nothingKnown)).toBe(0);
  });

  it('has the most seats among equals, then is the youngest, then has the first id', () => {
    const many = match('m_many', { seats: ['a', 'b', 'c'].map((x) => seat(x)) });
    const young = match('m_young', { started_at: '2026-11-21T18:05:00.000Z' });
    expect(ids(ranked([match('m_b'), match('m_a'), young, many]))).toEqual(['m_many', 'm_young', 'm_a', 'm_b']);
  });

  it('is running', () => {
    expect(pick([match('m_1', { status: 'ready' }), match('m_2', { status: 'finished' })], nothingKnown)).toBeUndefined();
  });

  it('has not been seen while another one is live, and is never the present one', () => {
    const live = [match('m_1'), match('m_2'), match('m_3')];
    expect(pick(live, nothingKnown, ['m_1'], 'm_2')?.match_id).toBe('m_3');
    expect(pick(live.slice(0, 2), nothingKnown, ['m_1', 'm_2'], 'm_2')?.match_id).toBe('m_1');
    expect(pick(live.slice(0, 1), nothingKnown, ['m_1'], 'm_1')).toBeUndefined();
  });

  it('is interrupted by a final only, and not in its first 20 seconds', () => {
    const present = match('m_1');
    const closer = match('m_2', { seats: ['a', 'b', 'c'].map((x) => seat(x)) });
    const final = known({ finals: new Set(['m_3']) });
    expect(interrupts([present, closer], nothingKnown, [], present, STAY_MS)).toBeUndefined();
    expect(interrupts([present, match('m_3')], final, [], present, STAY_MS - 1)).toBeUndefined();
    expect(interrupts([present, match('m_3')], final, [], present, STAY_MS)?.match_id).toBe('m_3');
    expect(interrupts([present, match('m_3')], final, ['m_3'], present, STAY_MS)).toBeUndefined();
    expect(interrupts([survivors(2), match('m_3')], final, [], survivors(2), STAY_MS)).toBeUndefined();
  });
});

describe('the final of a season', () => {
  const pairing = (slot: number, id: string, bracket?: Pairing['bracket']): Pairing => ({
    slot,
    game: 1,
    agents: [],
    match_id: id,
    ...(bracket && { bracket }),
  });
  const season = (format: string, ...rounds: Pairing[][]): WholeSeason => ({
    season: 1,
    season_id: 's_1',
    status: 'running',
    format,
    started_at: '',
    podium: [],
    table: [],
    entrants: [],
    frozen: false,
    rounds: rounds.map((pairings, i) => ({ round: i + 1, pairings })),
  });

  it('is the only board of the last round of a knockout, with every game of its series', () => {
    expect(finalsOf(season('knockout', [pairing(1, 'm_1'), pairing(2, 'm_2')]))).toEqual([]);
    expect(
      finalsOf(season('knockout', [pairing(1, 'm_1'), pairing(2, 'm_2')], [pairing(1, 'm_3'), { ...pairing(1, 'm_4'), game: 2 }])),
    ).toEqual(['m_3', 'm_4']);
  });

  it('is named in a double elimination', () => {
    expect(finalsOf(season('double_elimination', [pairing(1, 'm_1', 'winners')], [pairing(1, 'm_2', 'losers')]))).toEqual([]);
    expect(finalsOf(season('double_elimination', [pairing(1, 'm_1', 'winners')], [pairing(1, 'm_2', 'final')]))).toEqual(['m_2']);
  });

  it('does not exist in other formats', () => {
    expect(finalsOf(season('swiss', [pairing(1, 'm_1')]))).toEqual([]);
    expect(finalsOf(season('knockout'))).toEqual([]);
  });
});

describe('what was seen', () => {
  it('is remembered once, the newest last, and not for ever', () => {
    expect(withSeen(['a', 'b'], 'a')).toEqual(['b', 'a']);
    const many = Array.from({ length: 80 }, (_, i) => `m_${i}`).reduce<string[]>(withSeen, []);
    expect(many).toHaveLength(50);
    expect(many.at(-1)).toBe('m_79');
  });
});

describe('a key press', () => {
  const press = (key: string, over = {}) => isReading({ key, ctrlKey: false, metaKey: false, altKey: false, ...over });
  it.each(['a', ' ', '?', 'ArrowDown', 'PageDown', 'Home', 'End', 'Tab', 'Enter'])('%s shows a reader', (key) =>
    expect(press(key)).toBe(true),
  );
  it.each(['Escape', 'Shift', 'Control', 'F11', 'AudioVolumeUp', 'MediaPlayPause'])('%s does not', (key) => expect(press(key)).toBe(false));
  it('does not with a modifier of the browser', () =>
    expect([press('c', { ctrlKey: true }), press('c', { metaKey: true }), press('ArrowLeft', { altKey: true })]).toEqual([
      false,
      false,
      false,
    ]));
});
