// A small arena made of recorded logs: leagues, agents and matches in the
// forms of the API, and the moment at which each live match stands.
import { readFileSync } from 'node:fs';
import { askedLogs, judges, seasonLeagues, seasonsOf } from './fixture-seasons.mjs';
import { agents, record, survival } from './make-fixtures.mjs';
import { games } from './make-games.mjs';

const read = (name) =>
  readFileSync(new URL(`../src/lib/fixtures/${name}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n');
const hash = (text) => [...text].reduce((h, c) => (h * 31 + c.codePointAt(0)) % 9973, 7);
const iso = (ms) => new Date(ms).toISOString();

const crowd = Array.from({ length: 128 }, (_, i) => ({
  agent_id: `ag_01kc${String(i * 6151 + 77).padStart(7, '0')}`,
  name: `${agents[i % 20].name} ${i}`,
  version: '1.0',
}));

/** Moves a log so that its event number at stands at now, under another match id. */
function moved(lines, id, now, at) {
  const events = lines.map((l) => JSON.parse(l));
  const shift = now - Date.parse(events[Math.min(at, events.length - 1)].ts);
  const later = (ts) => iso(Date.parse(ts) + shift);
  return events.map((e) => ({
    ...e,
    match_id: id,
    ts: later(e.ts),
    ...(e.deadline ? { deadline: later(e.deadline) } : {}),
    ...(e.starts_at ? { starts_at: later(e.starts_at) } : {}),
    ...(e.until ? { until: later(e.until) } : {}),
  }));
}

const LEAGUE = { max_tokens: 0, rules: [], entry: {}, score_mode: 'match', drift: 0, created_at: '2026-11-01T00:00:00.000Z' };

export function world(now = Date.now()) {
  const played = games();
  const leagues = [
    {
      ...LEAGUE,
      slug: 'trivia',
      title: 'Open Trivia',
      status: 'running',
      format: 'ladder',
      pack_id: 'pk_1',
      judge: { kind: 'choice' },
      rounds: 5,
      time_limit_seconds: 12,
      min_seats: 2,
      max_seats: 2,
      rated: true,
      visibility: 'sealed',
      agents: 16,
      next_run_at: iso(now + 34_000),
      rules: ['No search engines during a round.'],
    },
    {
      ...LEAGUE,
      slug: 'survival',
      title: 'Last One Standing',
      status: 'running',
      format: 'elimination',
      pack_id: 'pk_1',
      judge: { kind: 'choice' },
      rounds: null,
      max_rounds: 20,
      time_limit_seconds: 12,
      min_seats: 3,
      max_seats: 128,
      rated: true,
      visibility: 'sealed',
      agents: 24,
      schedule: '*/5 * * * *',
      next_run_at: iso(now + 130_000),
    },
    {
      ...LEAGUE,
      slug: 'arithmetic',
      title: 'Mental Arithmetic',
      status: 'running',
      format: 'ladder',
      generator: { name: 'arithmetic', difficulty: 2 },
      judge: { kind: 'number', tolerance: 0.01 },
      rounds: 4,
      time_limit_seconds: 12,
      min_seats: 2,
      max_seats: 8,
      rated: false,
      visibility: 'live',
      agents: 9,
      note: 'needs 2 idle agents, has 1',
      note_code: 'needs_agents',
      note_params: { least: 2, has: 1 },
    },
    {
      ...LEAGUE,
      slug: 'empty',
      title: 'A league that nobody has entered',
      status: 'open',
      format: 'swiss',
      pack_id: 'pk_2',
      judge: { kind: 'exact' },
      rounds: 7,
      time_limit_seconds: 30,
      min_seats: 2,
      max_seats: 2,
      rated: true,
      visibility: 'sealed',
      agents: 0,
    },
    ...Object.keys(played).map((name) => ({
      ...LEAGUE,
      slug: name.replaceAll('_', '-'),
      title: name.replaceAll('_', ' '),
      game: { name: name.replaceAll('_', '-'), games_per_match: 4 },
      status: 'running',
      format: 'ladder',
      judge: { kind: 'exact' },
      rounds: null,
      time_limit_seconds: 10,
      min_seats: 2,
      max_seats: 2,
      rated: true,
      visibility: 'sealed',
      agents: 8,
    })),
    ...seasonLeagues(LEAGUE, now),
  ];
  const asked = askedLogs();
  const [duel, table, elimination] = ['duel', 'table', 'elimination'].map(read);
  const large = record({
    matchId: 'm',
    league: 'survival',
    format: 'elimination',
    seats: crowd,
    rounds: 9,
    sealed: true,
    seed: 5,
    fate: survival,
    chatty: (i) => i % 40 === 0,
  });
  const round = (lines, no, plus) => lines.findIndex((l) => l.includes('"round_started"') && l.includes(`"round":${no},`)) + plus;
  const logs = new Map([
    ['m_live_duel', moved(duel, 'm_live_duel', now, round(duel, 1, 8))],
    ['m_live_table', moved(table, 'm_live_table', now, round(table, 2, 20))],
    ['m_live_arena', moved(elimination, 'm_live_arena', now, round(elimination, 2, 24))],
    ['m_live_large', moved(large, 'm_live_large', now, round(large, 1, 300))],
    [
      'm_reveal_arena',
      moved(
        elimination,
        'm_reveal_arena',
        now - 100,
        elimination.findIndex((l) => l.includes('"round_closed"')),
      ),
    ],
    ['m_done_duel', moved(duel, 'm_done_duel', now - 200_000, duel.length - 1)],
    ['m_done_table', moved(table, 'm_done_table', now - 420_000, table.length - 1)],
    ['m_done_arena', moved(elimination, 'm_done_arena', now - 640_000, elimination.length - 1)],
    ['m_live_debate', moved(asked.debate, 'm_live_debate', now, round(asked.debate, 2, 3))],
    [
      'm_judged_debate',
      moved(
        asked.debate,
        'm_judged_debate',
        now - 200,
        asked.debate.findIndex((l) => l.includes('"ballots"')),
      ),
    ],
    ['m_done_debate', moved(asked.debate, 'm_done_debate', now - 300_000, asked.debate.length - 1)],
    ['m_long_debate', moved(asked.long, 'm_long_debate', now - 300_000, asked.long.length - 1)],
    [
      'm_vote',
      moved(
        asked.vote,
        'm_vote',
        now,
        asked.vote.findIndex((l) => l.includes('"vote_opened"')),
      ),
    ],
    ...Object.entries(played).flatMap(([name, log]) => [
      [`m_live_${name}`, moved(log, `m_live_${name}`, now, Math.floor(log.length / 3))],
      [`m_done_${name}`, moved(log, `m_done_${name}`, now - 500_000, log.length - 1)],
    ]),
    ['m_next', moved(duel.slice(0, 1), 'm_next', now - 5000, 0).map((e) => ({ ...e, starts_at: iso(now + 95_000) }))],
  ]);
  const start = logs.get('m_done_duel').slice(0, 4);
  logs.set(
    'm_void',
    [
      ...start,
      {
        seq: 5,
        match_id: 'm_void',
        ts: start[3].ts,
        type: 'match_void',
        league: 'trivia',
        reason: 'fewer than two agents were left',
        void_code: 'too_few_agents',
      },
    ].map((e) => ({ ...e, match_id: 'm_void' })),
  );
  return {
    leagues,
    logs,
    games: Object.keys(played).map((name) => name.replaceAll('_', '-')),
    seasons: seasonsOf(now),
    judges,
    agents: agents.map((a, i) => agent(a, i, now)),
    now,
  };
}

function agent({ agent_id, name, version }, i, now) {
  const rating = 1400 + (hash(agent_id) % 320);
  const paused =
    i === 6
      ? { reason: 'rate_limit', since: iso(now - 60_000), until: iso(now + 200_000) }
      : i === 9
        ? { reason: 'health', since: iso(now - 900_000) }
        : undefined;
  const line = { rating, rated_matches: 4 + i * 7, provisional: 4 + i * 7 < 30, wins: 2 + i * 3, draws: i, losses: 2 + i * 3 };
  return {
    agent_id,
    name,
    version,
    owner_id: `ow_${i % 5}`,
    owner_name: ['demo', 'Ada Byron', 'Team Halcyon', 'עדה', 'lab-7'][i % 5],
    protocol: ['aap', 'aap', 'a2a'][i % 3],
    ...(i % 3 === 1 ? { pull: true } : {}),
    ...(i % 4 === 2 ? {} : { model: ['gpt-4.1-mini', 'LangGraph', '', 'claude-haiku-4-5'][i % 4] }),
    leagues: ['trivia', 'survival'],
    description: i === 0 ? 'Steady. Thinks once, checks once, answers once.' : '',
    status: paused ? 'paused' : 'active',
    ...(paused ? { pause: paused } : {}),
    health: {
      ok: i !== 9,
      checked_at: iso(now - 12_000),
      latency_ms: 3.4 + i,
      declared_latency_ms: 800,
      ...(i === 9 ? { reason: 'status_503' } : {}),
      capabilities: ['trivia', 'survival'],
      max_concurrent: 1 + (i % 3),
    },
    ratings: i < 20 ? { trivia: line, survival: { ...line, rating: rating - 40 } } : {},
    running: 0,
    created_at: iso(now - 5e8),
    outcomes:
      i < 20
        ? { answered: 120 + i * 9, timeout: 3 + i, error: i % 4, invalid: i % 3, rate_limited: i === 6 ? 4 : 0, unavailable: i % 2 }
        : {},
  };
}

/** Ratings after the last matches: a walk that ends where the agent stands. */
export function history(a, slug, now, n = 60) {
  let rating = a.ratings[slug].rating;
  const points = [];
  for (let i = 0; i < Math.min(n, a.ratings[slug].rated_matches); i++) {
    const delta = ((hash(`${a.agent_id}${i}`) % 41) - 20) * 0.9;
    points.unshift({ match_id: 'm_done_duel', at: iso(now - i * 540_000), rating, delta, version: i < 14 ? a.version : '0.9' });
    rating -= delta;
  }
  return points;
}

/** The last round opened, as a single match and the live ones of lists have it. */
function roundOf(seen) {
  const opened = seen.findLast((e) => e.type === 'round_started');
  if (!opened) return {};
  const { seq: _seq, match_id: _match, type: _type, time_limit_seconds: _limit, ts, ...round } = opened;
  return { current_round: { ...round, started_at: ts, closed: seen.some((e) => e.type === 'round_closed' && e.round === round.round) } };
}

/** The Match object of a log as it stands at now. */
export function matchOf(log, now) {
  const seen = log.filter((e) => Date.parse(e.ts) <= now);
  const first = log[0];
  const last = seen.at(-1) ?? first;
  const started = seen.find((e) => e.type === 'match_started');
  const closed = seen.findLast((e) => e.type === 'round_closed');
  const end = seen.find((e) => e.type === 'match_finished');
  const gone = seen.find((e) => e.type === 'match_void');
  const lines = end?.seats ?? closed?.standings ?? [];
  return {
    match_id: first.match_id,
    league: first.league,
    status: gone ? 'void' : end ? 'finished' : started ? 'running' : 'scheduled',
    rated: first.rated,
    format: started?.format ?? 'ladder',
    visibility: started?.visibility ?? 'sealed',
    judge: 'choice',
    time_limit_seconds: 12,
    round: seen.findLast((e) => e.type === 'round_started')?.round ?? 0,
    total_rounds: started ? started.total_rounds : 5,
    seats: first.seats.map((s) => {
      const line = lines.find((l) => l.agent_id === s.agent_id);
      const delta = end?.rating_changes.find((c) => c.agent_id === s.agent_id);
      return {
        ...s,
        owner_id: 'ow_1',
        state: line?.state ?? 'active',
        points: line?.points ?? 0,
        ...(end ? { place: line.place } : {}),
        ...(delta ? { rating_before: delta.rating_before, rating_delta: delta.rating_delta } : {}),
      };
    }),
    created_at: first.ts,
    starts_at: first.starts_at,
    ...(started ? { started_at: started.ts } : {}),
    ...(end || gone ? { finished_at: last.ts } : {}),
    ...(gone ? { void_reason: gone.reason, void_code: gone.void_code } : {}),
    ...roundOf(seen),
    seq: last.seq,
    viewers: end || gone || !started ? 0 : 3 + (hash(first.match_id) % 40),
  };
}
