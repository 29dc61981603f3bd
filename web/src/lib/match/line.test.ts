import { describe, expect, it } from 'vitest';
import { closeOf, closings, lineOf } from './line';
import type { Entry } from './state';

const entry = (type: Entry['type'], body: Record<string, unknown> = {}): Entry => ({
  seq: 1,
  ts: '2026-11-22T12:00:00.000Z',
  type,
  body,
  revealed: true,
});

describe('closings', () => {
  it('marks a final answer and the agent events after it', () =>
    expect(
      closings([
        entry('thinking'),
        entry('answer', { final: false }),
        entry('answer', { final: true }),
        entry('agent_paused'),
        entry('thinking'),
        entry('answer', { final: true }),
      ]),
    ).toEqual([undefined, undefined, 'final', undefined, 'after', 'after']));
  it('marks a fatal error', () =>
    expect(closings([entry('error', {}), entry('error', { fatal: true }), entry('tool_call')])).toEqual([undefined, 'fatal', 'after']));
  it('marks a line whose end comes after the final answer', () => {
    const end = (seq: number) => ({ seq, ts: '2026-11-22T12:00:00.000Z', body: {} });
    const lines = [
      { ...entry('tool_call'), seq: 1, end: end(2) },
      { ...entry('spawn_subagent'), seq: 3, end: end(9) },
      { ...entry('answer', { final: true }), seq: 4 },
      { ...entry('tool_call'), seq: 5, end: end(6) },
    ];
    expect(closings(lines)).toEqual([undefined, 'ended', 'final', 'after']);
    expect(closeOf(lines)).toEqual({ by: 'final', later: 3 });
  });
  it('counts nothing without a final answer or a fatal error', () => {
    expect(closeOf([entry('thinking'), entry('answer', { final: false })])).toBeUndefined();
    expect(closeOf([])).toBeUndefined();
    expect(closeOf([entry('error', { fatal: true })])).toEqual({ by: 'fatal', later: 0 });
  });
  it('goes by the type, and by true alone', () =>
    expect(closings([entry('answer', { fatal: true }), entry('error', { final: true }), entry('answer', { final: 'true' })])).toEqual([
      undefined,
      undefined,
      undefined,
    ]));
});

describe('lineOf', () => {
  it.each([
    [42, '42'],
    [true, 'true'],
    [['a', 1], '["a",1]'],
    [{ x: 1 }, '{"x":1}'],
    ['text', 'text'],
  ])('shows the value %j of an answer', (value, want) => expect(lineOf(entry('answer', { value })).text).toBe(want));
});
