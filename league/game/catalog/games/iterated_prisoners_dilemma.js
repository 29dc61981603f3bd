// Iterated prisoner's dilemma (docs/games/iterated_prisoners_dilemma.md).
const info = {
  name: 'iterated_prisoners_dilemma', title: 'Iterated prisoner’s dilemma', version: '1', min_seats: 2, max_seats: 2, max_turns: 100,
  options: [{ name: 'rounds', help: 'Rounds of a game; both players know it.', default: 20, min: 1, max: 100 }],
};

const legal = ['cooperate', 'defect'];
// What a player gets for a round: own choice, then that of the other.
const gain = { CC: 3, CD: 0, DC: 5, DD: 1 };
const most = 5;

function setup({ options }) {
  return { rounds: options.rounds, played: ['', ''] }; // C or D for each round
}

function turn(state) {
  if (state.played[0].length === state.rounds) return null;
  return [{ player: 0, legal }, { player: 1, legal }];
}

function parse(state, player, text) {
  const choice = legal.find((word) => text.toLowerCase() === word || text.toLowerCase() === word[0]);
  return choice || { error: 'a move is cooperate or defect' };
}

function move(state, moves) {
  state.played = state.played.map((line, p) => line + (moves[p] === 'cooperate' ? 'C' : 'D'));
}

const score = ({ played }, player) => {
  let sum = 0;
  for (let i = 0; i < played[0].length; i++) sum += gain[played[player][i] + played[1 - player][i]];
  return sum;
};

function view(state, player) {
  const { rounds, played } = state, now = played[0].length;
  if (player === null) {
    const columns = [];
    for (let i = 1; i <= now; i++) columns.push(`Round ${i}`);
    return {
      kind: 'table', columns, unit: 'points', caption: `${now} of ${rounds} rounds played`,
      rows: [0, 1].map((p) => ({ player: p, values: [...played[p]], total: String(score(state, p)) })),
    };
  }
  const you = played[player], other = played[1 - player];
  const history = now === 0 ? 'No round has been played yet.'
    : `Rounds so far, C for cooperate and D for defect:\nyou      ${you} (${score(state, player)} points)\nopponent ${other} (${score(state, 1 - player)} points)`;
  return {
    text: 'Iterated prisoner’s dilemma. In each round both players choose at the same time. Both cooperate: 3 points each. Both defect: 1 point each. '
      + 'One defects: 5 points for that player, 0 for the other. Your result is your share of the points that were possible.\n\n'
      + `${history}\n\nThis is round ${now + 1} of ${rounds}. Answer cooperate or defect.`,
    observation: { round: now + 1, rounds, you, opponent: other },
  };
}

function result(state) {
  return [0, 1].map((p) => score(state, p) / (most * state.rounds));
}
