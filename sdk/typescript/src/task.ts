import { clip } from './text.js';
import { isOfMatch } from './token.js';
import type { Claims } from './token.js';

/**
 * One question of a match, or one turn of a game (AAP, "Request format"). `observation`, `taskId`, `attempt`, `deadline`
 * and `previous` are the arena's additions.
 */
export interface Task {
  version: string;
  /** Slug of the league. */
  league: string;
  matchId: string;
  /** 1 is the first. */
  round: number;
  /** 0: open end. */
  totalRounds: number;
  description: string;
  inputFormat: string;
  outputFormat: string;
  /** null: an open question. In a game the legal moves. */
  options: readonly string[] | null;
  /** What the agent knows of a game (docs/games.md has the members for each); null: no game. */
  observation: Readonly<Record<string, unknown>> | null;
  timeLimitMs: number;
  /** 0: no limit was named. */
  maxTokens: number;
  rules: readonly string[];
  /** Other active seats. */
  opponents: number;
  /** "" when not named. */
  taskId: string;
  /** 1, or more when the arena asks again. */
  attempt: number;
  /** By the arena's clock, with the time bank of a game; null: not named. */
  deadline: Date | null;
  /** How the agent's last round in the match went; null in the first round. */
  previous: Previous | null;
  /** Of the token that came with the task; null when tokens are skipped. */
  claims: Claims | null;
}

export interface Previous {
  /** "answered", "timeout", … */
  outcome: string;
  /** The accepted answer; "" when it is absent. */
  correct: string;
  /** 0..1 */
  points: number;
  /** By the arena's clock. */
  measuredMs: number;
  /** For the answer; null without one. */
  receipt: Receipt | null;
  /** Why the move was refused that the agent gave for this very task, e.g. "column 3 is full"; "": it was not. */
  error: string;
}

/**
 * The arena's word that it had an answer. The token of the task covers it: who keeps token and body can show it to
 * others.
 */
export interface Receipt {
  /** Of the answer as the match's record shows it, hexadecimal. */
  sha256: string;
  /** By the arena's clock; null: not named. */
  arrivedAt: Date | null;
}

/** What an agent replies (AAP, "Response format"). Only `value` is needed; the rest is shown to the spectators. */
export interface Answer {
  value: string;
  /** 0..1; left out: not declared. */
  confidence?: number;
  reasoning?: string;
  /** Left out: the names given to `events.spawn`. */
  subagents?: readonly string[];
  /** Left out: the names given to `events.toolCall`. */
  tools?: readonly string[];
  /** Left out or 0: not declared. */
  tokens?: number;
}

// The longest time limit that is believed.
const maxTimeLimitSeconds = 24 * 3600;

// The time between the iat of a token and the second in which the arena made it. The arena backdates iat for agents whose
// clock is behind (docs/agent-protocol.md, "The token").
const backdatingMs = 5000;

type Members = Record<string, unknown>;

/** Reads the body of a task POST. It throws when the body is not a task. */
export function decodeTask(body: Buffer): Task {
  const w = members(JSON.parse(body.toString('utf8')), 'the body');
  const task = members(w['task'] ?? {}, 'task');
  const previous = w['previous'] == null ? null : members(w['previous'], 'previous');
  const receipt = previous?.['receipt'] == null ? null : members(previous['receipt'], 'receipt');
  const t: Task = {
    version: text(w, 'version'),
    league: text(w, 'league'),
    matchId: text(w, 'match_id'),
    round: whole(w, 'round'),
    totalRounds: whole(w, 'total_rounds'),
    description: text(task, 'description'),
    inputFormat: text(task, 'input_format'),
    outputFormat: text(task, 'output_format'),
    options: texts(task, 'options'),
    observation: task['observation'] == null ? null : members(task['observation'], 'observation'),
    timeLimitMs: number(w, 'time_limit_seconds') * 1000,
    maxTokens: whole(w, 'max_tokens'),
    rules: texts(w, 'rules') ?? [],
    opponents: whole(w, 'opponent_count'),
    taskId: text(w, 'task_id'),
    attempt: Math.max(whole(w, 'attempt'), 1),
    deadline: time(w, 'deadline'),
    previous: previous && {
      outcome: text(previous, 'outcome'),
      correct: typeof previous['correct'] === 'string' ? previous['correct'] : '',
      points: number(previous, 'points'),
      measuredMs: number(previous, 'measured_ms'),
      receipt: receipt && { sha256: text(receipt, 'sha256'), arrivedAt: time(receipt, 'arrived_at') },
      error: text(previous, 'error'),
    },
    claims: null,
  };
  if (t.matchId === '' || t.description === '') throw new TypeError('match_id and task.description are needed');
  if (!(t.timeLimitMs > 0) || t.timeLimitMs > maxTimeLimitSeconds * 1000) throw new TypeError('time_limit_seconds is not a time');
  return t;
}

function members(v: unknown, name: string): Members {
  if (typeof v !== 'object' || v === null || Array.isArray(v)) throw new TypeError(`${name} is not an object`);
  return v as Members;
}

function text(m: Members, name: string): string {
  const v = m[name] ?? '';
  if (typeof v !== 'string') throw new TypeError(`${name} is not a text`);
  return v;
}

function number(m: Members, name: string): number {
  const v = m[name] ?? 0;
  if (typeof v !== 'number') throw new TypeError(`${name} is not a number`);
  return v;
}

function whole(m: Members, name: string): number {
  const v = number(m, name);
  if (!Number.isSafeInteger(v)) throw new TypeError(`${name} is not a whole number`);
  return v;
}

function texts(m: Members, name: string): string[] | null {
  const v = m[name] ?? null;
  if (v === null) return null;
  if (!Array.isArray(v) || !v.every((item) => typeof item === 'string')) throw new TypeError(`${name} is not a list of texts`);
  return v;
}

function time(m: Members, name: string): Date | null {
  const v = text(m, name);
  if (v === '') return null;
  const at = new Date(v);
  if (Number.isNaN(at.getTime())) throw new TypeError(`${name} is not a time`);
  return at;
}

/** The legal moves of a turn of a game: the answer is one of them. Empty for a question, and if the league does not list them. */
export function legalMoves(t: Task): readonly string[] {
  return t.observation === null ? [] : (t.options ?? []);
}

/**
 * Names the question, whatever the attempt. A task that asks for another move because the last one was refused is
 * another question.
 */
export function keyOf(t: Task): string {
  return JSON.stringify([t.claims?.agentId ?? '', t.matchId, t.round, t.taskId || t.description, t.previous?.error ?? '']);
}

/**
 * How long a handler may work and how long its reply is waited for, in milliseconds from the arrival of the task. The
 * arena's own clock determines how much of the limit is left, from the time at which the token was made; a part is kept back for
 * the way of the reply. In a game the deadline may lie beyond the limit: it includes the time bank of the agent. The token
 * of a match is older than the task: then the agent's own clock counts, which was at `clock` when the task arrived.
 */
export function timesOf(t: Task, clock = 0): { work: number; wait: number } {
  let left = t.timeLimitMs;
  if (t.deadline !== null && t.claims !== null) {
    const start = isOfMatch(t.claims) ? clock : t.claims.issuedAt.getTime() + backdatingMs;
    const untilDeadline = t.deadline.getTime() - start;
    if (untilDeadline > 0 && (untilDeadline < left || t.observation !== null)) left = Math.min(untilDeadline, maxTimeLimitSeconds * 1000);
  }
  const kept = Math.min(200, left / 10);
  return { work: left - kept, wait: left - kept / 2 };
}

// The arena reads no reply over 64 KiB; what is too long for it is cut.
const maxAnswer = 24 << 10;
const maxReasoning = 4 << 10;
export const maxNames = 64;
const maxName = 64;

/** Makes the body of a reply. */
export function encodeAnswer(a: Answer, tookMs: number): string {
  if (typeof a?.value !== 'string') throw new TypeError('the answer has no value');
  const names = (all: readonly string[] | undefined): string[] => (all ?? []).slice(0, maxNames).map((n) => clip(n, maxName));
  const declared = (n: number | undefined): n is number => typeof n === 'number' && Number.isFinite(n) && n > 0;
  return JSON.stringify({
    answer: clip(a.value, maxAnswer),
    confidence: declared(a.confidence) ? Math.min(a.confidence, 1) : undefined,
    reasoning: a.reasoning ? clip(a.reasoning, maxReasoning) : undefined,
    subagents_used: names(a.subagents),
    tools_used: names(a.tools),
    tokens: declared(a.tokens) ? Math.round(a.tokens) : undefined,
    latency_ms: Math.round(tookMs),
  });
}
