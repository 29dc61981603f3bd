import type { Match } from '../api/contract';
import { applyEvent } from './apply';
import { fromSnapshot, type MatchState } from './state';

/** A match as its snapshot tells it, to be drawn while its log is read. What its seats do is not known. */
export function unread(m: Match): MatchState {
  const known: MatchState = {
    ...fromSnapshot(m),
    unread: true,
    changes: m.seats.flatMap(({ agent_id, rating_before, rating_delta }) =>
      rating_before === undefined || rating_delta === undefined
        ? []
        : [{ agent_id, rating_before, rating_delta, rating_after: rating_before + rating_delta }],
    ),
  };
  if (!m.current_round) return known;
  const { started_at, closed, ...opened } = m.current_round;
  const { rounds } = applyEvent(known, {
    ...opened,
    type: 'round_started',
    match_id: m.match_id,
    seq: m.seq,
    ts: started_at,
    time_limit_seconds: m.time_limit_seconds,
  });
  return { ...known, rounds: rounds.map((r) => ({ ...r, lanes: {}, ...(closed ? { closedAt: started_at } : {}) })) };
}
