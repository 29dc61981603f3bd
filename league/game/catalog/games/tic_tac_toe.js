// Tic-tac-toe (docs/games/tic_tac_toe.md).
const info = { name: 'tic_tac_toe', title: 'Tic-tac-toe', version: '1', min_seats: 2, max_seats: 2, max_turns: 9 };

const lines = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]];
const pieces = { x: { player: 0, symbol: '✕' }, o: { player: 1, symbol: '○' } };
const marks = ['x', 'o'];

function setup() {
  return { cells: ['', '', '', '', '', '', '', '', ''], last: [] };
}

// How many marks are on the board decides whose turn it is.
const next = ({ cells }) => cells.filter((mark) => mark !== '').length % 2;
const wonLines = ({ cells }) => lines.filter(([a, b, c]) => cells[a] !== '' && cells[a] === cells[b] && cells[a] === cells[c]);
const free = ({ cells }) => cells.map((mark, i) => (mark === '' ? i + 1 : 0)).filter((n) => n > 0);

function turn(state) {
  if (wonLines(state).length > 0 || free(state).length === 0) return null;
  return { player: next(state), legal: free(state) };
}

// A cell may be its number, or its row and column.
function parse(state, player, text) {
  const cell = /^(?:cell\s*)?([1-9])$/i.exec(text);
  const at = /^(?:row\s*)?([1-3])(?:\s*[,;]\s*|\s+)(?:column\s*)?([1-3])$/i.exec(text);
  if (!cell && !at) return { error: 'a move is the number of a free cell, or its row and column, such as 2,3' };
  const number = cell ? Number(cell[1]) : 3 * (Number(at[1]) - 1) + Number(at[2]);
  return free(state).includes(number) ? String(number) : { error: `cell ${number} is taken` };
}

function move(state, moves) {
  const player = next(state), cell = Number(moves[player]) - 1;
  state.cells[cell] = marks[player];
  state.last = [cell];
}

function view(state, player) {
  if (player === null) {
    const line = [...new Set(wonLines(state).flat())].sort();
    return { kind: 'grid', rows: 3, columns: 3, cells: state.cells, pieces, last: state.last, line };
  }
  const board = [0, 3, 6].map((at) => state.cells.slice(at, at + 3).map((mark) => mark || '.').join(''));
  const you = marks[player];
  return {
    text: `Tic-tac-toe. Three of your marks in a row, column or diagonal win. You play ${you}, and it is your turn.\n\n`
      + `${board.join('\n')}\n\nCells are numbered from 1 at the top left, row by row, to 9 at the bottom right. `
      + `Answer with the number of a free cell: ${free(state).join(', ')}; or with its row and column, such as 2,3.`,
    observation: { board, you },
  };
}

function result(state) {
  if (wonLines(state).length === 0) return [0.5, 0.5];
  return next(state) === 1 ? [1, 0] : [0, 1];
}
