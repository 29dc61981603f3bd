import type { Agent } from '$lib/api/contract';

// The endpoint test as the steps that it takes, read from its one result.

export const STEPS = ['reached', 'status', 'json', 'ok', 'version', 'leagues'] as const;
export type StepName = (typeof STEPS)[number] | 'key' | 'fetches';

/** The steps for agents of a protocol: only AAP has a health check of its own. */
const STEPS_OF: Readonly<Record<string, readonly StepName[]>> = {
  aap: STEPS,
  agora: ['reached', 'leagues'],
  envelope: ['key', 'reached', 'leagues'],
  agentprotocol: ['key', 'reached', 'leagues'],
  a2a: ['reached', 'leagues'],
};
/** Of an AAP agent without an endpoint: it is there when it asks for tasks. */
const STEPS_OF_PULL: readonly StepName[] = ['fetches', 'leagues'];

/** skipped: an earlier step failed, so this one was not tried. */
export type StepState = 'passed' | 'failed' | 'skipped' | 'waiting';

export interface Step {
  readonly name: StepName;
  readonly state: StepState;
  /** Of a failed step: the stable word for what is wrong. */
  readonly reason?: string;
  /** Leagues that the agent has entered and does not say it plays. */
  readonly missing?: readonly string[];
}

const FAILS_AT: Readonly<Record<string, StepName>> = {
  redirect: 'status',
  switching_protocols: 'status',
  truncated: 'json',
  too_large: 'json',
  bad_encoding: 'json',
  bad_content_type: 'json',
  bad_json: 'json',
  not_ok: 'ok',
  bad_version: 'version',
  key_not_proved: 'key',
  not_polling: 'fetches',
};

/** The step at which a check fails with this reason; everything else is a failure to reach it. */
const stepOf = (reason: string): StepName => FAILS_AT[reason] ?? (/^status_\d+$/.test(reason) ? 'status' : 'reached');

/** Those of an agent's leagues that its health check does not list. One that lists none plays in all. */
export const notListed = ({ health: { ok, capabilities }, leagues }: Pick<Agent, 'health' | 'leagues'>): string[] =>
  ok && capabilities.length ? leagues.filter((slug) => !capabilities.includes(slug)) : [];

export function stepsOf(agent: Pick<Agent, 'health' | 'leagues' | 'protocol' | 'pull'> | undefined): Step[] {
  const names = agent?.pull ? STEPS_OF_PULL : (STEPS_OF[agent?.protocol ?? 'aap'] ?? STEPS);
  if (!agent?.health.checked_at) return names.map((name) => ({ name, state: 'waiting' }));
  const { ok, reason = '' } = agent.health;
  if (ok) {
    const missing = notListed(agent);
    return names.map((name) =>
      name === 'leagues' && missing.length ? { name, state: 'failed', reason: 'not_declared', missing } : { name, state: 'passed' },
    );
  }
  const step = stepOf(reason);
  const at = Math.max(0, names.indexOf(names.includes(step) ? step : 'reached'));
  return names.map((name, i) =>
    i < at ? { name, state: 'passed' } : i > at ? { name, state: 'skipped' } : { name, state: 'failed', reason },
  );
}

/** status_503 in the words' key and blank: status, 503. */
export function reasonKey(reason: string): { key: string; status: string } {
  const status = /^status_(\d+)$/.exec(reason)?.[1];
  return status ? { key: 'status', status } : { key: reason, status: '' };
}
