import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ArenaEvent } from '../api/contract';
import { activityOf, endOf, lockInsOf, scaleOf, toolInUse } from './activity';
import { applyEvents } from './apply';
import { emptyMatch, lastRound, type Entry } from './state';

const log = readFileSync('src/lib/fixtures/duel.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ArenaEvent);
const at = (seq: number) => {
  const match = applyEvents(
    emptyMatch('m'),
    log.filter((e) => (e.seq ?? 0) <= seq),
  );
  const round = lastRound(match)!;
  const [a, b] = match.order.map((id) => round.lanes[id]!);
  return { match, round, a: a!, b: b! };
};

describe('activity of a sealed round', () => {
  it('has kinds, names and durations, and no words', () => {
    const { round, a } = at(14);
    const activity = activityOf(a.entries, round.startedAt);
    expect(activity.spans.map((s) => [s.kind, s.name, s.from, s.to])).toEqual([
      ['thinking', undefined, 421, 421],
      ['subagent', 'Checker', 1756, 3524],
      ['tool', 'knowledge_search', 2156, 3224],
      ['thinking', undefined, 3874, 3874],
    ]);
    expect(activity).toMatchObject({
      counts: { thinking: 2, subagent: 1, note: 0, trouble: 0 },
      tools: [{ name: 'knowledge_search', count: 1 }],
      otherTools: 0,
    });
  });
  it('shows what is under way', () => {
    const { round, a } = at(9);
    expect(activityOf(a.entries, round.startedAt).spans.at(-1)).toMatchObject({ kind: 'tool', from: 2156 });
    expect(activityOf(a.entries, round.startedAt).spans.at(-1)).not.toHaveProperty('to');
    expect(toolInUse(a)).toBe('knowledge_search');
    expect(toolInUse(at(10).a)).toBeUndefined();
  });
  it('knows who is locked in and who is waited for', () => {
    const { match, round, a, b } = at(9);
    expect(lockInsOf(match, round)).toEqual({ locked: [b.agentId], waiting: [a.agentId], total: 2 });
    expect([endOf(a), endOf(b)]).toEqual([undefined, 2191]);
    expect(lockInsOf(at(14).match, at(14).round)).toMatchObject({ waiting: [], total: 2 });
    expect(lockInsOf(at(16).match, at(16).round)).toBeUndefined();
    expect(lockInsOf(match, undefined)).toBeUndefined();
  });
});

describe('tools', () => {
  const call = (seq: number, tool: unknown): Entry => ({
    seq,
    ts: '2026-01-01T00:00:01Z',
    type: 'tool_call',
    body: { tool },
    revealed: false,
  });

  it('are counted, the most used first', () => {
    const { tools, otherTools } = activityOf(
      ['a', 'b', 'b', 'c', 'd', 'd', 'd', 'e'].map((t, i) => call(i, t)),
      '2026-01-01T00:00:00Z',
    );
    expect(tools).toEqual([
      { name: 'd', count: 3 },
      { name: 'b', count: 2 },
      { name: 'a', count: 1 },
    ]);
    expect(otherTools).toBe(2);
  });
  it('have names of any type and length, and there may be many', () => {
    const { tools, spans } = activityOf(
      [...Array.from({ length: 500 }, (_, i) => call(i, 'x'.repeat(9000))), call(500, { a: 1 }), call(501, null)],
      'no time',
    );
    expect(tools.map((t) => t.name.length)).toEqual([33, 7, 0]);
    expect(spans.length).toBe(80);
    expect(spans.at(-1)!.seq).toBe(501);
  });
});

describe('scaleOf', () => {
  it('is the same for all lanes and grows in steps up to the limit', () => {
    const { round } = at(9);
    const start = Date.parse(round.startedAt);
    expect([1_000, 5_001, 11_000, 60_000].map((ms) => scaleOf(round, start + ms))).toEqual([5_000, 10_000, 12_000, 12_000]);
    expect(scaleOf(at(16).round, start + 60_000)).toBe(10_000);
  });
});
