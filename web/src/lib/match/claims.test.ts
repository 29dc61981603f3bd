import { describe, expect, it } from 'vitest';
import { claimedMs, claimsOf } from './claims';
import type { Lane } from './state';

const lane = (answer: Record<string, unknown>): Lane => ({ agentId: 'ag_1', phase: 'answered', entries: [], outcomeSeq: 1, answer });

describe('the claims of an agent', () => {
  it('are all shown, zero too', () =>
    expect(
      claimsOf(
        lane({
          answer: 'x',
          confidence: 0,
          tokens: 0,
          tools_used: ['python_exec'],
          subagents_used: ['Analyzer', 'Checker'],
          latency_ms: 340,
        }),
      ),
    ).toEqual({
      confidence: 0,
      tokens: 0,
      tools: { shown: ['python_exec'], more: 0 },
      subagents: { shown: ['Analyzer', 'Checker'], more: 0 },
    }));
  it('are none where the agent makes none', () => {
    expect(claimsOf(lane({ answer: 'x', reasoning: 'y', tools_used: [], subagents_used: [' '] }))).toBeUndefined();
    expect(claimsOf(undefined)).toBeUndefined();
    expect(claimedMs(undefined)).toBeUndefined();
  });
  it('are left out where they make no sense', () => {
    expect(claimsOf(lane({ confidence: 1.5, tokens: -1, tools_used: 'all', subagents_used: [1, null, {}] }))).toBeUndefined();
    expect([NaN, '340', -1, 1e300, null].map((latency_ms) => claimedMs(lane({ latency_ms })))).toEqual(Array(5).fill(undefined));
    expect(claimedMs(lane({ latency_ms: 340.5 }))).toBe(340.5);
  });
  it('are short, however long the lists and the names are', () => {
    const { tools } = claimsOf(lane({ tools_used: Array.from({ length: 1000 }, () => '😀'.repeat(10_000)) }))!;
    expect(tools).toEqual({ shown: Array(6).fill(`${'😀'.repeat(40)}…`), more: 994 });
  });
});
