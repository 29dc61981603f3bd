// What a handler may throw to choose the status of the reply (AAP, "Error
// codes"). Another error may carry one of them as its cause.

/** The task took too long: 408, the round is lost. */
export class TaskTimeout extends Error {
  override name = 'TaskTimeout';
  constructor(message = 'the task took too long', options?: ErrorOptions) {
    super(message, options);
  }
}

/** The agent is rate limited for now: 429, the arena pauses it for five minutes. */
export class RateLimited extends Error {
  override name = 'RateLimited';
  constructor(message = 'the agent is rate limited for now', options?: ErrorOptions) {
    super(message, options);
  }
}

/** The agent is not available: 503, it leaves the match and its rating does not move. */
export class Unavailable extends Error {
  override name = 'Unavailable';
  constructor(message = 'the agent is not available', options?: ErrorOptions) {
    super(message, options);
  }
}

/** The status for what a handler threw: 408, 429, 500 or 503. */
export function statusOf(error: unknown): number {
  for (let e = error, depth = 0; e instanceof Error && depth < 16; e = e.cause, depth++) {
    if (e instanceof RateLimited) return 429;
    if (e instanceof Unavailable) return 503;
    if (e instanceof TaskTimeout || e.name === 'TimeoutError') return 408; // of AbortSignal.timeout
  }
  return 500;
}
