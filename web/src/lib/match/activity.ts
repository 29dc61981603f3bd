import { lineOf } from './line';
import { isOver, type Entry, type Lane, type MatchState, type Round } from './state';

// What an agent does in a round, without its words: which kind of event when,
// names of tools and durations. A sealed round shows as much.

export type Kind = 'thinking' | 'tool' | 'subagent' | 'note' | 'trouble';

/** Something that an agent did, in milliseconds since the round began. */
export interface Span {
  readonly seq: number;
  readonly kind: Kind;
  readonly name?: string;
  readonly from: number;
  /** Undefined while it is under way; equal to from for what has no duration. */
  readonly to?: number;
}

/** How often a tool was used. */
export interface Uses {
  readonly name: string;
  readonly count: number;
}

export interface Activity {
  readonly spans: readonly Span[];
  readonly counts: Readonly<Record<Exclude<Kind, 'tool'>, number>>;
  /** The tools that were used most. */
  readonly tools: readonly Uses[];
  /** Uses of other tools. */
  readonly otherTools: number;
}

const KINDS: Partial<Record<Entry['type'], Kind>> = {
  thinking: 'thinking',
  tool_call: 'tool',
  tool_response: 'tool',
  spawn_subagent: 'subagent',
  subagent_done: 'subagent',
  intermediate_result: 'note',
  error: 'trouble',
  agent_paused: 'trouble',
  agent_resumed: 'trouble',
};

const MOST_TOOLS = 3;
const MOST_LETTERS = 32;
/** A track has room for no more; the newest ones are shown. */
const MOST_SPANS = 80;

const clip = (name: string): string => {
  const letters = [...name.slice(0, 4 * MOST_LETTERS)];
  return letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS).join('')}…` : letters.join('');
};

export function activityOf(entries: readonly Entry[], startedAt: string): Activity {
  const start = Date.parse(startedAt);
  const spans: Span[] = [];
  const counts = { thinking: 0, subagent: 0, note: 0, trouble: 0 };
  const uses = new Map<string, number>();
  for (const e of entries) {
    const kind = KINDS[e.type];
    if (!kind) continue; // an answer: the outcome shows it
    const name = clip(lineOf(e).name ?? '');
    const from = Math.max(0, Date.parse(e.ts) - start);
    const lasts = e.type === 'tool_call' || e.type === 'spawn_subagent';
    const to = !lasts ? from : e.end && Math.max(from, Date.parse(e.end.ts) - start);
    spans.push({ seq: e.seq, kind, from, ...(name ? { name } : {}), ...(to === undefined ? {} : { to }) });
    if (kind !== 'tool') counts[kind]++;
    else uses.set(name, (uses.get(name) ?? 0) + 1);
  }
  const tools = [...uses].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count);
  return {
    spans: spans.slice(-MOST_SPANS),
    counts,
    tools: tools.slice(0, MOST_TOOLS),
    otherTools: tools.slice(MOST_TOOLS).reduce((n, t) => n + t.count, 0),
  };
}

/** The tool that a lane is waiting for. */
export function toolInUse(lane: Lane | undefined): string | undefined {
  if (lane?.phase !== 'tool') return undefined;
  const call = lane.entries.findLast((e) => e.type === 'tool_call' && !e.end);
  return call && clip(lineOf(call).name ?? '');
}

/** When a lane's round ended, in milliseconds since it began; undefined while it is open. */
export const endOf = (lane: Lane | undefined): number | undefined => (lane?.outcome ? (lane.elapsedMs ?? 0) : undefined);

const SCALES = [5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600].map((s) => s * 1000);

/** How many milliseconds the tracks of a round span: the same for all lanes, and enough for what has happened. */
export function scaleOf(round: Round, now: number): number {
  const limit = round.limitSeconds * 1000;
  const lanes = Object.values(round.lanes);
  const open = !round.closedAt && lanes.some((l) => !l.outcome);
  const spent = Math.max(0, ...lanes.map((l) => l.elapsedMs ?? 0), open ? now - Date.parse(round.startedAt) : 0);
  return Math.min(limit, SCALES.find((s) => s >= spent) ?? limit) || limit;
}

/** Who has answered in a round, and who has not come to an end. */
export interface LockIns {
  readonly locked: readonly string[];
  readonly waiting: readonly string[];
  readonly total: number;
}

/** The lanes of an open round by whether they have answered; undefined where nobody is waited for any more. */
export function lockInsOf(match: MatchState, round: Round | undefined): LockIns | undefined {
  if (!round || round.closedAt || match.unread || isOver(match)) return undefined;
  const ids = match.order.filter((id) => round.lanes[id]);
  return {
    locked: ids.filter((id) => round.lanes[id]?.outcome === 'answered'),
    waiting: ids.filter((id) => !round.lanes[id]?.outcome),
    total: ids.length,
  };
}
