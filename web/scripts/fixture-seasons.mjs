// Leagues of the fixture world that are played in seasons, and those whose
// judges are asked. The seasons are as the arena's own formats paired them.
import { readFileSync } from 'node:fs';
import { recordDebate, recordVote } from './make-debates.mjs';
import { agents } from './make-fixtures.mjs';

const iso = (ms) => new Date(ms).toISOString();
const recorded = readFileSync(new URL('../src/lib/fixtures/seasons.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((l) => JSON.parse(l));

/** A recorded season, moved so that it has just begun, or ended a while ago. */
function season(name, now) {
  const s = structuredClone(recorded.find((r) => r.name === name).season);
  const began = now - (s.finished_at ? 3_600_000 : 9 * 60_000);
  const shift = began - Date.parse(s.started_at);
  const later = (o, key) => o[key] && (o[key] = iso(Date.parse(o[key]) + shift));
  for (const key of ['started_at', 'finished_at', 'ends_at']) later(s, key);
  for (const p of s.rounds.flatMap((r) => r.pairings)) {
    later(p, 'decided_at');
    if (p.match_id) p.match_id = p.result ? 'm_done_duel' : 'm_live_duel';
  }
  return s;
}

function freeze(s) {
  for (const p of s.rounds.flatMap((r) => r.pairings)) {
    delete p.result;
    for (const a of p.agents) delete a.score;
  }
  return { ...s, frozen: true, table: [] };
}

const league = (base, over) => ({
  ...base,
  status: 'running',
  pack_id: 'pk_1',
  judge: { kind: 'choice' },
  rounds: 5,
  time_limit_seconds: 12,
  min_seats: 2,
  max_seats: 2,
  rated: true,
  visibility: 'sealed',
  agents: 14,
  ...over,
});

export function seasonLeagues(base, now) {
  const panel = {
    kind: 'panel',
    agents: agents.slice(9, 12).map((a) => a.agent_id),
    criteria: 'Who gives more and better reasons, and answers those of the other side?',
  };
  return [
    league(base, {
      slug: 'swiss',
      title: 'Swiss Cup',
      format: 'swiss',
      format_options: { rounds: 5, forfeit_seconds: 30 },
      schedule: '*/10 * * * *',
      note: 'round 4 waits for Ordinary Oracle',
      note_code: 'waits_for_agent',
      note_params: { round: 4, agent: 'Ordinary Oracle' },
    }),
    league(base, { slug: 'robin', title: 'All Meet All', format: 'round_robin', agents: 9, next_run_at: iso(now + 42_000) }),
    league(base, {
      slug: 'cup',
      title: 'Autumn Cup',
      format: 'knockout',
      agents: 12,
      entry: { agents_per_owner: 2, password_required: true },
    }),
    league(base, {
      slug: 'second-chance',
      title: 'Second Chance',
      format: 'double_elimination',
      format_options: { best_of: 1 },
      agents: 11,
    }),
    league(base, { slug: 'frozen', title: 'The Frozen Board', format: 'swiss', status: 'frozen', format_options: { rounds: 5 } }),
    league(base, {
      slug: 'debates',
      title: 'Debating Club',
      format: 'ladder',
      debate: { turns: 2 },
      judge: panel,
      rounds: 4,
      time_limit_seconds: 20,
      agents: 9,
    }),
    league(base, {
      slug: 'salon',
      title: 'The Salon',
      format: 'ladder',
      judge: { kind: 'crowd', criteria: 'Which one would you rather read?', window_seconds: 60, min_votes: 3 },
      rounds: 3,
      rated: false,
      agents: 8,
    }),
  ];
}

/** Seasons by league, newest first. */
export function seasonsOf(now) {
  return {
    swiss: [season('swiss', now), season('swiss_done', now)],
    robin: [season('round_robin', now), season('round_robin_done', now)],
    cup: [season('knockout', now), season('knockout_done', now)],
    'second-chance': [season('double', now), season('double_done', now)],
    frozen: [freeze(season('swiss', now)), season('swiss_done', now)],
  };
}

export const judges = {
  debates: {
    kind: 'panel',
    criteria: 'Who gives more and better reasons, and answers those of the other side?',
    versions: ['panel-2 3f9a', 'panel-1'],
    verdicts: 64,
    ballots: 384,
    flip_rate: 0.14,
    first_rate: 0.53,
    longer_rate: 0.61,
    agreement: 0.72,
  },
  salon: {
    kind: 'crowd',
    criteria: 'Which one would you rather read?',
    versions: ['crowd-1'],
    verdicts: 0,
    ballots: 0,
    flip_rate: null,
    first_rate: null,
    longer_rate: null,
    agreement: null,
  },
};

/** Logs of matches whose judges are asked. */
export function askedLogs() {
  const seats = [agents[1], agents[5]];
  return {
    debate: recordDebate({ matchId: 'm', league: 'debates', seats, judges: agents.slice(9, 12), turns: 2 }),
    long: recordDebate({
      matchId: 'm',
      league: 'debates',
      seats: [agents[20], agents[23]],
      judges: agents.slice(9, 12),
      turns: 1,
      words: () => 3000,
    }),
    vote: recordVote({ matchId: 'm', league: 'salon', seats: [agents[2], agents[7]], seconds: 60 }),
  };
}
