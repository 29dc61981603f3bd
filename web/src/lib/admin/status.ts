import type { components } from '../api/schema';
import { count, countdown, gib, relative } from '../format';

type Node = components['schemas']['Node'];
type SlowAgent = components['schemas']['SlowAgent'];

/** The newest error of all nodes. */
export const lastErrorOf = (nodes: readonly Node[]): { at: string; text: string } | undefined =>
  nodes.flatMap((n) => (n.last_error ? [n.last_error] : [])).sort((a, b) => b.at.localeCompare(a.at))[0];

export type Fact = components['schemas']['Fact'];

/** The fact of a name, for one that concerns every arena. */
export const factOf = (facts: readonly Fact[], name: Fact['name']): Fact | undefined => facts.find((f) => f.name === name);

/** What the sentence about a fact names, as parameters of its text. */
export function factParams(f: Fact, now: number, language: string): Record<string, string | number> {
  const at = f.at ? Date.parse(f.at) : now;
  const shown = (n = 0) => (f.name === 'disk' ? gib(n, language) : count(n, language));
  return {
    value: shown(f.value),
    of: shown(f.of),
    subject: f.subject ?? '',
    when: relative(at, now, language) ?? '',
    wait: countdown(now - at),
  };
}

/** The key of the sentence about a fact. What has never happened has a sentence of its own. */
export const factKey = (f: Fact): string =>
  `admin.vital.${f.name}.${f.level}${['backup', 'certificate', 'proxy'].includes(f.name) && !f.at ? '.never' : ''}`;

/** A health check that took a second or more is slow. */
export const SLOW_MS = 1_000;
export const late = (a: SlowAgent): boolean => a.latency_ms >= SLOW_MS;
