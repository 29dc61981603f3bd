import type { ArenaEvent, Match } from '../api/contract';
import { isObject } from '../json';

// A match's log from a file: JSON lines as /v1/matches/{id}/events returns them,
// optionally preceded by {"match": …}. The file is untrusted: what the reducer
// and the pages rely on is checked here.

export interface LogFile {
  readonly match?: Pick<Match, 'match_id' | 'league'>;
  readonly events: readonly ArenaEvent[];
}

/** Why a line cannot be used; the ends of the texts replay.file.error.*. */
export type Wrong = 'json' | 'object' | 'seq' | 'gap' | 'ts' | 'type' | 'field' | 'first' | 'mixed';

export interface BadLine {
  /** 1-based. */
  readonly line: number;
  readonly wrong: Wrong;
  /** What it is about: a member's name, or what was expected. */
  readonly what: string;
}

/** What is too large to be a match. */
export const FILE_MAX = 64 << 20;
/** How many bad lines are reported before reading stops. */
const BAD_MAX = 10;

type Shape = (v: unknown) => boolean;
const text: Shape = (v) => typeof v === 'string';
const number: Shape = (v) => typeof v === 'number' && Number.isFinite(v);
const flag: Shape = (v) => typeof v === 'boolean';
const time: Shape = (v) => typeof v === 'string' && Number.isFinite(Date.parse(v));
const none: Shape = (v) => v === undefined || v === null;
const maybe =
  (shape: Shape): Shape =>
  (v) =>
    none(v) || shape(v);
const list =
  (shape: Shape): Shape =>
  (v) =>
    Array.isArray(v) && v.every(shape);
const object =
  (members: Readonly<Record<string, Shape>>): Shape =>
  (v) =>
    isObject(v) && Object.entries(members).every(([key, shape]) => shape(v[key]));

const seats = list(object({ agent_id: text, name: text, version: maybe(text) }));
const standing = { agent_id: text, points: number, place: number, state: text };
const change = object({ agent_id: text, rating_before: number, rating_after: number, rating_delta: number, matches: maybe(number) });
const answered = { answer: maybe(text), reasoning: maybe(text), confidence: maybe(number) };

/** The members that each of the arena's own events must have. What agents say of themselves may be anything. */
const SHAPES: Readonly<Record<string, Readonly<Record<string, Shape>>>> = {
  match_scheduled: { league: text, starts_at: time, rated: flag, seats },
  match_started: { league: text, format: text, visibility: text, rated: flag, total_rounds: maybe(number), seats },
  round_started: {
    round: number,
    time_limit_seconds: number,
    deadline: time,
    task: object({ description: text, topic: maybe(text), options: maybe(list(text)) }),
    debate: maybe(object({ half: number, turn: number, turns: number, for: text, against: text, motion: text })),
    seats_to_act: maybe(list(text)),
    time_banks: maybe(list(object({ agent_id: text, seconds: number }))),
  },
  seat_outcome: { agent_id: text, outcome: text, elapsed_ms: number, reason: maybe(text), commitment: maybe(text), ...answered },
  vote_opened: { until: time, criteria: text, entries: list(object({ label: text, text })) },
  reveal: { events: list(object({ seq: number, hidden: object(answered) })) },
  round_closed: {
    round: number,
    correct: maybe(text),
    standings: list(object(standing)),
    seats: list(object({ agent_id: text, answer: maybe(text), points: number, outcome: text, reason: maybe(text), elapsed_ms: number })),
    ballots: maybe(list(object({ judge: text, first: text, second: text, choice: text, reason: maybe(text), votes: maybe(number) }))),
    moves: maybe(list(object({ agent_id: text, move: text, legal: flag }))),
  },
  agent_paused: {},
  agent_resumed: {},
  agent_left: { agent_id: text, outcome: text, reason: maybe(text) },
  match_finished: { rated: flag, seats: list(object(standing)), rating_changes: maybe(list(change)) },
  match_void: { reason: text, void_code: text },
  thinking: {},
  spawn_subagent: {},
  tool_call: {},
  tool_response: {},
  subagent_done: {},
  intermediate_result: {},
  answer: {},
  error: {},
};

/** Reads a log. There are events, or there is something wrong. */
export function readLog(content: string): { file: LogFile; bad: readonly BadLine[] } {
  const bad: BadLine[] = [];
  const events: ArenaEvent[] = [];
  let match: LogFile['match'];
  let line = 0;
  for (const raw of content.split('\n')) {
    line++;
    const trimmed = raw.trim();
    if (!trimmed) continue;
    if (bad.length >= BAD_MAX) break;
    const value = parsed(trimmed);
    if (value === undefined) bad.push({ line, wrong: 'json', what: '' });
    else if (typeof value !== 'object' || value === null || Array.isArray(value)) bad.push({ line, wrong: 'object', what: '' });
    else if (!events.length && !match && headed(value)) match = value.match;
    else {
      const wrong = check(value as Record<string, unknown>, events);
      if (wrong) bad.push({ line, ...wrong });
      else events.push(value as ArenaEvent);
    }
  }
  return { file: { ...(match ? { match } : {}), events }, bad };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return undefined;
  }
}

const headed = (v: object): v is { match: NonNullable<LogFile['match']> } => object({ match: object({ match_id: text, league: text }) })(v);

function check(e: Record<string, unknown>, before: readonly ArenaEvent[]): Omit<BadLine, 'line'> | undefined {
  const last = before.at(-1);
  if (!Number.isInteger(e['seq']) || Number(e['seq']) < 1) return { wrong: 'seq', what: '' };
  const expected = (last?.seq ?? 0) + 1;
  if (e['seq'] !== expected) return last ? { wrong: 'gap', what: String(expected) } : { wrong: 'first', what: '' };
  if (!time(e['ts'])) return { wrong: 'ts', what: '' };
  const shape = text(e['type']) && Object.hasOwn(SHAPES, e['type'] as string) ? SHAPES[e['type'] as string] : undefined;
  if (!shape) return { wrong: 'type', what: String(e['type']).slice(0, 40) };
  if (!last && e['type'] !== 'match_scheduled' && e['type'] !== 'match_started') return { wrong: 'first', what: '' };
  if (last?.match_id && e['match_id'] !== last.match_id) return { wrong: 'mixed', what: '' };
  const common = { round: maybe(number), agent_id: maybe(text), match_id: maybe(text), ...shape };
  const field = Object.entries(common).find(([key, fits]) => !fits(e[key]));
  return field && { wrong: 'field', what: field[0] };
}
