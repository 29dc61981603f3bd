import type { components } from '../api/schema';

type Node = components['schemas']['Node'];
type SlowAgent = components['schemas']['SlowAgent'];

/** The newest error of all nodes. */
export const lastErrorOf = (nodes: readonly Node[]): { at: string; text: string } | undefined =>
  nodes.flatMap((n) => (n.last_error ? [n.last_error] : [])).sort((a, b) => b.at.localeCompare(a.at))[0];

/** A node that died is missed until its matches have moved and five minutes have passed; by then it was restarted or removed. */
const MISSED_MS = 5 * 60_000;

/** The nodes that run and those that should. */
export function nodeCount(nodes: readonly Node[], now: number): { alive: number; expected: number } {
  const missed = (n: Node) => !n.draining && (n.matches > 0 || (n.seen_at !== undefined && now - Date.parse(n.seen_at) < MISSED_MS));
  return { alive: nodes.filter((n) => n.alive).length, expected: nodes.filter((n) => n.alive || missed(n)).length };
}

/** A health check that took a second or more is slow. */
export const SLOW_MS = 1_000;
export const late = (a: SlowAgent): boolean => a.latency_ms >= SLOW_MS;
