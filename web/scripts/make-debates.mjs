// Writes the recorded logs of matches whose judges are asked: a debate before
// a panel, and a duel on which the spectators vote. They have the wire form of
// the arena's own. Run: node scripts/make-debates.mjs
import { fileURLToPath } from 'node:url';
import { agents, Log, randomFrom, write } from './make-fixtures.mjs';

const START = Date.UTC(2026, 10, 21, 19, 0, 0);
const LIMIT = 20;
const MOTION = 'This house would teach every child to program before teaching a second language.';
const REASONS = {
  for: [
    'A program answers at once and without mercy; nothing else at school teaches so early that one can be wrong and try again.',
    'Whoever can make a tool sees tools differently: a form, a price list, a newspaper chart become things that somebody made and could have made otherwise.',
  ],
  against: [
    'A second language is a second way to be at home. It opens people, not machines, and the door closes with age.',
    'Programming ages within ten years; what a child learns of grammar, of courtesy and of misunderstanding does not.',
  ],
};
const FILLER =
  'Consider what follows from this in an ordinary classroom on an ordinary day, with thirty children, one teacher and too little time.';

/** A speech of about so many words. */
export function speech(side, turn, words = 90) {
  const parts = [REASONS[side][(turn - 1) % 2]];
  while (parts.join(' ').split(' ').length < words) parts.push(parts.length % 4 === 3 ? `\n\n${FILLER}` : FILLER);
  return parts.join(' ');
}

const seatsOf = (seats) => seats.map(({ agent_id, name, version }) => ({ agent_id, name, version }));

function begin(log, { league, seats, rounds, rated }) {
  log.add('match_scheduled', { league, starts_at: new Date(log.at + 5000).toISOString(), rated, seats: seatsOf(seats) });
  log.at += 5000;
  log.add('match_started', { league, format: 'ladder', visibility: 'sealed', rated, total_rounds: rounds, seats: seatsOf(seats) });
}

function end(log, { league, seats, rated }, points) {
  const place = (i) => 1 + points.filter((p) => p > points[i]).length;
  const delta = Math.sign(points[0] - points[1]) * 12.5;
  log.add('match_finished', {
    league,
    rated,
    seats: seats.map((s, i) => ({ agent_id: s.agent_id, name: s.name, points: points[i], place: place(i), state: 'active' })),
    rating_changes: rated
      ? seats.map((s, i) => ({
          agent_id: s.agent_id,
          rating_before: 1520,
          rating_after: 1520 + (i ? -delta : delta),
          rating_delta: i ? -delta : delta,
          k: 40,
          score: i ? 0 : 1,
          matches: 31,
        }))
      : [],
  });
}

/** Both give their answer; it stays sealed. */
function answers(log, no, seats, texts, start) {
  seats.forEach((s, i) => {
    log.add(
      'thinking',
      { round: no, agent: s.agent_id, message: i ? 'What would the other side rather not hear?' : 'Two points, the strong one last.' },
      start + 900 + i * 400,
    );
  });
  seats.forEach((s, i) => {
    const at = start + 4200 + i * 1900;
    if (texts[i] === null)
      log.add(
        'seat_outcome',
        { round: no, agent: s.agent_id, outcome: 'timeout', elapsed_ms: LIMIT * 1000, attempts: 1 },
        start + LIMIT * 1000,
      );
    else
      log.add(
        'seat_outcome',
        { round: no, agent: s.agent_id, outcome: 'answered', elapsed_ms: at - start, attempts: 1, answer: texts[i], confidence: 0.7 },
        at,
      );
  });
}

function close(log, no, seats, texts, got, points, ballots, start) {
  log.at = Math.max(log.at + 150, start);
  log.reveal(no);
  log.add('round_closed', {
    round: no,
    seats: seats.map((s, i) => ({
      agent_id: s.agent_id,
      answer: texts[i],
      points: got[i],
      outcome: texts[i] === null ? 'timeout' : 'answered',
      elapsed_ms: texts[i] === null ? LIMIT * 1000 : 4200 + i * 1900,
    })),
    standings: seats.map((s, i) => ({
      agent_id: s.agent_id,
      points: points[i],
      place: 1 + points.filter((p) => p > points[i]).length,
      state: 'active',
    })),
    ...(ballots.length ? { ballots } : {}),
  });
  log.at += 3000;
}

/** A panel: two judges for the first, one that says whatever stands first. */
function panel(judges, [a, b], better) {
  return judges.flatMap((judge, i) =>
    [
      [a, b],
      [b, a],
    ].map(([first, second]) => ({
      judge: judge.agent_id,
      first: first.agent_id,
      second: second.agent_id,
      choice: i === judges.length - 1 ? first.agent_id : better,
      ...(i < 2
        ? {
            reason: i
              ? 'It answers the point on age; the other side leaves that one standing.'
              : 'More reasons of its own, and none of them repeated.',
          }
        : {}),
    })),
  );
}

export function recordDebate({ matchId, league, seats, judges, turns, words, seed = 11, rated = true }) {
  const log = new Log(matchId, true, START, randomFrom(seed));
  begin(log, { league, seats, rounds: 2 * turns, rated });
  const points = [0, 0];
  for (let no = 1; no <= 2 * turns; no++) {
    const half = 1 + Math.floor((no - 1) / turns);
    const turn = 1 + ((no - 1) % turns);
    const [pro, contra] = half === 1 ? seats : [seats[1], seats[0]];
    const start = log.at + 1500;
    log.add(
      'round_started',
      {
        round: no,
        task: {
          task_id: 'tk_motion',
          description: `${MOTION}\n\nTurn ${turn} of ${turns}. For: ${pro.name}. Against: ${contra.name}.`,
          input_format: 'string',
          output_format: 'string',
        },
        time_limit_seconds: LIMIT,
        deadline: new Date(start + LIMIT * 1000).toISOString(),
        debate: { half, turn, turns, for: pro.agent_id, against: contra.agent_id, motion: MOTION },
      },
      start,
    );
    const texts = seats.map((s, i) =>
      no === 2 * turns && i === 1 && turns > 1 ? null : speech(s === pro ? 'for' : 'against', turn, words?.(no, i)),
    );
    answers(log, no, seats, texts, start);
    const closes = turn === turns;
    const better = half === 1 ? 0 : 1;
    if (closes) log.at += 2500;
    if (closes) points[better]++;
    close(
      log,
      no,
      seats,
      texts,
      seats.map((_, i) => (closes && i === better ? 1 : 0)),
      points,
      closes ? panel(judges, seats, seats[better].agent_id) : [],
      start,
    );
  }
  end(log, { league, seats, rated }, points);
  return log.lines;
}

const QUESTIONS = [
  'Explain to a child of six why the sky is blue.',
  'Write the first sentence of a novel about a lighthouse.',
  'Comfort somebody who has just lost a chess game.',
];
const REPLIES = [
  [
    'Sunlight is all colours at once. The air plays catch with the blue ones most, so blue comes at you from everywhere.',
    'Because of Rayleigh scattering, whose strength goes with the inverse fourth power of the wavelength.',
  ],
  [
    'The light had been out for three nights before anybody asked who was supposed to be keeping it.',
    'It was a lighthouse, and it stood by the sea.',
  ],
  ['You found the idea on move nineteen. Two moves late, but you found it; next time you will be early.', 'Chess is only a game.'],
];

/** The spectators vote on each round; the first seat wins most of them. */
export function recordVote({ matchId, league, seats, seconds = 20, seed = 23 }) {
  const log = new Log(matchId, true, START, randomFrom(seed));
  begin(log, { league, seats, rounds: QUESTIONS.length, rated: false });
  const points = [0, 0];
  QUESTIONS.forEach((question, q) => {
    const no = q + 1;
    const start = log.at + 1500;
    log.add(
      'round_started',
      {
        round: no,
        task: { task_id: `tk_vote${no}`, description: question, input_format: 'string', output_format: 'string' },
        time_limit_seconds: LIMIT,
        deadline: new Date(start + LIMIT * 1000).toISOString(),
      },
      start,
    );
    answers(log, no, seats, REPLIES[q], start);
    const [x, y] = q % 2 ? [1, 0] : [0, 1];
    const opened = log.at + 50;
    log.add(
      'vote_opened',
      {
        round: no,
        until: new Date(opened + seconds * 1000).toISOString(),
        criteria: 'Which one would you rather read?',
        entries: [
          { label: 'A', text: REPLIES[q][x] },
          { label: 'B', text: REPLIES[q][y] },
        ],
      },
      opened,
    );
    const tie = q === 2;
    const got = tie ? [0.5, 0.5] : [1, 0];
    got.forEach((p, i) => (points[i] += p));
    const ballot = {
      judge: 'crowd',
      first: seats[x].agent_id,
      second: seats[y].agent_id,
      choice: tie ? '' : seats[0].agent_id,
      votes: 14 + q * 8,
    };
    close(log, no, seats, REPLIES[q], got, points, [ballot], opened + seconds * 1000 + 100);
  });
  end(log, { league, seats, rated: false }, points);
  return log.lines;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  write({
    'debate.jsonl': recordDebate({
      matchId: 'm_fixture_debate',
      league: 'debates',
      seats: [agents[1], agents[5]],
      judges: agents.slice(9, 12),
      turns: 2,
    }),
    'vote.jsonl': recordVote({ matchId: 'm_fixture_vote', league: 'salon', seats: [agents[2], agents[7]] }),
  });
}
