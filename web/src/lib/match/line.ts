import { isObject } from '../json';
import type { Entry } from './state';

// What a lane's line says. Agents may send anything, so every member is
// looked at before it is used.

export interface Line {
  /** A tool's or sub-agent's name. */
  readonly name?: string;
  readonly text?: string;
  readonly args?: unknown;
  readonly result?: unknown;
  readonly tookMs?: number;
}

export function lineOf(entry: Entry): Line {
  const { body, end } = entry;
  const took = number(end?.body['duration_ms']) ?? number(body['duration_ms']) ?? (end && Date.parse(end.ts) - Date.parse(entry.ts));
  const tookMs = took === undefined ? {} : { tookMs: took };
  switch (entry.type) {
    case 'tool_call':
      return {
        ...named(body['tool']),
        ...texts(brief(body['args'])),
        ...some('args', body['args']),
        ...some('result', end?.body['result']),
        ...tookMs,
      };
    case 'tool_response':
      return { ...texts(brief(body['result'])), ...some('result', body['result']), ...tookMs };
    case 'spawn_subagent':
    case 'subagent_done':
      return { ...named(body['name']), ...texts(text(body['role'])), ...tookMs };
    case 'intermediate_result':
      return { ...texts(brief(body['data'])), ...(typeof body['data'] === 'object' ? some('result', body['data']) : {}) };
    case 'answer':
      return texts(text(body['value']));
    default:
      return texts(text(body['message']));
  }
}

const named = (v: unknown) => (text(v) ? { name: text(v)! } : {});
const texts = (v: string | undefined) => (v ? { text: v } : {});
const some = (key: 'args' | 'result', v: unknown) => (v === undefined || v === null || v === '' ? {} : { [key]: v });
const number = (v: unknown): number | undefined => (typeof v === 'number' && Number.isFinite(v) && v >= 0 ? v : undefined);

function text(v: unknown): string | undefined {
  if (typeof v === 'string') return v || undefined;
  return v === undefined || v === null ? undefined : JSON.stringify(v);
}

const BRIEF = 120;

/** One line's worth of a value: the words of a string, the values of an object. */
function brief(v: unknown): string | undefined {
  const whole = isObject(v)
    ? Object.values(v)
        .filter((x) => typeof x !== 'object')
        .map(String)
        .join(' · ')
    : text(v);
  return whole && whole.length > BRIEF ? `${whole.slice(0, BRIEF)}…` : whole;
}

export const pretty = (v: unknown): string => (typeof v === 'string' ? v : JSON.stringify(v, null, 2));

/** final, fatal: the agent ends its round with this line. after: it reported this line later all the same. ended: this line began before, and its end came later. */
export type Closing = 'final' | 'fatal' | 'after' | 'ended';

const OF_AGENTS = new Set<Entry['type']>([
  'thinking',
  'spawn_subagent',
  'tool_call',
  'tool_response',
  'subagent_done',
  'intermediate_result',
  'answer',
  'error',
]);

function closingOf({ type, body }: Entry): 'final' | 'fatal' | undefined {
  if (type === 'answer' && body['final'] === true) return 'final';
  return type === 'error' && body['fatal'] === true ? 'fatal' : undefined;
}

/** Which lines close a lane, and which come after one that does. */
export function closings(entries: readonly Entry[]): (Closing | undefined)[] {
  const at = entries.findIndex(closingOf);
  const last = entries[at];
  return entries.map((e, i) => {
    if (!last || !OF_AGENTS.has(e.type)) return undefined;
    if (i === at) return closingOf(e);
    return i > at ? 'after' : e.end && e.end.seq > last.seq ? 'ended' : undefined;
  });
}

/** How a lane was closed, and how many events its agent reported after that. */
export function closeOf(entries: readonly Entry[]): { readonly by: 'final' | 'fatal'; readonly later: number } | undefined {
  const marks = closings(entries);
  const by = marks.find((m) => m === 'final' || m === 'fatal');
  if (!by) return undefined;
  const later = entries.reduce((n, e, i) => n + (marks[i] === 'after' ? (e.end ? 2 : 1) : marks[i] === 'ended' ? 1 : 0), 0);
  return { by, later };
}

/** How deep each line stands in the tree of sub-agents: one step per sub-agent at work then. */
export function depths(entries: readonly Entry[]): number[] {
  const ends: number[] = [];
  return entries.map((e) => {
    const depth = ends.filter((end) => end > e.seq).length;
    if (e.type === 'spawn_subagent') ends.push(e.end?.seq ?? Number.POSITIVE_INFINITY);
    return Math.min(depth, 3);
  });
}
