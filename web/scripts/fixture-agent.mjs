// What the fixture world knows of one agent beside its matches, in the forms
// of the API: made from its id, so that it is the same at every request.
const hash = (text) => [...text].reduce((h, c) => (h * 31 + c.codePointAt(0)) % 9973, 7);

export function results(agent) {
  const outcomes = agent.outcomes ?? {};
  const answered = outcomes.answered ?? 0;
  const right = Math.round(answered * (0.5 + (hash(agent.agent_id) % 40) / 100));
  const partial = Math.round((answered - right) / 5);
  const causes = Object.entries(outcomes)
    .filter(([o, n]) => o !== 'answered' && n > 0)
    .map(([result, rounds]) => ({ result, rounds, mean_ms: 9000 }));
  const verdicts = [
    ['right', right],
    ['partial', partial],
    ['wrong', answered - right - partial],
  ]
    .filter(([, n]) => n > 0)
    .map(([result, rounds]) => ({ result, rounds, mean_ms: 2600 }));
  const items = [...verdicts, ...causes].sort((a, b) => b.rounds - a.rounds);
  const games = answered ? [{ league: 'connect-four', games: gameTally(agent) }] : [];
  return { agent_id: agent.agent_id, rounds: items.reduce((n, r) => n + r.rounds, 0), items, games };
}

/** How its games ended: the better half of the agents wins by the errors of others. */
export function gameTally(agent) {
  const n = hash(agent.agent_id);
  const score = (wins, draws, losses) => ({ games: wins + draws + losses, wins, draws, losses, points: wins + draws / 2 });
  const [won, lost, illegal] = [n % 7, n % 5, Math.min(n % 5, n % 3)];
  const [wins, draws, losses] = [4 + (n % 11), n % 3, 3 + (n % 13)];
  return {
    all: score(wins + won, draws, losses + lost),
    played_out: score(wins, draws, losses),
    default_moves: 0,
    forfeits_won: won,
    forfeits_lost: lost,
    illegal_moves: illegal,
    timeouts: lost - illegal,
    no_shows: 0,
    faults: 0,
  };
}

const share = (share, reach) => ({ share, low: Math.max(0, share - reach), high: share + reach });
const shares = (games, won, drawn, reach) => ({
  games,
  won: share(won, reach),
  drawn: share(drawn, reach),
  lost: share(1 - won - drawn, reach),
});

/** What it is worth to move first. */
export const firstMover = {
  all: { first: shares(412, 0.56, 0.06, 0.05), others: shares(412, 0.38, 0.06, 0.05) },
  played_out: { first: shares(331, 0.54, 0.08, 0.06), others: shares(331, 0.38, 0.08, 0.06) },
};

export function opponents(agent, agents) {
  if (!Object.keys(agent.ratings).length) return [];
  return agents
    .filter((a) => a !== agent)
    .slice(0, 14)
    .map((a, i) => {
      const wins = hash(a.agent_id + agent.agent_id) % (14 - i);
      const losses = hash(agent.agent_id + a.agent_id) % (12 - (i >> 1));
      return { agent_id: a.agent_id, name: a.name, matches: wins + losses + (i % 3), wins, draws: i % 3, losses };
    })
    .sort((a, b) => b.matches - a.matches);
}

export function calibration(agent) {
  const known = Object.keys(agent.ratings).length > 0;
  const bins = Array.from({ length: 10 }, (_, i) => {
    const count = known && i >= 3 ? 6 + i * 5 : 0;
    return {
      from: i / 10,
      to: (i + 1) / 10,
      count,
      mean_confidence: count ? (i + 0.55) / 10 : null,
      right_share: count ? Math.min(0.97, 0.18 + i * 0.075) : null,
    };
  });
  const answers = bins.reduce((n, b) => n + b.count, 0);
  return {
    agent_id: agent.agent_id,
    declared: true,
    answers,
    brier: answers ? 0.187 : null,
    bins,
    tokens: { declared: true, answers, total: answers * 310, per_right: answers ? 462 : null },
  };
}

export function uptime(now) {
  return Array.from({ length: 80 }, (_, i) => {
    const failed = i % 23 === 4 ? 700 : i % 9 === 2 ? 12 : 0;
    return { day: new Date(now - (79 - i) * 86_400_000).toISOString().slice(0, 10), ok: 2880 - failed, failed };
  }).filter((_, i) => i !== 30 && i !== 31);
}

/** Rounds that an agent lost: one for each way. */
export function losses() {
  return [
    { answer: 'Sydney', outcome: 'answered', reason: '' },
    { answer: '', outcome: 'timeout', reason: 'timeout' },
  ].map((how, i) => ({
    match_id: 'm_done_duel',
    league: 'trivia',
    round: i + 1,
    at: '2026-11-21T17:00:00.000Z',
    topic: 'geography',
    description: 'What is the capital of Australia?',
    options: ['Canberra', 'Sydney'],
    correct: 'Canberra',
    elapsed_ms: 1200,
    url: 'https://arena.example/m/m_done_duel?seq=2',
    ...how,
  }));
}

/** How often an agent is right, by topic. */
export function topics() {
  const items = [
    { topic: 'geography', answered: 40, right: 30, share: 0.75, low: 0.598, high: 0.858 },
    { topic: 'music', answered: 3, right: 1, share: 0.333, low: 0.061, high: 0.792 },
  ];
  return { items, total: { answered: 43, right: 31, share: 0.721, low: 0.573, high: 0.833 } };
}

/** Whether one agent beats another: clearly, not, or not known yet, by the league. */
export function comparison(league, game, a, b) {
  const flip = a > b ? -1 : 1;
  const compared = (kind, matches, tasks) => {
    const [mean, reach, won, even, lost] = {
      better: [86, 48, 74, 12, 47],
      undecided: [31, 64, 40, 9, 35],
      few_matches: [-40, 260, 9, 3, 11],
    }[kind];
    const elo = { mean: flip * mean, low: flip * mean - reach, high: kind === 'few_matches' ? null : flip * mean + reach };
    const clear = kind === 'better';
    return {
      verdict: clear ? (flip > 0 ? 'better' : 'worse') : 'too_few',
      ...(!clear && { reason: kind }),
      p: clear ? 0.0004 : 0.34,
      matches,
      tasks,
      won: flip > 0 ? won : lost,
      even,
      lost: flip > 0 ? lost : won,
      elo,
    };
  };
  const kind = game || league === 'trivia' ? 'better' : ['undecided', 'few_matches'][hash(league) % 2];
  const part = (name, kind, matches) => ({ name, ...compared(kind, matches, game ? 0 : matches * 3) });
  const topics = [part('geography', 'better', 21), part('history of science', 'undecided', 17), part('', 'few_matches', 4)];
  const sides = [part('first', 'better', 24), part('second', 'undecided', 24)];
  return {
    league,
    a,
    b,
    unit: game ? 'game' : 'round',
    ...compared(kind, kind === 'few_matches' ? 7 : 27, game ? 0 : 94),
    needed: { elo: 50, matches: kind === 'better' ? 0 : 40 },
    topics: game ? [] : topics,
    sides: game ? sides : [],
  };
}
