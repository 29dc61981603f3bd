import { untrack } from 'svelte';
import * as api from '../api/arena';
import type { Agent, Match } from '../api/contract';

/** Whether a finished match was won, from one seat's view. */
export type Result = 'win' | 'draw' | 'loss';

export function resultOf(match: Match, agentId: string): Result | undefined {
  if (match.status !== 'finished') return undefined;
  const mine = match.seats.find((s) => s.agent_id === agentId);
  if (!mine?.place) return undefined;
  if (mine.place > 1) return 'loss';
  return match.seats.filter((s) => s.place === 1).length > 1 ? 'draw' : 'win';
}

/** What is known of the agents at a small table beside the match itself. */
export class People {
  agents = $state.raw<Readonly<Record<string, Agent>>>({});
  form = $state.raw<Readonly<Record<string, readonly Result[]>>>({});

  /** False until they have been read. */
  settled = $state(true);

  /** Reads the agents, and their last ten results before a time if there is one; what cannot be read is left out. */
  async load(ids: readonly string[], signal: AbortSignal, before?: string): Promise<void> {
    this.settled = untrack(() => ids.every((id) => this.agents[id]));
    await Promise.all(
      ids.map(async (id) => {
        const [agent, matches] = await Promise.allSettled([api.agent(id, signal), before ? api.agentMatches(id, 20, signal) : undefined]);
        if (signal.aborted) return;
        if (agent.status === 'fulfilled') this.agents = { ...this.agents, [id]: agent.value };
        if (matches.status === 'fulfilled' && matches.value) {
          const results = matches.value.items
            .filter((m) => Date.parse(m.finished_at ?? '') <= Date.parse(before ?? ''))
            .map((m) => resultOf(m, id))
            .filter((r) => r !== undefined);
          this.form = { ...this.form, [id]: results.slice(0, 10).reverse() };
        }
      }),
    );
    if (!signal.aborted) this.settled = true;
  }
}
