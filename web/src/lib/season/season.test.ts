import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { League, List, Season, WholeSeason } from '../api/contract';
import { bracketOf, type Branch, type Series } from './bracket';
import { crosstable, MOST } from './cross';
import { boardsOf, longer, openIn, podiumOf, renewed, roundsAhead, tieBreaksOf } from './season';

// Seasons as the arena's own formats have paired them.
const seasons = new Map(
  readFileSync('src/lib/fixtures/seasons.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const { name, season } = JSON.parse(line) as { name: string; season: WholeSeason };
      return [name, season];
    }),
);
const season = (name: string) => seasons.get(name)!;
const league = (over: Partial<League>) => over as League;
const sizes = (branch: Branch | undefined) => branch?.columns.map((c) => c.series.length);
const all = (branches: readonly Branch[]): Series[] => branches.flatMap((b) => b.columns.flatMap((c) => c.series));
const named = (s: Series | undefined) => s?.sides.map((side) => side?.name);

describe('a list of seasons', () => {
  const part = (next_cursor: string, ...numbers: number[]) =>
    ({ items: numbers.map((season) => ({ season })), next_cursor }) as unknown as List<Season>;
  it('grows by its next part', () => expect(longer(part('a', 9, 8), part('b', 7, 6))).toEqual(part('b', 9, 8, 7, 6)));
  it('keeps older parts when its newest is read again', () =>
    expect(renewed(part('b', 9, 8, 7, 6), part('c', 10, 9))).toEqual(part('b', 10, 9, 8, 7, 6)));
  it('has what the newest part says', () => expect(renewed(part('', 9, 8), part('', 10, 9, 8))).toEqual(part('', 10, 9, 8)));
  it('goes on from the newest part alone', () => expect(renewed(part('a', 9, 8), part('b', 9, 8))).toEqual(part('b', 9, 8)));
  it('leaves no gap', () => expect(renewed(part('b', 9, 8, 7, 6), part('x', 20, 19))).toEqual(part('x', 20, 19)));
});

describe('a knockout', () => {
  it('halves from round to round, and shows what is to come', () => {
    const [tree] = bracketOf(season('knockout'));
    expect(tree?.name).toBe('knockout');
    expect(sizes(tree)).toEqual([8, 4, 2, 1]);
    expect(tree!.columns[0]!.series.filter((s) => s.state === 'bye')).toHaveLength(4);
    expect(tree!.columns.slice(1).every((c) => c.halves)).toBe(true);
    expect(tree!.columns[3]!.series[0]!.state).toBe('ahead');
  });

  it('feeds every series by its two neighbours, the upper one above', () => {
    const [tree] = bracketOf(season('knockout'));
    const [first, second] = tree!.columns;
    second!.series.forEach((s, k) => {
      const winners = [first!.series[2 * k], first!.series[2 * k + 1]].map((f) => f!.sides.find((side) => side?.won)?.name);
      expect(named(s)).toEqual(winners);
    });
  });

  it('lets the winner go on before its next meeting is ordered', () => {
    const s = season('knockout');
    const [tree] = bracketOf({ ...s, rounds: s.rounds.slice(0, 1) });
    for (const next of tree!.columns[1]!.series) {
      expect(next.state).toBe('ahead');
      expect(next.sides.every((side) => side === undefined || (!side.won && side.score === 0))).toBe(true);
    }
    expect(tree!.columns[1]!.series.some((next) => next.sides.some(Boolean))).toBe(true);
  });

  it('ends with one that has won a series in every round, whatever its draws and forfeits', () => {
    const s = season('knockout_done');
    const [tree] = bracketOf(s, 3);
    expect(sizes(tree)).toEqual([16, 8, 4, 2, 1]);
    for (const x of all([tree!])) expect(['decided', 'bye']).toContain(x.state);
    for (const x of all([tree!])) expect(x.sides.filter((side) => side?.won)).toHaveLength(1);
    expect(tree!.columns[4]!.series[0]!.sides.find((side) => side?.won)?.id).toBe(s.podium[0]!.agent_id);
    expect(all([tree!]).some((x) => x.forfeit)).toBe(true);
  });

  it('does not decide a best of three after one game', () => {
    const s = season('knockout');
    const r = s.rounds[0]!;
    const one = { ...s, rounds: [r] };
    const played = (b: Branch[]) => b[0]!.columns[0]!.series.filter((x) => x.state === 'decided').length;
    expect(played(bracketOf(one, 1))).toBeGreaterThan(0);
    expect(played(bracketOf(one, 3))).toBe(0);
  });
});

describe('a double elimination', () => {
  it('has two trees and a final', () => {
    const branches = bracketOf(season('double_done'));
    expect(branches.map((b) => b.name)).toEqual(['winners', 'losers', 'final']);
    expect(branches.map(sizes).slice(0, 2)).toEqual([
      [4, 2, 1],
      [2, 2, 1, 1],
    ]);
    expect(branches[1]!.columns.map((c) => c.halves)).toEqual([false, false, true, false]);
  });

  it('plays 2n-2 series, or one more, and everyone but the first loses twice', () => {
    const s = season('double_done');
    const branches = bracketOf(s);
    const series = all(branches);
    expect([14, 15]).toContain(series.length);
    expect(series.every((x) => x.state === 'decided')).toBe(true);
    const losses = new Map<string, number>();
    for (const side of series.flatMap((x) => x.sides)) if (side && !side.won) losses.set(side.id, (losses.get(side.id) ?? 0) + 1);
    const first = s.podium[0]!.agent_id;
    for (const e of s.entrants) expect(losses.get(e.agent_id) ?? 0)[e.agent_id === first ? 'toBeLessThan' : 'toBe'](2);
  });

  it('takes every pairing of the season to its place, byes and holes included', () => {
    for (const name of ['double', 'double_done']) {
      const s = season(name);
      const drawn = bracketOf(s).flatMap((b) =>
        b.columns.flatMap((c) => c.series.filter((x) => !['ahead', 'empty'].includes(x.state)).map((x) => `${c.round}/${x.slot}`)),
      );
      const paired = s.rounds.flatMap((r) => [...new Set(r.pairings.map((p) => `${r.round}/${p.slot}`))]);
      expect(drawn.sort()).toEqual(paired.sort());
    }
    expect(all(bracketOf(season('double'))).some((x) => x.state === 'empty')).toBe(true);
  });
});

it('a bracket of nobody, or of two', () => {
  const s = season('knockout');
  expect(bracketOf({ ...s, entrants: s.entrants.slice(0, 1), rounds: [] })).toEqual([]);
  expect(sizes(bracketOf({ ...s, entrants: s.entrants.slice(0, 2), rounds: [] })[0])).toEqual([1]);
  expect(bracketOf({ ...s, format: 'double_elimination', entrants: s.entrants.slice(0, 2), rounds: [] }).map((b) => b.name)).toEqual([
    'winners',
    'final',
  ]);
});

describe('a crosstable', () => {
  it('stands in the order of the table, and what one row won the other lost', () => {
    const s = season('round_robin_done');
    const rows = crosstable(s)!;
    expect(rows.map((r) => r.id)).toEqual(s.table.map((r) => r.agent_id));
    rows.forEach((row, i) => {
      expect(row.cells[i]).toEqual([]);
      row.cells.forEach((cell, k) => {
        if (i === k) return;
        expect(cell).toHaveLength(2);
        cell.forEach((m, n) => expect(m.score! + rows[k]!.cells[i]![n]!.score!).toBe(1));
      });
      const sum = row.cells.flat().reduce((n, m) => n + (m.score ?? 0), 0);
      expect(sum).toBe(s.table[i]!.score);
    });
  });

  it('knows what is still open, and shows a game void three times as a draw', () => {
    const s = season('round_robin');
    expect(
      crosstable(s)!
        .flatMap((r) => r.cells.flat())
        .some((m) => m.score === undefined),
    ).toBe(true);
    const [a, b] = s.entrants.map((e) => ({ agent_id: e.agent_id, name: e.name }));
    const voided = (game: number) => ({ slot: 1, game, agents: [a!, b!], result: 'void' as const, match_id: `m_${game}` });
    const rows = crosstable({ ...s, rounds: [{ round: 1, pairings: [voided(1), voided(2), voided(3)] }] })!;
    expect(rows.flatMap((r) => r.cells.flat())).toEqual([
      { score: 0.5, forfeit: false, match: 'm_3' },
      { score: 0.5, forfeit: false, match: 'm_3' },
    ]);
  });

  it('is not drawn for a crowd', () => {
    const s = season('round_robin');
    const e = s.entrants[0]!;
    expect(
      crosstable({ ...s, table: [], entrants: Array.from({ length: MOST + 1 }, (_, i) => ({ ...e, agent_id: `ag_${i}` })) }),
    ).toBeUndefined();
    expect(crosstable({ ...s, table: [], entrants: Array.from({ length: MOST }, (_, i) => ({ ...e, agent_id: `ag_${i}` })) })).toHaveLength(
      MOST,
    );
  });
});

describe('a season', () => {
  it('says how far it is', () => {
    expect(openIn(season('swiss'))).toBeGreaterThan(0);
    expect(openIn(season('swiss_done'))).toBe(0);
    expect(roundsAhead(season('swiss'), league({ format_options: { rounds: 5 } }))).toBe(5);
    expect(roundsAhead(season('swiss'), league({}))).toBeUndefined();
    expect(roundsAhead(season('round_robin'), league({}))).toBe(9);
    expect(roundsAhead(season('round_robin'), league({ format_options: { double: true } }))).toBe(18);
    expect(roundsAhead(season('knockout'), league({}))).toBe(4);
    expect(roundsAhead(season('swiss_done'), league({ format_options: { rounds: 5 } }))).toBeUndefined();
  });

  it('has its tie-breaks in the order in which they decide', () => {
    expect(tieBreaksOf(season('swiss').table)).toEqual(['buchholz_cut_1', 'buchholz', 'direct', 'sonneborn_berger', 'rating']);
    expect(tieBreaksOf(season('knockout').table)).toEqual([]);
    expect(tieBreaksOf([])).toEqual([]);
  });

  it('puts the games of one board together', () => {
    const boards = season('knockout_done').rounds.flatMap(boardsOf);
    const games = boards.reduce((n, b) => n + b.games.length, 0);
    expect(games).toBe(season('knockout_done').rounds.flatMap((r) => r.pairings).length);
    for (const b of boards) expect(b.last.game).toBe(Math.max(...b.games.map((g) => g.game)));
    expect(boards.some((b) => b.games.length > 1)).toBe(true);
  });

  it('has three on its podium at most', () => {
    const rows = season('knockout_done').table;
    expect(podiumOf(rows)).toHaveLength(3);
    expect(podiumOf(rows.slice(0, 1))).toHaveLength(1);
  });
});
