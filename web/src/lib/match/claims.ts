import type { Lane } from './state';

// What an agent declares about its answer. Nobody checks it, and in a log from
// a file it may be anything: what has another type or no sense is left out.

/** Names of tools or sub-agents: the first few, and how many more there are. */
export interface Names {
  readonly shown: readonly string[];
  readonly more: number;
}

export interface Claims {
  readonly confidence?: number;
  readonly tokens?: number;
  readonly tools?: Names;
  readonly subagents?: Names;
}

const MOST_NAMES = 6;
const MOST_LETTERS = 40;
const DAY_MS = 86_400_000;

const number = (v: unknown, most: number): number | undefined => (typeof v === 'number' && v >= 0 && v <= most ? v : undefined);

function clip(name: string): string {
  const letters = [...name.slice(0, 4 * MOST_LETTERS)];
  return letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS).join('')}…` : letters.join('');
}

function names(v: unknown): Names | undefined {
  if (!Array.isArray(v)) return undefined;
  const all = v.filter((n): n is string => typeof n === 'string' && n.trim() !== '');
  return all.length ? { shown: all.slice(0, MOST_NAMES).map(clip), more: Math.max(0, all.length - MOST_NAMES) } : undefined;
}

/** The time that the agent says it took, to be shown beside the measured one. */
export const claimedMs = (lane?: Lane): number | undefined => number(lane?.answer?.latency_ms, DAY_MS);

/** The other claims; undefined if there are none. */
export function claimsOf(lane?: Lane): Claims | undefined {
  const a = lane?.answer;
  const [confidence, tokens, tools, subagents] = [
    number(a?.confidence, 1),
    number(a?.tokens, Number.MAX_VALUE),
    names(a?.tools_used),
    names(a?.subagents_used),
  ];
  const claims: Claims = {
    ...(confidence === undefined ? {} : { confidence }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(tools ? { tools } : {}),
    ...(subagents ? { subagents } : {}),
  };
  return Object.keys(claims).length ? claims : undefined;
}
