// Nim: players take 1 to 3 sticks in turn. The player who takes the last one wins.
const info = {
  name: 'nim', title: 'Nim', version: '1', min_seats: 2, max_seats: 2, max_turns: 100,
  options: [{ name: 'sticks', help: 'Sticks at the start.', default: 21, min: 1, max: 100 }],
};

function setup({ options }) {
  return { sticks: options.sticks, next: 0 };
}

function turn(state) {
  if (state.sticks === 0) return null; // the game is over
  return { player: state.next, legal: [1, 2, 3].filter((n) => n <= state.sticks) };
}

function move(state, moves) {
  state.sticks -= Number(moves[state.next]);
  state.next = 1 - state.next;
}

function view(state, player) {
  if (player === null) { // what spectators see
    const rows = [0, 1].map((p) => ({ player: p, values: [p === state.next ? 'to move' : ''] }));
    return { kind: 'table', columns: ['Turn'], rows, caption: `${state.sticks} sticks` };
  }
  return {
    text: `Nim. ${state.sticks} sticks are left. Take 1, 2 or 3; the player who takes the last stick wins. Answer with a number.`,
    observation: { sticks: state.sticks },
  };
}

function result(state) {
  return state.next === 1 ? [1, 0] : [0, 1]; // the player who is not next took the last stick
}
