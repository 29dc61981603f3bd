import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ArenaEvent } from '../api/contract';
import { applyEvent } from './apply';
import { viewStateOf } from './view-state';
import { emptyMatch, lastRound, type MatchState } from './state';
import { fallenBefore, gridOf, same, shortName, tilesOf } from './tiles';

const log = readFileSync('src/lib/fixtures/elimination.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ArenaEvent);
const states: MatchState[] = [];
for (const e of log) states.push(applyEvent(states.at(-1) ?? emptyMatch('m'), e));

describe('tiles', () => {
  it('are the same as long as nothing that they show changed', () => {
    let kept = 0;
    let changed = 0;
    for (const [i, m] of states.entries()) {
      const before = i ? tilesOf(states[i - 1]!, lastRound(states[i - 1]!), false, 0) : undefined;
      for (const [id, view] of tilesOf(m, lastRound(m), false, 0)) {
        const old = before?.get(id);
        expect(same(old, view)).toBe(JSON.stringify(old) === JSON.stringify(view));
        if (same(old, view)) kept++;
        else changed++;
      }
    }
    expect(changed).toBeGreaterThan(states.at(-1)!.order.length);
    expect(kept).toBeGreaterThan(10 * changed);
  });

  it('show the time that is gone until the seat has its outcome, and then its own', () => {
    const open = states.find((m) => {
      const lanes = Object.values(lastRound(m)?.lanes ?? {});
      return !lastRound(m)?.closedAt && lanes.some((l) => l.outcome) && lanes.some((l) => !l.outcome);
    })!;
    const round = lastRound(open)!;
    const tiles = tilesOf(open, round, false, 0.25);
    for (const lane of Object.values(round.lanes)) {
      expect(tiles.get(lane.agentId)!.took).toBe(lane.outcome ? Math.min(1, lane.elapsedMs! / (round.limitSeconds * 1000)) : 0.25);
      expect(tiles.get(lane.agentId)!.viewState).toBe(viewStateOf(open, round, lane, lane.agentId));
    }
  });

  it('show places at the end, and who won', () => {
    const end = states.at(-1)!;
    const tiles = tilesOf(end, lastRound(end), true, 1);
    for (const id of end.order) {
      const { place, took, viewState } = tiles.get(id)!;
      expect([place, took, viewState === 'right']).toEqual([end.seats[id]!.place, 0, end.seats[id]!.place === 1]);
    }
  });
});

describe('an elimination', () => {
  it('shows answers once they may be seen', () => {
    for (const m of states) {
      const round = lastRound(m);
      for (const [id, view] of tilesOf(m, round, false, 0)) expect(view.said).toBe(round?.lanes[id]?.answer?.answer ?? '');
    }
    expect(states.some((m) => [...tilesOf(m, lastRound(m), false, 0).values()].some((v) => v.said))).toBe(true);
  });

  it('keeps those who are out, the last ones first', () => {
    for (const m of states) {
      const round = lastRound(m);
      const fallen = fallenBefore(m, round);
      const rounds = fallen.map((id) => m.seats[id]!.outRound);
      expect(rounds).toEqual([...rounds].sort((a, b) => b - a));
      if (round) expect(new Set([...fallen, ...Object.keys(round.lanes)])).toEqual(new Set(m.order));
    }
    expect(fallenBefore(states.at(-1)!, lastRound(states.at(-1)!)).length).toBeGreaterThan(0);
  });
});

describe('the grid', () => {
  const rooms = [
    [960, 270],
    [1072, 270],
    [890, 272],
    [358, 0],
    [1300, 700],
  ] as const;
  it.each([9, 12, 24, 48, 64, 100, 128])('of %i tiles gives every name room to be read', (n) => {
    for (const [width, height] of rooms) {
      const g = gridOf(n, width, height);
      expect(g.columns * g.rows).toBeGreaterThanOrEqual(n);
      expect(width / g.columns).toBeGreaterThanOrEqual(84);
      if (g.size === 'wide' && height) expect(height / g.rows).toBeGreaterThanOrEqual(72);
      if (g.size === 'chip') expect(g.letters).toBeGreaterThanOrEqual(8);
    }
  });

  it('has avatars over names at 24 and lines at 100', () => {
    expect(gridOf(24, 960, 270)).toMatchObject({ size: 'wide', columns: 9, rows: 3 });
    expect(gridOf(100, 1072, 270)).toMatchObject({ size: 'chip', columns: 11, rows: 10 });
    expect(gridOf(100, 358, 3000)).toMatchObject({ size: 'chip', columns: 3, rows: 34 });
    expect(gridOf(9, 358, 3000)).toMatchObject({ size: 'wide', columns: 4 });
  });

  it('exists before it is measured', () => expect(gridOf(24, 0, 0).columns).toBeGreaterThan(0));
});

describe('a short name', () => {
  it('keeps both ends', () => {
    expect(shortName('Quill 7', 8)).toBe('Quill 7');
    expect(shortName('Ordinary Oracle 17', 8)).toBe('Ordin…17');
    expect(shortName('Ordinary Oracle 17', 14)).toBe('Ordinary…e 17');
    expect([...shortName('👩‍🚀'.repeat(20), 8)].length).toBeLessThanOrEqual(8);
  });
});
