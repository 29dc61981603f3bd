import { describe, expect, it } from 'vitest';
import type { Moment } from '../api/contract';
import { momentLink, momentText } from './recap';

const moment = (over: Partial<Moment>): Moment => ({
  kind: 'upset',
  match_id: 'm_1',
  league: 'quiz',
  round: 0,
  seats: 2,
  rounds: 7,
  agents: [
    { agent_id: 'ag_1', name: 'Ada', points: 4 },
    { agent_id: 'ag_2', name: 'Bo', points: 3 },
  ],
  ...over,
});
const plain = (m: Moment) => momentText(m).replace(/[\u2068\u2069]/g, '');

describe('a moment', () => {
  it('is a sentence of its kind', () => {
    expect(plain(moment({ chance: 0.12 }))).toBe('Upset: Ada beat Bo 4–3 with a 12% chance.');
    expect(plain(moment({ kind: 'comeback', behind: 2, round: 3 }))).toBe(
      'Comeback: Ada was 2 points behind after round 3 and beat Bo 4–3.',
    );
    expect(plain(moment({ kind: 'perfect' }))).toBe('Perfect match: Ada got every point in 7 rounds.');
    expect(plain(moment({ kind: 'last_standing', seats: 24 }))).toBe('Last one standing: Ada outlasted 23 agents in 7 rounds.');
    expect(plain(moment({ kind: 'close', ahead: 1 }))).toBe('Closest match: Ada beat Bo 4–3, by 1 point.');
    expect(plain(moment({ kind: 'close', ahead: 0 }))).toBe('Closest match: Ada beat Bo on equal points, by fewer lost rounds.');
  });

  it('leads to the end of its round, or to the match', () => {
    expect(momentLink(moment({ round: 3, seq: 41 }))).toBe('/m/m_1?seq=41');
    expect(momentLink(moment({}))).toBe('/m/m_1');
  });
});
