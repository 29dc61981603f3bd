import type { components } from '../api/schema';

type Node = components['schemas']['Node'];
type SlowAgent = components['schemas']['SlowAgent'];

/** The newest error of all nodes. */
export const lastErrorOf = (nodes: readonly Node[]): { at: string; text: string } | undefined =>
  nodes.flatMap((n) => (n.last_error ? [n.last_error] : [])).sort((a, b) => b.at.localeCompare(a.at))[0];

/** A health check that took a second or more is slow. */
export const SLOW_MS = 1_000;
export const late = (a: SlowAgent): boolean => a.latency_ms >= SLOW_MS;
