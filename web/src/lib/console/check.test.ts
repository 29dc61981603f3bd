import { describe, expect, it } from 'vitest';
import type { Agent } from '$lib/api/contract';
import { texts } from '$lib/i18n/console.en';
import { notListed, reasonKey, stepsOf, STEPS } from './check';

const checked = (reason: string, capabilities: string[] = [], leagues: string[] = [], protocol: Agent['protocol'] = 'aap') => ({
  leagues,
  protocol,
  health: { ok: reason === '', reason, capabilities, checked_at: '2026-11-01T00:00:00.000Z', latency_ms: 3, max_concurrent: 1 },
});
const states = (reason: string) =>
  stepsOf(checked(reason))
    .map((s) => s.state[0])
    .join('');

describe('the steps of an endpoint test', () => {
  it('wait before the first check', () => {
    expect(new Set(stepsOf(undefined).map((s) => s.state))).toEqual(new Set(['waiting']));
    expect(
      stepsOf({ leagues: [], protocol: 'aap', health: { ok: false, capabilities: [], latency_ms: 0, max_concurrent: 1 } }).map(
        (s) => s.name,
      ),
    ).toEqual([...STEPS]);
  });
  it('all pass when the agent is healthy and plays where it entered', () =>
    expect(stepsOf(checked('', ['trivia', 'cup'], ['trivia'])).every((s) => s.state === 'passed')).toBe(true));
  it('asks for no league of an agent that lists none', () => {
    expect(notListed(checked('', [], ['trivia']))).toEqual([]);
    expect(notListed(checked('', ['cup'], ['trivia', 'cup']))).toEqual(['trivia']);
  });
  it.each([
    ['refused', 'fsssss'],
    ['dns', 'fsssss'],
    ['time_limit', 'fsssss'],
    ['a word of tomorrow', 'fsssss'],
    ['status_404', 'pfssss'],
    ['redirect', 'pfssss'],
    ['bad_content_type', 'ppfsss'],
    ['bad_json', 'ppfsss'],
    ['too_large', 'ppfsss'],
    ['not_ok', 'pppfss'],
    ['bad_version', 'ppppfs'],
  ])('%s fails at its step', (reason, want) => expect(states(reason)).toBe(want));
  it.each([
    ['agora', '', 'pp'],
    ['agora', 'refused', 'fs'],
    ['agora', 'status_404', 'fs'],
    ['envelope', 'key_not_proved', 'fss'],
    ['envelope', 'not_polling', 'pfs'],
    ['agentprotocol', '', 'ppp'],
    ['a2a', 'card_host', 'fs'],
  ] as const)('of %s with the reason %s', (protocol, reason, want) =>
    expect(
      stepsOf(checked(reason, [], [], protocol))
        .map((s) => s.state[0])
        .join(''),
    ).toBe(want),
  );
  it.each([
    ['', 'pp'],
    ['not_polling', 'fs'],
    ['a word of tomorrow', 'fs'],
  ])('of an agent that fetches its tasks with the reason "%s"', (reason, want) =>
    expect(
      stepsOf({ ...checked(reason), pull: true })
        .map((s) => s.state[0])
        .join(''),
    ).toBe(want),
  );
  it('names the leagues that the agent does not declare', () => {
    const last = stepsOf(checked('', ['trivia'], ['trivia', 'cup'])).at(-1);
    expect(last).toEqual({ name: 'leagues', state: 'failed', reason: 'not_declared', missing: ['cup'] });
  });
});

describe('reasons', () => {
  it('have a word and a cure', () => {
    for (const key of Object.keys(texts).filter((k) => k.startsWith('console.why.'))) {
      expect(texts).toHaveProperty([key.replace('.why.', '.cure.')]);
    }
  });
  it('carry their status', () => {
    expect(reasonKey('status_503')).toEqual({ key: 'status', status: '503' });
    expect(reasonKey('dns')).toEqual({ key: 'dns', status: '' });
  });
});
