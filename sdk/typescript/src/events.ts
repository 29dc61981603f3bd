import { maxNames } from './task.js';
import type { Answer } from './task.js';
import { clip } from './text.js';

// The arena takes events of at most 16 KiB; texts are cut well below it.
const maxEvent = 16 << 10;
const maxText = 4 << 10;

/** Where events go. @internal */
export interface Shows {
  push(token: string, event: string): void;
}

/**
 * Reports what an agent does on one task to the spectators (AAP, "Streaming events"). Its methods never wait and never
 * throw.
 */
export class Events {
  #open = true;
  readonly #link: Shows | null;
  readonly #token: string;
  readonly #drop: () => void;
  readonly #agents = new Set<string>();
  readonly #tools = new Set<string>();

  /** Without a link everything is dropped: for trying a handler without an arena. */
  constructor(link: Shows | null = null, token = '', drop: () => void = () => {}) {
    this.#link = link;
    this.#token = token;
    this.#drop = drop;
  }

  /** Shows a thought. */
  thinking(message: string): void {
    this.#send(() => ({ type: 'thinking', message: clip(message, maxText) }));
  }

  /** Shows the start of a sub-agent. */
  spawn(name: string, role: string): void {
    note(this.#agents, name);
    this.#send(() => ({ type: 'spawn_subagent', name: clip(name, maxText), role: clip(role, maxText) }));
  }

  /** Shows the end of a sub-agent. */
  subagentDone(name: string, tookMs: number): void {
    this.#send(() => ({ type: 'subagent_done', name: clip(name, maxText), duration_ms: Math.round(tookMs) }));
  }

  /** Shows the use of a tool. `args` is encoded as JSON at once. */
  toolCall(tool: string, args: unknown): void {
    note(this.#tools, tool);
    this.#send(() => ({ type: 'tool_call', tool: clip(tool, maxText), args: args ?? null }));
  }

  /** Shows what the last tool gave. `result` is encoded as JSON at once. */
  toolResponse(result: unknown, tookMs: number): void {
    this.#send(() => ({
      type: 'tool_response',
      result: typeof result === 'string' ? clip(result, maxText) : (result ?? null),
      duration_ms: Math.round(tookMs),
    }));
  }

  /** Shows a result on the way. `data` is encoded as JSON at once; it should be an object. */
  intermediate(data: unknown): void {
    this.#send(() => ({ type: 'intermediate_result', data: data ?? null }));
  }

  /** Shows an answer; `final` reports whether it is the last one. What counts is what the handler returns. */
  answer(value: string, final: boolean): void {
    this.#send(() => ({ type: 'answer', final, value: clip(value, maxText) }));
  }

  /** Shows a failure; `fatal` reports whether the agent abandons the task. */
  error(message: string, fatal: boolean): void {
    this.#send(() => ({ type: 'error', message: clip(message, maxText), fatal }));
  }

  /** Ends the reporting: what comes later would fall into the next round. @internal */
  shut(): void {
    this.#open = false;
  }

  /** Puts the names that were noted into an answer that came without its own. @internal */
  fill(a: Answer): Answer {
    return { ...a, subagents: a.subagents ?? [...this.#agents], tools: a.tools ?? [...this.#tools] };
  }

  #send(event: () => object): void {
    if (this.#link === null) return;
    let data = '';
    try {
      data = JSON.stringify(event());
    } catch {
      // what cannot be encoded is dropped below
    }
    if (!this.#open || data === '' || Buffer.byteLength(data) > maxEvent) this.#drop();
    else this.#link.push(this.#token, data);
  }
}

function note(names: Set<string>, name: string): void {
  if (names.size < maxNames) names.add(String(name));
}
