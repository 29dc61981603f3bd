import * as api from '../api/arena';
import type { ApiError } from '../api/client';
import type { BlindAnswer } from '../api/contract';

// A spectator compares two answers; of more than two it is shown one pair.

export type Pair = readonly [BlindAnswer, BlindAnswer];

export function pairsOf(entries: readonly BlindAnswer[]): Pair[] {
  return entries.flatMap((b, k) => entries.slice(0, k).map((a): Pair => [a, b]));
}

/** Another pair than the one at hand, drawn by a lot in [0, 1); 0 when there is no other. */
export function nextPair(count: number, at: number, lot: number): number {
  if (count < 2) return 0;
  if (at < 0) return Math.floor(lot * count);
  return (at + 1 + Math.floor(lot * (count - 1))) % count;
}

/** Who is signed in in this browser; without a token nobody is. */
export interface Voter {
  readonly token: string;
  call<T>(method: string, path: string, body: unknown): Promise<T>;
}

/** Sends a vote: as the owner who is signed in, else as the browser. */
export const cast = (voter: Voter, match: string, vote: api.Vote): Promise<api.Vote> =>
  voter.token ? voter.call<api.Vote>('POST', api.votesPath(match), vote) : api.vote(match, vote);

/** Why a vote was not counted, as the end of its text's key. */
export type Refusal = 'conflict' | 'rate' | 'own' | 'account' | 'network' | 'other';

export function refusal(error: ApiError | undefined): Refusal {
  switch (error?.status) {
    case 0:
      return 'network';
    case 401:
      return 'account';
    case 409:
      return 'conflict';
    case 429:
      return 'rate';
    case 403:
      return 'own';
    default:
      return 'other';
  }
}
