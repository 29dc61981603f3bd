// Writes the recorded logs of matches of games, one or more for each form of
// public state (league/game/rules/public.go). They have the wire form of the
// arena's own. Run: node scripts/make-games.mjs
import { fileURLToPath } from 'node:url';
import { agents, Log, randomFrom, write } from './make-fixtures.mjs';

const START = Date.UTC(2026, 10, 22, 19, 0, 0);
const LIMIT = 10;
const brief = ({ agent_id, name, version }) => ({ agent_id, name, version });

/**
 * Plays a match. games: lists of turns; a turn is { acts: player numbers, moves: texts, before and after: public states,
 * how: by player, 'timeout' | 'illegal' | 'retried' | 'default', points: of the end }.
 */
function play({ matchId, league, seats, games, bank = 0 }) {
  const log = new Log(matchId, true, START, randomFrom(3));
  const random = randomFrom(9);
  const banks = new Map(seats.map((s) => [s.agent_id, bank]));
  const points = seats.map(() => 0);
  log.add('match_scheduled', { league, starts_at: new Date(log.at + 5000).toISOString(), rated: true, seats: seats.map(brief) });
  log.at += 5000;
  log.add('match_started', { league, format: 'ladder', visibility: 'sealed', rated: true, total_rounds: null, seats: seats.map(brief) });
  let round = 0;
  games.forEach((turns, g) => {
    const players = seats.map((_, p) => seats[(p - g + seats.length * 9) % seats.length].agent_id);
    turns.forEach((turn, t) => {
      round++;
      const place = { game: g + 1, games: games.length, players };
      const opened = log.at + 120;
      log.add(
        'round_started',
        {
          round,
          task: { task_id: `t_${round}`, description: `${league}, game ${g + 1} of ${games.length}, turn ${t + 1}` },
          time_limit_seconds: LIMIT,
          deadline: new Date(opened + 1000 * (LIMIT + Math.max(0, ...turn.acts.map((p) => banks.get(players[p]))))).toISOString(),
          seats_to_act: turn.acts.map((p) => players[p]),
          state: { ...turn.before, ...place, turn: t + 1 },
          ...(bank ? { time_banks: seats.map((s) => ({ agent_id: s.agent_id, seconds: banks.get(s.agent_id) })) } : {}),
        },
        opened,
      );
      const outcomes = turn.acts
        .map((p, i) => {
          const how = turn.how?.[p];
          const elapsed = how === 'timeout' ? 1000 * (LIMIT + banks.get(players[p])) : Math.round(700 + random() * 2200 + i * 400);
          const over = Math.max(0, elapsed / 1000 - LIMIT);
          banks.set(players[p], Math.max(0, banks.get(players[p]) - over));
          return { agent: players[p], how, elapsed, move: turn.moves[i] };
        })
        .sort((a, b) => a.elapsed - b.elapsed);
      for (const o of outcomes) {
        log.add('thinking', { round, agent: o.agent, message: 'I look at the position.' }, opened + 300);
        log.add(
          'seat_outcome',
          {
            round,
            agent: o.agent,
            outcome: o.how === 'timeout' ? 'timeout' : 'answered',
            ...(o.how === 'illegal' ? { reason: 'illegal_move' } : {}),
            elapsed_ms: o.elapsed,
            attempts: o.how === 'retried' || o.how === 'illegal' ? 2 : 1,
            ...(o.how === 'timeout' ? {} : { answer: o.move || 'e9' }),
          },
          opened + o.elapsed,
        );
      }
      if (turn.points) seats.forEach((s, i) => (points[i] += turn.points[players.indexOf(s.agent_id)]));
      log.at += 90;
      const last = g === games.length - 1 && t === turns.length - 1;
      if (last) log.reveal(round);
      log.add('round_closed', {
        round,
        seats: outcomes.map((o) => ({
          agent_id: o.agent,
          answer: null,
          points: 0,
          outcome: o.how === 'timeout' ? 'timeout' : 'answered',
          ...(o.how === 'illegal' ? { reason: 'illegal_move' } : {}),
          elapsed_ms: o.elapsed,
        })),
        standings: seats.map((s, i) => ({
          agent_id: s.agent_id,
          points: points[i],
          place: 1 + points.filter((p) => p > points[i]).length,
          state: 'active',
        })),
        moves: turn.acts.map((p, i) => ({
          agent_id: players[p],
          move: turn.moves[i],
          legal: !!turn.moves[i] && !['timeout', 'illegal'].includes(turn.how?.[p]),
        })),
        state: { ...turn.after, ...place, ...(turn.points ? { over: true, points: turn.points } : { turn: t + 2 }) },
      });
    });
  });
  const place = (i) => 1 + points.filter((p) => p > points[i]).length;
  const delta = (i) => (points.every((p) => p === points[0]) ? 0 : place(i) === 1 ? 11.5 : -11.5 / (seats.length - 1));
  log.at += 200;
  log.add('match_finished', {
    league,
    rated: true,
    seats: seats.map((s, i) => ({ agent_id: s.agent_id, name: s.name, points: points[i], place: place(i), state: 'active' })),
    rating_changes: seats.map((s, i) => ({
      agent_id: s.agent_id,
      rating_before: 1520,
      rating_after: 1520 + delta(i),
      rating_delta: delta(i),
      k: 40,
      score: 0,
      matches: 31,
    })),
  });
  return log.lines;
}

/** Four discs in a row through a cell, or none. */
function lineOf(cells, at) {
  for (const [dr, dc] of [
    [0, 1],
    [1, 0],
    [1, 1],
    [1, -1],
  ]) {
    const line = [at];
    for (const sign of [1, -1]) {
      for (
        let [r, c] = [Math.floor(at / 7) + sign * dr, (at % 7) + sign * dc];
        r >= 0 && r < 6 && c >= 0 && c < 7 && cells[r * 7 + c] === cells[at];
        r += sign * dr, c += sign * dc
      )
        line.push(r * 7 + c);
    }
    if (line.length >= 4) return line.sort((a, b) => a - b);
  }
  return undefined;
}

/** A game of connect four: columns, and by turn how a player came to its move. */
function four(columns, how = {}) {
  const cells = Array(42).fill('');
  const state = (more) => ({
    kind: 'grid',
    rows: 6,
    columns: 7,
    cells: [...cells],
    pieces: { x: { player: 0, symbol: '●' }, o: { player: 1, symbol: '●' } },
    ...more,
  });
  let before = state({});
  return columns.map((column, t) => {
    const p = t % 2;
    if (!column) return { acts: [p], moves: [''], before, after: before, how: { [p]: how[t] }, points: p ? [1, 0] : [0, 1] };
    const at = [5, 4, 3, 2, 1, 0].map((r) => r * 7 + column - 1).find((i) => !cells[i]);
    cells[at] = 'xo'[p];
    const line = lineOf(cells, at);
    const after = state({ last: [at], ...(line ? { line } : {}) });
    const turn = {
      acts: [p],
      moves: [String(column)],
      before,
      after,
      how: { [p]: how[t] },
      ...(line ? { points: p ? [0, 1] : [1, 0] } : {}),
    };
    before = after;
    return turn;
  });
}

/** The columns of a game between two that drop at random, long enough to watch. */
function drops() {
  for (let seed = 1; ; seed++) {
    const random = randomFrom(seed);
    const columns = [];
    const height = Array(8).fill(0);
    while (columns.length < 42) {
      const column = 1 + Math.floor(random() * 7);
      if (height[column]++ < 6) columns.push(column);
    }
    const turns = four(columns);
    const end = turns.findIndex((t) => t.points);
    if (end >= 17 && end <= 23) return columns.slice(0, end + 1);
  }
}

const BACK = ['r', 'n', 'b', 'q', 'k', 'b', 'n', 'r'];
const VALUE = { p: 1, n: 3, b: 3, r: 5, q: 9, k: 0 };
const NAME = { p: 'pawn', n: 'knight', b: 'bishop', r: 'rook', q: 'queen', k: 'king' };

/** A game of chess from moves like e2e4 with their notation. */
function chess(moves, points) {
  const cells = [...BACK, ...Array(8).fill('p'), ...Array(32).fill(''), ...Array(8).fill('P'), ...BACK.map((p) => p.toUpperCase())];
  const square = (s) => (8 - Number(s[1])) * 8 + s.charCodeAt(0) - 97;
  const pieces = Object.fromEntries(
    [...'pnbrqkPNBRQK'].map((c) => [c, { player: c < 'a' ? 0 : 1, symbol: '♙♘♗♖♕♔♟♞♝♜♛♚'['PNBRQKpnbrqk'.indexOf(c)] }]),
  );
  const state = (n, more) => {
    const placement = Array.from({ length: 8 }, (_, r) =>
      cells
        .slice(r * 8, r * 8 + 8)
        .map((c) => c || '1')
        .join('')
        .replace(/1+/g, (run) => run.length),
    ).join('/');
    const worth = (side) => cells.reduce((s, c) => s + (c && c < 'a' === side ? VALUE[c.toLowerCase()] : 0), 0);
    const edge = 1 / (1 + 10 ** (-(worth(true) - worth(false)) / 4));
    return {
      kind: 'grid',
      rows: 8,
      columns: 8,
      cells: [...cells],
      pieces,
      board: 'chess',
      fen: `${placement} ${n % 2 ? 'b' : 'w'} KQkq - 0 ${1 + (n >> 1)}`,
      evaluation: [edge, 1 - edge],
      ...more,
    };
  };
  let before = state(0, {});
  return moves.map(([uci, san, how], t) => {
    const [from, to] = [square(uci.slice(0, 2)), square(uci.slice(2, 4))];
    const taken = cells[to];
    [cells[to], cells[from]] = [cells[from], ''];
    const end = t === moves.length - 1;
    const caption = san.endsWith('#')
      ? 'Checkmate.'
      : san.endsWith('+')
        ? 'Check.'
        : taken
          ? `${t % 2 ? 'Black' : 'White'} takes a ${NAME[taken.toLowerCase()]}.`
          : '';
    const after = state(t + 1, { last: [from, to], ...(caption ? { caption } : {}), ...(end && points ? { evaluation: points } : {}) });
    const turn = { acts: [t % 2], moves: [san], before, after, how: { [t % 2]: how }, ...(end ? { points } : {}) };
    before = after;
    return turn;
  });
}

/** Liar's dice of three: bids, then somebody doubts. */
function dice(points) {
  const held = [
    ['2', '5', '5'],
    ['1', '4'],
    ['6', '6', '3', '5'],
  ];
  const bids = [
    [0, 'bid 2 5'],
    [1, 'bid 3 5'],
    [2, 'bid 4 5'],
    [0, 'doubt'],
  ];
  const log = [];
  const state = (open, more) => ({
    kind: 'cards',
    hands: held.map((d, player) => ({ player, cards: open ? d : d.map(() => '?'), dice: true, chips: d.length })),
    log: [...log],
    hand: 2,
    hands_total: 6,
    ...more,
  });
  let before = state(false, { caption: 'Player 1 opens the bidding.' });
  return bids.map(([player, move], t) => {
    log.push({ player, text: move === 'doubt' ? 'doubts the bid' : `bids ${move.split(' ')[1]} dice of ${move.split(' ')[2]}` });
    const end = t === bids.length - 1;
    if (end) log.push({ player: -1, text: 'There are three fives: the bid was a bluff.' });
    const after = state(
      end,
      end ? { caption: 'The bid of four fives was a bluff.' } : { caption: `The bid is ${move.slice(4).replace(' ', ' dice of ')}.` },
    );
    const turn = { acts: [player], moves: [move], before, after, how: t === 1 ? { 1: 'retried' } : {}, ...(end ? { points } : {}) };
    before = after;
    return turn;
  });
}

/** Hands of Kuhn poker. */
function kuhn() {
  const hand = (no, cards, moves, chips, points) => {
    const log = [];
    const bets = [1, 1];
    const state = (open, pot, now, over = false) => ({
      kind: 'cards',
      hand: no,
      hands_total: 3,
      pot: over ? 0 : pot,
      table: [],
      log: [...log],
      hands: cards.map((c, player) => ({ player, cards: over ? [] : [open ? c : '?'], chips: now[player], bet: over ? 0 : bets[player] })),
    });
    let before = state(false, 2, chips[0]);
    return moves.map(([player, move, pot], t) => {
      log.push({ player, text: `${move}s` });
      if (move === 'bet' || move === 'call') bets[player] += 1;
      const end = t === moves.length - 1;
      const after = state(move === 'call', pot, end ? chips[1] : chips[0], end && !!points);
      const turn = { acts: [player], moves: [move], before, after, ...(end && points ? { points } : {}) };
      before = after;
      return turn;
    });
  };
  return [
    ...hand(
      1,
      ['J', 'Q'],
      [
        [0, 'bet', 3],
        [1, 'fold', 3],
      ],
      [
        [9, 9],
        [11, 9],
      ],
    ),
    ...hand(
      2,
      ['K', 'Q'],
      [
        [0, 'check', 2],
        [1, 'bet', 3],
        [0, 'call', 4],
      ],
      [
        [10, 8],
        [12, 8],
      ],
    ),
    ...hand(
      3,
      ['Q', 'K'],
      [
        [0, 'check', 2],
        [1, 'bet', 3],
        [0, 'fold', 3],
      ],
      [
        [11, 7],
        [11, 9],
      ],
      [1, 0],
    ),
  ];
}

/** Colonel Blotto: both move at once. */
function blotto(points) {
  const columns = ['Field 1', 'Field 2', 'Field 3', 'Field 4', 'Field 5'];
  const rows = (values) =>
    values.map((v, player) => ({
      player,
      values: v.map(String),
      total: v[0] === '' ? '' : String(v.filter((n, i) => n > values[1 - player][i]).length),
      won: v.flatMap((n, i) => (n !== '' && n > values[1 - player][i] ? [i] : [])),
    }));
  const state = (values, more = {}) => ({ kind: 'table', columns, rows: rows(values), unit: 'troops', bars: true, ...more });
  const empty = [Array(5).fill(''), Array(5).fill('')];
  const at = [
    [30, 30, 20, 15, 5],
    [20, 20, 20, 20, 20],
  ];
  return [
    {
      acts: [0, 1],
      moves: at.map((v) => v.join(' ')),
      before: state(empty),
      after: state(at, { caption: 'Two fields each, and one level.' }),
      points,
    },
  ];
}

/** Negotiation: free text with offers. */
function talk(points) {
  const said = [
    [0, 'I care most about the books. You can have both hats if I get them.', '3 books for me, 2 hats and 1 ball for you', 'offer 3 0 0'],
    [
      1,
      'Too little for me: the ball is worth nothing here.\nTwo books for you, the rest is mine.',
      '2 books for you, 1 book, 2 hats and 1 ball for me',
      'offer 1 2 1',
    ],
    [0, 'Then take the hats and the ball, and I keep the books. My last word.', '3 books for me, 2 hats and 1 ball for you', 'offer 3 0 0'],
    [1, 'Agreed.', '', 'accept'],
  ];
  const facts = [{ player: -1, text: 'On the table: 3 books, 2 hats, 1 ball.' }];
  const lines = [];
  const state = (more = {}) => ({ kind: 'transcript', lines: [...lines], facts, ...more });
  let before = state();
  return said.map(([player, text, offer, move], t) => {
    lines.push({ player, text, ...(offer ? { offer } : {}) });
    const end = t === said.length - 1;
    const after = state(
      end
        ? {
            caption: 'They agree: 9 of 10 for the first player, 6 of 10 for the second.',
            facts: [...facts, { player: 0, text: 'books 3, hats 0, ball 1' }, { player: 1, text: 'books 1, hats 3, ball 1' }],
          }
        : {},
    );
    const turn = { acts: [player], moves: [move], before, after, ...(end ? { points } : {}) };
    before = after;
    return turn;
  });
}

const MATE = [
  ['e2e4', 'e4'],
  ['e7e5', 'e5'],
  ['f1c4', 'Bc4'],
  ['b8c6', 'Nc6'],
  ['d1h5', 'Qh5'],
  ['g8f6', 'Nf6', 'retried'],
  ['h5f7', 'Qxf7#'],
];
const FALL = [
  ['d2d4', 'd4'],
  ['e7e6', 'e6'],
  ['c1g5', 'Bg5'],
  ['d8g5', 'Qxg5'],
  ['e2e4', 'e4'],
  ['g5d2', 'Qd2+'],
  ['b1d2', 'Nxd2'],
];

/** The logs by name. */
export const games = () => ({
  connect_four: play({
    matchId: 'm_01kcgamefour0000',
    league: 'connect-four',
    seats: agents.slice(0, 2),
    bank: 20,
    games: [
      four(drops(), { 4: 'retried' }),
      four([4, 3, 4, 3, 4, 0], { 5: 'timeout' }),
      four([1, 2, 1, 2, 3, 2, 4, 2]),
      four([1, 0], { 1: 'illegal' }),
    ],
  }),
  chess: play({
    matchId: 'm_01kcgamechess000',
    league: 'chess',
    seats: agents.slice(2, 4),
    bank: 60,
    games: [chess(MATE, [1, 0]), chess(FALL, [0.5, 0.5])],
  }),
  liars_dice: play({ matchId: 'm_01kcgamedice0000', league: 'liars-dice', seats: agents.slice(4, 7), games: [dice([1, 0.5, 0])] }),
  kuhn_poker: play({ matchId: 'm_01kcgamekuhn0000', league: 'kuhn-poker', seats: agents.slice(7, 9), games: [kuhn()] }),
  colonel_blotto: play({
    matchId: 'm_01kcgameblotto00',
    league: 'colonel-blotto',
    seats: agents.slice(9, 11),
    games: [blotto([0.5, 0.5]), blotto([0.5, 0.5])],
  }),
  negotiation: play({ matchId: 'm_01kcgametalk0000', league: 'negotiation', seats: agents.slice(11, 13), games: [talk([0.9, 0.6])] }),
});

if (process.argv[1] === fileURLToPath(import.meta.url))
  write(Object.fromEntries(Object.entries(games()).map(([name, lines]) => [`game-${name.replaceAll('_', '-')}.jsonl`, lines])));
