import type { Match } from '../api/contract';
import { surprise } from '../rating';

/** How far back a night goes. */
const NIGHT_MS = 12 * 3_600_000;

/** Ids of the finished matches among these that were upsets (docs/rules.md, section 7), of the 12 hours before a time. */
export function upsetsOf(matches: readonly Match[], now: number): string[] {
  return matches
    .filter((m) => {
      const first = m.seats.filter((s) => s.place === 1);
      if (m.status !== 'finished' || first.length !== 1 || now - Date.parse(m.finished_at ?? '') > NIGHT_MS) return false;
      const ratings = m.seats.flatMap((s) =>
        s.rating_before === undefined || s.rating_delta === undefined ? [] : [{ id: s.agent_id, rating: s.rating_before }],
      );
      return surprise(first[0]!.agent_id, ratings) !== undefined;
    })
    .map((m) => m.match_id);
}
