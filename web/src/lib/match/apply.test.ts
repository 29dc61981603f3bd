import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ArenaEvent, Match, MatchStatus } from '../api/contract';
import { applyEvent, applyEvents } from './apply';
import { emptyMatch, fromSnapshot, isOver, lastRound, ranking, scoreOf, verdict, type MatchState } from './state';

const read = (name: string): ArenaEvent[] =>
  readFileSync(`src/lib/fixtures/${name}.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ArenaEvent);

const logs = ['duel', 'table', 'elimination', 'debate', 'vote'] as const;
const start = emptyMatch('m');

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

/** What must hold after every event. */
function check(m: MatchState): void {
  expect(Object.keys(m.seats).sort()).toEqual([...m.order].sort());
  m.rounds.forEach((round, i) => {
    expect(round.no).toBe(i + 1);
    const open = !round.closedAt;
    if (open) expect(round).toBe(lastRound(m));
    for (const lane of Object.values(round.lanes)) {
      expect(m.seats[lane.agentId]).toBeDefined();
      if (open && m.sealed && !round.revealed) {
        expect(lane.answer).toBeUndefined();
        for (const entry of lane.entries) expect(entry.revealed).toBe(false);
      }
      expect(verdict(round, lane) === undefined).toBe(open);
      const seqs = lane.entries.map((e) => e.seq);
      expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    }
  });
  const closed = m.rounds.filter((r) => r.closedAt);
  for (const seat of Object.values(m.seats)) {
    const sum = closed.reduce((n, r) => n + (r.lanes[seat.id]?.points ?? 0), 0);
    if (seat.state !== 'left') expect(seat.points).toBeCloseTo(sum, 6);
  }
}

describe.each(logs)('applyEvent on the log %s', (name) => {
  const log = read(name).map(freeze);
  const whole = applyEvents(start, log);

  it('is consistent after every prefix, and changes no earlier state', () => {
    let state = start;
    for (const [i, event] of log.entries()) {
      state = freeze(applyEvent(state, event));
      expect(state.seq).toBe(i + 1);
      check(state);
    }
    expect(state).toEqual(whole);
    expect(isOver(state)).toBe(true);
  });

  it('gives the same state from any cut, with events repeated after a reconnect', () => {
    for (let cut = 0; cut <= log.length; cut += 7) {
      const before = applyEvents(start, log.slice(0, cut));
      expect(applyEvents(before, log.slice(Math.max(0, cut - 5)))).toEqual(whole);
    }
  });

  it('keeps what an event does not touch', () => {
    let state = start;
    for (const event of log) {
      const next = applyEvent(state, event);
      for (const [id, lane] of Object.entries(lastRound(state)?.lanes ?? {})) {
        const touched = event.agent_id === id || ['round_started', 'reveal', 'round_closed'].includes(event.type);
        if (!touched) expect(lastRound(next)?.lanes[id]).toBe(lane);
      }
      state = next;
    }
  });

  it('starts from a snapshot as from nothing', () => {
    const seats = whole.order.map((id) => ({
      agent_id: id,
      name: whole.seats[id]!.name,
      owner_id: 'ow_1',
      points: 3,
      place: 2,
      state: 'out' as const,
      out_round: 1,
    }));
    const snapshot = fromSnapshot({
      match_id: 'm',
      league: whole.league,
      status: 'finished',
      started_at: whole.startedAt!,
      finished_at: whole.finishedAt!,
      rated: whole.rated,
      round: 9,
      total_rounds: null,
      format: whole.format,
      judge: 'choice',
      visibility: 'live',
      time_limit_seconds: 12,
      viewers: 0,
      seats,
      created_at: '',
      starts_at: whole.startsAt!,
      seq: log.length,
    });
    // Of the snapshot, only how many rounds it counted outlasts the first event.
    for (const n of [1, 5, log.length])
      expect(applyEvents(snapshot, log.slice(0, n))).toEqual({ ...applyEvents(start, log.slice(0, n)), counted: 9 });
  });
});

it.each([
  ['live', false, 0],
  ['sealed', true, 0],
  ['delayed:30', false, 30_000],
  ['delayed:x', false, 0],
])('%s is shown so', (visibility, sealed, delayMs) => {
  const event = read('duel').find((e) => e.type === 'match_started')!;
  expect(applyEvent(start, { ...event, seq: 1, visibility } as ArenaEvent)).toMatchObject({ sealed, delayMs });
});

describe('a sealed duel', () => {
  const log = read('duel');
  const upTo = (type: ArenaEvent['type']) => applyEvents(start, log.slice(0, log.findIndex((e) => e.type === type) + 1));

  it('shows commitments and no text before the reveal', () => {
    const m = applyEvents(
      start,
      log.slice(
        0,
        log.findIndex((e) => e.type === 'reveal'),
      ),
    );
    const lanes = Object.values(lastRound(m)!.lanes);
    expect(lanes.map((l) => l.phase)).toEqual(['answered', 'answered']);
    for (const lane of lanes) {
      expect(lane.commitment).toMatch(/^[0-9a-f]{64}$/);
      expect(lane.entries.length).toBeGreaterThan(0);
      for (const entry of lane.entries) expect(entry.body).not.toHaveProperty('message');
    }
  });

  it('fills the hidden parts by seq at the reveal, without the nonce', () => {
    const m = upTo('reveal');
    const lane = lastRound(m)!.lanes[m.order[0]!]!;
    expect(lane.answer?.answer).toBe('Jupiter');
    expect(lane.answer?.reasoning).toContain('Jupiter');
    expect(lane.answer).not.toHaveProperty('nonce');
    expect(lane.entries[0]!.body['message']).toContain('Reading the question');
    const tool = lane.entries.find((e) => e.type === 'tool_call')!;
    expect(tool.body).toHaveProperty('args.limit', 3);
    expect(tool.end!.body).toMatchObject({ duration_ms: 812 });
    expect(tool.end!.body['result']).toContain('Jupiter');
    expect(JSON.stringify(lane)).not.toContain('nonce');
    expect(verdict(lastRound(m)!, lane)).toBeUndefined();
  });

  it('marks the answer that is over its token limit when the round has closed', () => {
    const marked = log.map((e): ArenaEvent =>
      e.type === 'round_closed' && e.round === 1 ? { ...e, seats: e.seats.map((s, i) => (i ? s : { ...s, over_max_tokens: true })) } : e,
    );
    const m = applyEvents(start, marked);
    expect(m.rounds.flatMap((r) => Object.values(r.lanes)).filter((l) => l.overTokens).length).toBe(1);
  });

  it('closes the sub-agent with its end', () => {
    const m = upTo('reveal');
    const spawn = lastRound(m)!.lanes[m.order[0]!]!.entries.find((e) => e.type === 'spawn_subagent')!;
    expect(spawn.end!.body).toMatchObject({ name: 'Checker', duration_ms: 1450 });
  });

  it('ends with places and rating changes', () => {
    const m = applyEvents(start, log);
    const [first, second] = ranking(m);
    expect([first!.points, first!.place, second!.points, second!.place]).toEqual([4, 1, 3, 2]);
    expect(first!.ratingDelta! + second!.ratingDelta!).toBe(0);
    expect(verdict(m.rounds[3]!, m.rounds[3]!.lanes[second!.id]!)).toBe('none');
  });
});

describe('the score of a round', () => {
  const whole = (name: string) =>
    applyEvents(
      emptyMatch('m'),
      readFileSync(`src/lib/fixtures/${name}.jsonl`, 'utf8')
        .trim()
        .split('\n')
        .map((l) => JSON.parse(l) as ArenaEvent),
    );

  it.each(['duel', 'debate', 'game-connect-four'])('adds up to that of the match, by seat: %s', (name) => {
    const m = whole(name);
    const scores = m.rounds.map((r) => scoreOf(m, r)).filter((s) => s !== undefined);
    expect([0, 1].map((i) => scores.reduce((sum, s) => sum + s[i]!, 0))).toEqual(m.order.map((id) => m.seats[id]!.points));
  });

  it('is that of rounds which decide something', () => {
    const debate = whole('debate');
    expect(debate.rounds.map((r) => !!scoreOf(debate, r))).toEqual(debate.rounds.map((r) => r.debate!.closes));
    const game = whole('game-connect-four');
    expect(game.rounds.filter((r) => scoreOf(game, r))).toHaveLength(game.rounds.at(-1)!.turn!.opened.place.game);
    const open = { ...debate.rounds[1]!, closedAt: undefined };
    expect(scoreOf(debate, open as never)).toBeUndefined();
    const table = whole('table');
    expect(table.rounds.some((r) => scoreOf(table, r))).toBe(false);
  });
});

describe('an elimination', () => {
  const m = applyEvents(start, read('elimination'));

  it('knows when a seat dropped out and who left', () => {
    const seats = Object.values(m.seats);
    expect(seats.filter((s) => s.state === 'left')).toHaveLength(1);
    for (const s of seats) expect(s.outRound > 0).toBe(s.state !== 'active');
    expect(m.rounds.map((r) => Object.keys(r.lanes).length)).toEqual(
      m.rounds.map((r) => seats.filter((s) => !s.outRound || s.outRound >= r.no).length),
    );
  });
});

describe('what should not happen', () => {
  const [scheduled, started, round] = read('duel') as [ArenaEvent, ArenaEvent, ArenaEvent];
  const running = applyEvents(start, [scheduled, started, round]);
  const next = { ts: '2026-11-21T18:00:07.000Z', match_id: 'm', seq: 4 };

  it('an unknown type only moves seq on', () => {
    const m = applyEvent(running, { ...next, type: 'fireworks', colour: 'red' } as unknown as ArenaEvent);
    expect(m).toEqual({ ...running, seq: 4 });
  });

  it('an event of an agent without a seat is not shown', () => {
    const m = applyEvent(running, { ...next, type: 'thinking', agent_id: 'ag_unseated', round: 1, message: 'hello' });
    expect(m).toEqual({ ...running, seq: 4 });
  });

  it('a taken-over round keeps its answers', () => {
    const id = running.order[0]!;
    const answered = applyEvent(running, {
      ...next,
      type: 'seat_outcome',
      agent_id: id,
      round: 1,
      outcome: 'answered',
      elapsed_ms: 900,
      attempts: 1,
      commitment: 'ab',
    });
    const again = applyEvent(answered, { ...round, seq: 5, interrupted: true } as ArenaEvent);
    expect(lastRound(again)).toMatchObject({ no: 1, interrupted: true });
    expect(lastRound(again)!.lanes[id]!.phase).toBe('answered');
    expect(again.rounds).toHaveLength(1);
  });

  it('viewers have no seq and change nothing else', () => {
    expect(applyEvent(running, { ts: next.ts, type: 'viewers', count: 12 })).toEqual({ ...running, viewers: 12 });
  });

  it('a void match says why', () => {
    const m = applyEvent(running, { ...next, type: 'match_void', league: 'trivia', reason: 'the game failed', void_code: 'game_failed' });
    expect(m).toMatchObject({ status: 'void', voidReason: 'the game failed', voidCode: 'game_failed' });
    expect(isOver(m)).toBe(true);
  });

  it('a match that ends before it began is canceled, unless its snapshot says that it is void', () => {
    const scheduled = read('duel').find((e) => e.type === 'match_scheduled')!;
    const end = {
      match_id: 'm',
      seq: 2,
      ts: scheduled.ts,
      type: 'match_void',
      league: 'trivia',
      reason: 'rain',
      void_code: 'operator',
    } as ArenaEvent;
    const ended = (before: MatchState, last = end) => applyEvents(before, [{ ...scheduled, seq: 1 } as ArenaEvent, last]).status;
    const snapshot = (status: MatchStatus) => fromSnapshot({ match_id: 'm', status, seats: [], visibility: 'sealed' } as unknown as Match);
    expect([start, ...(['scheduled', 'cancelled', 'void'] as const).map(snapshot)].map((before) => ended(before))).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
      'void',
    ]);
    expect(ended(start, { ...end, void_code: 'too_few_agents' } as ArenaEvent)).toBe('void');
  });
});
