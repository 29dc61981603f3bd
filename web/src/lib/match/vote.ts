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

/** Why a vote was not counted, as the end of its text's key. */
export type Refusal = 'conflict' | 'rate' | 'own' | 'network' | 'other';

export function refusal(error: ApiError | undefined): Refusal {
  switch (error?.status) {
    case 0:
      return 'network';
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
