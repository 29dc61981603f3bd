import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Pairing, TableRow, WholeSeason } from '../api/contract';
import { storyOf, type MomentKind } from './story';

const entrant = (name: string, rating: number) =>
  ({ agent_id: `ag_${name}`, name, owner_id: 'ow_1', rating, round: 1 }) as WholeSeason['entrants'][number];
let no = 0;
const met = (a: string, b: string, score: number, result: Pairing['result'] = 'played'): Pairing =>
  ({
    slot: 1,
    game: 1,
    result,
    match_id: `m_${++no}`,
    agents: [
      { agent_id: `ag_${a}`, name: a, score },
      { agent_id: `ag_${b}`, name: b, score: 1 - score },
    ],
  }) as Pairing;
const row = (rank: number, name: string, wins: number, draws: number, losses: number): TableRow =>
  ({ rank, agent_id: `ag_${name}`, name, wins, draws, losses, played: wins + draws + losses, score: wins + draws / 2 }) as TableRow;

function season(over: Partial<WholeSeason> = {}, ...rounds: Pairing[][]): WholeSeason {
  return {
    season: 1,
    season_id: 'se_1',
    format: 'round_robin',
    status: 'finished',
    frozen: false,
    started_at: '',
    podium: [],
    entrants: [entrant('Ada', 1700), entrant('Bo', 1600), entrant('Cy', 1500), entrant('Di', 1400)],
    table: [row(1, 'Ada', 3, 0, 0), row(2, 'Bo', 1, 0, 2), row(3, 'Cy', 1, 0, 2), row(4, 'Di', 1, 0, 2)],
    rounds: rounds.map((pairings, i) => ({ round: i + 1, pairings })),
    ...over,
  };
}
const moment = (s: WholeSeason, kind: MomentKind) => storyOf(s)?.moments.find((m) => m.kind === kind);

describe('the story of a season', () => {
  const whole = season(
    {},
    [met('Ada', 'Bo', 1), met('Cy', 'Di', 0)],
    [met('Ada', 'Cy', 1), met('Bo', 'Di', 1)],
    [met('Di', 'Ada', 0), met('Bo', 'Cy', 0)],
  );

  it('is told once the season is over', () => {
    expect(storyOf({ ...whole, status: 'running' })).toBeUndefined();
    expect(storyOf({ ...whole, frozen: true })).toBeUndefined();
    expect(storyOf(season({ table: [] }))).toBeUndefined();
  });

  it('names the winner, and how many met how often', () => {
    expect(storyOf(whole)).toMatchObject({ winner: { name: 'Ada' }, shared: 1, entrants: 4, matches: 6 });
  });

  it('has the last match of the winner, whichever side it was on', () => {
    expect(moment(whole, 'final')).toMatchObject({ name: 'Ada', other: 'Di', score: 1, match: whole.rounds[2]!.pairings[0]!.match_id });
  });

  it('says that the winner lost no match only when it played some and lost none', () => {
    expect(moment(whole, 'unbeaten')?.name).toBe('Ada');
    expect(moment({ ...whole, table: [row(1, 'Ada', 3, 0, 1)] }, 'unbeaten')).toBeUndefined();
    expect(moment({ ...whole, table: [row(1, 'Ada', 2, 0, 0)] }, 'unbeaten')).toBeUndefined();
  });

  it('counts wins in a row, which a draw or a loss ends', () => {
    const run = (...scores: number[]) => moment(season({}, ...scores.map((x) => [met('Bo', 'Di', x)])), 'streak');
    expect(run(1, 1, 1)).toMatchObject({ name: 'Bo', n: 3 });
    expect(run(1, 1, 0.5, 1, 1)).toBeUndefined();
    expect(run(1, 1, 0, 1, 1, 1, 1)).toMatchObject({ n: 4 });
  });

  it('measures a climb from the seed', () => {
    expect(moment({ ...whole, table: [row(1, 'Di', 3, 0, 0), row(2, 'Ada', 2, 0, 1)] }, 'climb')).toMatchObject({
      name: 'Di',
      from: 4,
      to: 1,
    });
    expect(moment(whole, 'climb')).toBeUndefined();
  });

  it('tells a close finish from one on tie-breaks, and a bracket from both', () => {
    const table = (second: TableRow) => ({ ...whole, table: [row(1, 'Ada', 2, 0, 1), second] });
    expect(moment(table(row(2, 'Bo', 1, 1, 1)), 'close')).toMatchObject({ n: 0.5, other: 'Bo' });
    expect(moment(table(row(2, 'Bo', 2, 0, 1)), 'tiebreak')).toMatchObject({ other: 'Bo' });
    expect(storyOf({ ...table(row(2, 'Bo', 2, 0, 1)), format: 'knockout' })?.moments.map((m) => m.kind)).not.toContain('tiebreak');
  });

  it('names no single winner where some share the first place', () => {
    const shared = storyOf({ ...whole, table: [row(1, 'Ada', 3, 0, 0), row(1, 'Bo', 3, 0, 0)] });
    expect(shared?.shared).toBe(2);
    expect(shared?.moments.map((m) => m.kind)).not.toContain('final');
  });

  it('is told of every season that the formats pair', () => {
    for (const line of readFileSync('src/lib/fixtures/seasons.jsonl', 'utf8').trim().split('\n')) {
      const { season: s } = JSON.parse(line) as { season: WholeSeason };
      const story = storyOf(s);
      expect(story !== undefined).toBe(s.status === 'finished' && s.table.length > 0);
      for (const m of story?.moments ?? []) expect(s.entrants.some((e) => e.agent_id === m.agent)).toBe(true);
    }
  });
});
