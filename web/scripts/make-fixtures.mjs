// Writes the recorded logs that the unit tests and the fixture server replay.
// They have the exact wire form of a match's log, sealed parts and commitments
// included. Run: node scripts/make-fixtures.mjs
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const out = new URL('../src/lib/fixtures/', import.meta.url);
const SHOWN = {
  thinking: [],
  intermediate_result: [],
  spawn_subagent: ['name'],
  tool_call: ['tool'],
  tool_response: ['duration_ms'],
  subagent_done: ['name', 'duration_ms'],
  answer: ['final'],
  error: ['fatal'],
  seat_outcome: ['outcome', 'reason', 'elapsed_ms', 'attempts'],
};

/** Numbers in [0, 1) that are the same in every run. */
export function randomFrom(seed) {
  let s = seed;
  return () => {
    s = (s * 1664525 + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

const canonical = (v) =>
  JSON.stringify(v, (_, x) =>
    x && typeof x === 'object' && !Array.isArray(x) ? Object.fromEntries(Object.entries(x).sort(([a], [b]) => (a < b ? -1 : 1))) : x,
  );

export class Log {
  constructor(matchId, sealed, start, random) {
    Object.assign(this, { matchId, sealed, at: start, random, lines: [], hidden: [] });
  }

  add(type, { round, agent, ...body } = {}, at = this.at) {
    this.at = Math.max(this.at, at);
    let shown = body;
    const keep = SHOWN[type];
    const seq = this.lines.length + 1;
    if (this.sealed && keep && Object.keys(body).some((k) => !keep.includes(k))) {
      const hidden = { ...Object.fromEntries(Object.entries(body).filter(([k]) => !keep.includes(k))), nonce: this.nonce() };
      shown = Object.fromEntries(Object.entries(body).filter(([k]) => keep.includes(k)));
      shown.commitment = createHash('sha256').update(canonical(hidden)).digest('hex');
      this.hidden.push({ seq, agent_id: agent, hidden });
    }
    this.lines.push(
      JSON.stringify({
        seq,
        match_id: this.matchId,
        ...(round ? { round } : {}),
        ...(agent ? { agent_id: agent } : {}),
        ts: new Date(this.at).toISOString(),
        type,
        ...shown,
      }),
    );
  }

  nonce() {
    return Buffer.from(Array.from({ length: 16 }, () => Math.floor(this.random() * 256))).toString('base64url');
  }

  reveal(round) {
    if (this.hidden.length) this.add('reveal', { round, events: this.hidden });
    this.hidden = [];
  }
}

const NAMES = [
  'Quill',
  'Meridian',
  'Sparrow',
  'Ordinary Oracle',
  'Deep Ledger',
  'Tin Whistle',
  'Halcyon',
  'Nine Lives',
  'Paper Tiger',
  'Basalt',
  'Ciphered',
  'Long Division',
  'Moth',
  'Second Guess',
  'Ravel',
  'Kestrel',
  'Slow Burn',
  'Abacus',
  'Night Shift',
  'Plumb Line',
  'عقل هادئ',
  '<script>alert(1)</script>',
  'Tamarind',
  'A name that is as long as the arena allows a name to be',
];
export const agents = NAMES.map((name, i) => ({
  agent_id: `ag_01kb${String(i * 7919 + 1013).padStart(6, '0')}fixture`,
  name,
  version: `1.${i}`,
}));

const TASKS = [
  ['Which of these planets has the shortest day?', ['Mars', 'Jupiter', 'Saturn', 'Neptune'], 'Jupiter', 'Astronomy'],
  ['In which year did the first transatlantic telegraph cable carry a message?', ['1848', '1858', '1866', '1872'], '1858', 'History'],
  ['What is the chemical symbol of tungsten?', ['W', 'Tu', 'Tn', 'Ta'], 'W', 'Chemistry'],
  [
    'Who wrote “The Garden of Forking Paths”?',
    ['Julio Cortázar', 'Jorge Luis Borges', 'Adolfo Bioy Casares', 'Ernesto Sabato'],
    'Jorge Luis Borges',
    'Literature',
  ],
  ['Which river flows through the most countries?', ['Danube', 'Nile', 'Rhine', 'Congo'], 'Danube', 'Geography'],
  ['How many faces has an icosahedron?', ['12', '20', '24', '30'], '20', 'Geometry'],
  ['Which instrument has forty-seven strings?', ['Harp', 'Lute', 'Sitar', 'Zither'], 'Harp', 'Music'],
];

/** What one agent does in one round, as [ms after the start, type, body]. */
function script(random, right, task, chatty) {
  const [, options, correct] = task;
  const answer = right ? correct : (options.find((o) => o !== correct && random() > 0.4) ?? options.find((o) => o !== correct));
  const steps = [
    [
      350 + random() * 300,
      'thinking',
      {
        message: `Reading the question. The topic is ${task[3].toLowerCase()}; ${options.length} options, so one of them has to go first.`,
      },
    ],
  ];
  let t = 1300 + random() * 500;
  if (chatty) {
    steps.push([t, 'spawn_subagent', { name: 'Checker', role: 'verification' }]);
    steps.push([(t += 400), 'tool_call', { tool: 'knowledge_search', args: { query: task[0], limit: 3, filters: { topic: task[3] } } }]);
    steps.push([(t += 700 + random() * 600), 'tool_response', { result: `3 passages; the best one names ${answer}.`, duration_ms: 812 }]);
    steps.push([(t += 300), 'subagent_done', { name: 'Checker', duration_ms: 1450 }]);
    steps.push([
      (t += 350),
      'thinking',
      { message: `${answer} fits best. The others fail on at least one count, and I would rather be quick than certain.` },
    ]);
  } else if (random() > 0.45) {
    steps.push([t, 'tool_call', { tool: 'calculator', args: { expression: '2^10 - 3' } }]);
    steps.push([(t += 250 + random() * 300), 'tool_response', { result: '1021', duration_ms: 31 }]);
  }
  const end = t + 600 + random() * 1600;
  return {
    steps,
    end,
    reply: {
      answer,
      confidence: right ? 0.9 : 0.55,
      reasoning: `I compared the options one by one. ${answer} is the one that fits the question.`,
      tools_used: chatty ? ['knowledge_search'] : [],
      tokens: 180 + Math.floor(random() * 400),
    },
  };
}

const LIMIT = 12;

/** Plays a whole match and gives its log, one JSON text per event. */
export function record({ matchId, league, format, seats, rounds, sealed, seed, fate, chatty, rated = true }) {
  const random = randomFrom(seed);
  const log = new Log(matchId, sealed, Date.UTC(2026, 10, 21, 18, 0, 0), random);
  const brief = seats.map(({ agent_id, name: n, version }) => ({ agent_id, name: n, version }));
  log.add('match_scheduled', { league, starts_at: new Date(log.at + 5000).toISOString(), rated, seats: brief });
  log.at += 5000;
  log.add('match_started', {
    league,
    format,
    visibility: sealed ? 'sealed' : 'live',
    rated,
    total_rounds: format === 'elimination' ? null : rounds,
    seats: brief,
  });
  const score = new Map(seats.map((s) => [s.agent_id, { points: 0, out: 0, state: 'active' }]));
  let no = 0;
  for (; no < rounds;) {
    no++;
    const active = seats.filter((s) => score.get(s.agent_id).state === 'active');
    if (format === 'elimination' && active.length < 2) break;
    const task = TASKS[(no - 1) % TASKS.length];
    const start = log.at + 1500;
    log.add(
      'round_started',
      {
        round: no,
        task: {
          task_id: `tk_fixture${no}`,
          description: task[0],
          input_format: 'string',
          output_format: 'string',
          options: task[1],
          topic: task[3],
        },
        time_limit_seconds: LIMIT,
        deadline: new Date(start + LIMIT * 1000).toISOString(),
      },
      start,
    );
    const acts = [];
    const closed = [];
    active.forEach((seat, i) => {
      const result = fate(no, i, seat, random);
      const { steps, end, reply } = script(random, result === 'right', task, chatty(i));
      for (const [t, type, body] of steps)
        if (!(result === 'unavailable')) acts.push([start + t, type, { round: no, agent: seat.agent_id, ...body }]);
      const answered = result === 'right' || result === 'wrong';
      const outcome = answered ? 'answered' : result;
      const elapsed = outcome === 'timeout' ? LIMIT * 1000 : outcome === 'unavailable' ? 40 : Math.round(end);
      if (answered) acts.push([start + end - 30, 'answer', { round: no, agent: seat.agent_id, final: true, value: reply.answer }]);
      acts.push([
        start + elapsed,
        'seat_outcome',
        {
          round: no,
          agent: seat.agent_id,
          outcome,
          ...(outcome === 'invalid'
            ? { reason: 'bad_json' }
            : outcome === 'error'
              ? { reason: 'status_500' }
              : outcome === 'unavailable'
                ? { reason: 'status_503' }
                : {}),
          elapsed_ms: elapsed,
          attempts: outcome === 'error' ? 2 : 1,
          ...(answered ? reply : {}),
        },
      ]);
      if (outcome === 'unavailable')
        acts.push([start + elapsed + 1, 'agent_left', { round: no, agent: seat.agent_id, outcome, reason: 'status_503' }]);
      if (outcome === 'rate_limited')
        acts.push([
          start + elapsed + 1,
          'agent_paused',
          {
            round: no,
            agent: seat.agent_id,
            name: seat.name,
            reason: 'rate_limit',
            until: new Date(start + elapsed + 300_000).toISOString(),
          },
        ]);
      const line = score.get(seat.agent_id);
      if (result === 'right') line.points += 1;
      else if (outcome === 'unavailable') line.state = 'left';
      else if (format === 'elimination') Object.assign(line, { state: 'out', out: no });
      closed.push({
        agent_id: seat.agent_id,
        answer: answered ? reply.answer : null,
        points: result === 'right' ? 1 : 0,
        outcome,
        elapsed_ms: elapsed,
      });
    });
    for (const [at, type, body] of acts.sort((a, b) => a[0] - b[0])) log.add(type, body, at);
    log.at += 120;
    log.reveal(no);
    log.add('round_closed', { round: no, correct: task[2], seats: closed, standings: standings(seats, score) });
    log.at += 2500;
  }
  const table = standings(seats, score);
  const size = seats.length;
  const moved = table.filter((s) => s.state !== 'left');
  log.add('match_finished', {
    league,
    rated,
    seats: table.map((s) => ({
      agent_id: s.agent_id,
      name: seats.find((x) => x.agent_id === s.agent_id).name,
      points: s.points,
      place: s.place,
      state: s.state,
    })),
    rating_changes: rated
      ? moved.map((s, i) => {
          const delta =
            size === 2
              ? table[0].points === table[1].points
                ? 0
                : i === 0
                  ? 18.244
                  : -18.244
              : Math.round((moved.length / 2 - i - 0.5) * 3200) / 1000;
          const before = 1500 + ((i * 37) % 160);
          return {
            agent_id: s.agent_id,
            rating_before: before,
            rating_after: before + delta,
            rating_delta: delta,
            k: 40,
            score: Math.round(1000 * (1 - i / moved.length)) / 1000,
            matches: 31,
          };
        })
      : [],
  });
  return log.lines;
}

function standings(seats, score) {
  const key = (l) => (l.out || 999) * 1000 + l.points;
  const lines = seats.map((s) => ({ agent_id: s.agent_id, ...score.get(s.agent_id) })).sort((a, b) => key(b) - key(a));
  return lines.map((l) => ({
    agent_id: l.agent_id,
    points: l.points,
    place: 1 + lines.filter((x) => key(x) > key(l)).length,
    state: l.state,
  }));
}

const DUEL = ['right right', 'right wrong', 'wrong right', 'right timeout', 'right right'].map((r) => r.split(' '));

/** Everyone plays on until the last one stands; a few fail in every way there is. */
export const survival = (no, i, _seat, random) =>
  no === 1 && i === 5
    ? 'unavailable'
    : no === 1 && i === 9
      ? 'timeout'
      : no === 1 && i === 12
        ? 'invalid'
        : no === 2 && i === 3
          ? 'error'
          : i === 0 || random() < 0.66
            ? 'right'
            : 'wrong';

const LOGS = {
  'duel.jsonl': {
    matchId: 'm_fixture_duel',
    league: 'trivia',
    format: 'ladder',
    seats: agents.slice(0, 2),
    rounds: 5,
    sealed: true,
    seed: 7,
    fate: (no, i) => DUEL[no - 1][i],
    chatty: (i) => i === 0,
  },
  'table.jsonl': {
    matchId: 'm_fixture_table',
    league: 'arithmetic',
    format: 'ladder',
    seats: agents.slice(3, 9),
    rounds: 4,
    sealed: false,
    seed: 99,
    rated: false,
    fate: (no, i, _s, r) =>
      no === 2 && i === 5
        ? 'unavailable'
        : no === 2 && i === 3
          ? 'rate_limited'
          : no === 3 && i === 1
            ? 'error'
            : r() < 0.7
              ? 'right'
              : 'wrong',
    chatty: (i) => i % 3 === 0,
  },
  'elimination.jsonl': {
    matchId: 'm_fixture_elimination',
    league: 'survival',
    format: 'elimination',
    seats: agents,
    rounds: 9,
    sealed: true,
    seed: 4242,
    fate: survival,
    chatty: (i) => i % 8 === 0,
  },
};

/** Writes logs, by file name, among the fixtures. */
export function write(logs) {
  for (const [name, lines] of Object.entries(logs)) {
    writeFileSync(new URL(name, out), `${lines.join('\n')}\n`);
    console.log(name, lines.length, 'events');
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  write(Object.fromEntries(Object.entries(LOGS).map(([name, options]) => [name, record(options)])));
}
