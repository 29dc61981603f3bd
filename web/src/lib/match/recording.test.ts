import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ArenaEvent } from '../api/contract';
import { applyEvents } from './apply';
import { momentsOf } from './moments';
import { BEAT_MS, Recording } from './recording';
import { emptyMatch } from './state';

const read = (name: string): ArenaEvent[] =>
  readFileSync(`src/lib/fixtures/${name}.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ArenaEvent);

const recordingOf = (events: readonly ArenaEvent[]): Recording => {
  const recording = new Recording(emptyMatch('m'));
  recording.push(events);
  return recording;
};

const tells = (e: ArenaEvent) => e.type === 'reveal' || e.type === 'round_closed';

/** Positions in no order, each once. */
const shuffled = (n: number) => Array.from({ length: n + 1 }, (_, i) => (i * 7919) % (n + 1));

describe.each(['duel', 'table', 'elimination', 'debate', 'vote'])('the recording of %s', (name) => {
  const log = read(name);
  const recording = recordingOf(log);

  it('gives the state of the reducer at every position, in whatever order they are asked for', () => {
    const states = log.reduce((all, e) => [...all, applyEvents(all.at(-1)!, [e])], [emptyMatch('m')]);
    for (const position of shuffled(log.length)) expect(recording.at(position)).toEqual(states[position]);
  });

  it('knows a position by its number, by its time and by its place', () => {
    for (let p = 1; p <= recording.length; p++) {
      expect(recording.positionOf(recording.event(p)!.seq!)).toBe(p);
      expect(recording.offset(recording.positionAt(recording.offset(p)))).toBe(recording.offset(p));
      expect(recording.timeAt(recording.offset(p))).toBeGreaterThanOrEqual(Date.parse(recording.event(p)!.ts));
      expect(recording.place(p)).toBeGreaterThanOrEqual(recording.place(p - 1));
    }
    for (const [i, c] of recording.chapters.entries()) {
      expect(recording.positionAtPlace(i)).toBe(c.from);
      expect(Math.floor(recording.place(c.from))).toBe(i);
    }
    expect(recording.positionAtPlace(recording.chapters.length)).toBe(recording.length);
  });

  it('advances in true time within a round, and pauses briefly between rounds', () => {
    let open = false;
    for (let p = 2; p <= recording.length; p++) {
      const [last, gap] = [recording.event(p - 1)!, Date.parse(recording.event(p)!.ts) - Date.parse(recording.event(p - 1)!.ts)];
      if (last.type === 'round_started') open = true;
      if (last.type === 'round_closed') open = false;
      const pause = recording.offset(p) - recording.offset(p - 1);
      if (open && tells(recording.event(p)!)) expect([gap, BEAT_MS]).toContain(pause);
      else if (open) expect(pause).toBe(gap);
      else expect(pause).toBeLessThanOrEqual(3_000);
      if (last.type === 'round_closed') expect(pause).toBeGreaterThanOrEqual(1_500);
    }
  });
});

it('has a beat between the last answer and the reveal, where every seat has answered', () => {
  const beats = (name: string) => {
    const recording = recordingOf(read(name));
    const pauses = Array.from({ length: recording.length }, (_, i) => i + 1)
      .filter((p) => tells(recording.event(p)!) && !tells(recording.event(p - 1)!))
      .map((p) => [recording.event(p)!.round, recording.offset(p) - recording.offset(p - 1)]);
    return pauses.slice(0, 2);
  };
  expect(beats('duel')).toEqual([
    [1, BEAT_MS],
    [2, BEAT_MS],
  ]);
  expect(beats('elimination')).toEqual([
    [1, 120],
    [2, 120],
  ]); // seats that timed out or failed
  const games = recordingOf(read('game-connect-four'));
  for (let p = 2; p <= games.length; p++) expect(games.heldAt(Date.parse(games.event(p)!.ts))).toBeUndefined();
});

it('holds what came after the last answer of a round back for a beat', () => {
  const log = read('duel');
  const reveal = log.findIndex((e) => e.type === 'reveal');
  const answered = Date.parse(log[reveal - 1]!.ts);
  expect(recordingOf(log.slice(0, reveal)).heldAt(answered)).toBeUndefined();
  const closed = recordingOf(log.slice(0, reveal + 3)); // the next round is open already
  expect(closed.heldAt(answered)).toBe(reveal);
  expect(closed.heldAt(answered + BEAT_MS - 1)).toBe(reveal);
  expect(closed.heldAt(answered + BEAT_MS)).toBeUndefined();
  expect(closed.heldAt(answered - 60_000)).toBeUndefined();
});

it('takes each event once, and grows', () => {
  const log = read('duel');
  const recording = recordingOf(log.slice(0, 20));
  recording.push(log.slice(10));
  recording.push([{ type: 'viewers', count: 4, ts: log[0]!.ts }]);
  expect(recording.length).toBe(log.length);
  expect(recording.head.viewers).toBe(4);
  expect({ ...recording.head, viewers: 0 }).toEqual(applyEvents(emptyMatch('m'), log));
});

it('a log whose clock was set back still runs forward', () => {
  const log = read('duel').map((e, i) => (i === 30 ? { ...e, ts: '2020-01-01T00:00:00.000Z' } : e));
  const recording = recordingOf(log);
  for (let p = 2; p <= recording.length; p++) expect(recording.offset(p)).toBeGreaterThanOrEqual(recording.offset(p - 1));
});

it('goes to any of 20,000 events in few steps of the reducer', () => {
  const seats = Array.from({ length: 10 }, (_, i) => ({ agent_id: `ag_${i}`, name: `Agent ${i}` }));
  const ts = '2026-01-01T00:00:00.000Z';
  const recording = recordingOf([
    { seq: 1, ts, type: 'match_scheduled', league: 'l', starts_at: ts, rated: false, seats },
    { seq: 2, ts, round: 1, type: 'round_started', task: { description: 'q' }, time_limit_seconds: 9, deadline: ts },
    ...Array.from({ length: 20_000 }, (_, i): ArenaEvent => ({
      seq: i + 3,
      ts,
      round: 1,
      agent_id: `ag_${i % 10}`,
      type: 'thinking',
      message: `${i}`,
    })),
  ]);
  // A state is a few steps away from one that is kept: they share what those steps did not touch.
  const kept = recording.at(9984).rounds[0]!.lanes;
  const near = recording.at(9985).rounds[0]!.lanes;
  expect(Object.keys(near).filter((id) => near[id] !== kept[id])).toEqual(['ag_2']);
  expect(recording.at(4).seq).toBe(4);
  const again = recording.at(9985).rounds[0]!.lanes;
  expect(Object.keys(again).filter((id) => again[id] !== kept[id])).toEqual(['ag_2']);
});

describe('decisive moments', () => {
  const closed = (
    seq: number,
    round: number,
    points: readonly number[],
    total: readonly number[],
    out: readonly number[] = [],
  ): ArenaEvent => ({
    seq,
    round,
    ts: '2026-01-01T00:00:00.000Z',
    type: 'round_closed',
    seats: points.map((p, i) => ({ agent_id: `ag_${i}`, answer: 'x', points: p, outcome: 'answered', elapsed_ms: 1 })),
    standings: total.map((p, i) => ({ agent_id: `ag_${i}`, points: p, place: 0, state: out.includes(i) ? 'out' : 'active' })),
  });
  const finish = (seq: number, ratings: readonly number[]): ArenaEvent => ({
    seq,
    ts: '2026-01-01T00:00:00.000Z',
    type: 'match_finished',
    league: 'l',
    rated: true,
    seats: [],
    rating_changes: ratings.map((r, i) => ({ agent_id: `ag_${i}`, rating_before: r, rating_after: r, rating_delta: 0 })),
  });
  const turnsOf = (events: ArenaEvent[]) => events.map((event, i) => ({ position: i + 1, event }));
  const kinds = (events: ArenaEvent[]) => momentsOf(turnsOf(events)).map((m) => `${m.position} ${m.kind}`);

  it('a lead that passes, through a tie or not', () => {
    expect(kinds([closed(1, 1, [1, 0], [1, 0]), closed(2, 2, [0, 1], [1, 1]), closed(3, 3, [0, 1], [1, 2])])).toEqual(['3 lead']);
  });
  it('a lead that is kept, or won first, is none', () => {
    expect(
      kinds([closed(1, 1, [0, 0], [0, 0]), closed(2, 2, [1, 0], [1, 0]), closed(3, 3, [0, 1], [1, 1]), closed(4, 4, [1, 0], [2, 1])]),
    ).toEqual([]);
  });
  it('each seat drops out once', () => {
    expect(kinds([closed(1, 1, [1, 0, 1], [1, 0, 1], [1]), closed(2, 2, [1, 0, 0], [2, 0, 1], [1])])).toEqual(['1 out']);
  });
  it('the underdog takes a round, once the ratings are known and far apart', () => {
    const round = closed(1, 1, [0, 1], [0, 1]);
    expect(kinds([round, finish(2, [1700, 1500])])).toEqual(['1 upset', '2 end']);
    expect(kinds([round, finish(2, [1550, 1500])])).toEqual(['2 end']);
    expect(kinds([round])).toEqual([]);
  });
  it('the last round and the end of a recorded match', () => {
    const log = read('duel');
    const all = momentsOf(recordingOf(log).turns);
    expect(all.filter((m) => m.kind === 'last').map((m) => m.round)).toEqual([5]);
    expect(all.at(-1)).toMatchObject({ kind: 'end', position: log.length });
    expect(momentsOf(recordingOf(read('elimination')).turns).some((m) => m.kind === 'out')).toBe(true);
  });
});
