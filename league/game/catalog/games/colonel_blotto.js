// Colonel Blotto (docs/games/colonel_blotto.md).
const info = {
  name: 'colonel_blotto', title: 'Colonel Blotto', version: '1', min_seats: 2, max_seats: 2, max_turns: 1, output_format: 'json',
  options: [
    { name: 'battlefields', help: 'Battlefields to fight for.', default: 5, min: 2, max: 20 },
    { name: 'troops', help: 'Troops of each player.', default: 100, min: 1, max: 1000 },
  ],
};

function setup({ options }) {
  return { battlefields: options.battlefields, troops: options.troops, armies: [null, null] };
}

const over = (state) => state.armies[0] !== null;

function turn(state) {
  if (over(state)) return null;
  const grammar = `${state.battlefields} whole numbers, 0 or more, separated by commas, with the sum ${state.troops}`;
  return [{ player: 0, grammar }, { player: 1, grammar }];
}

function parse(state, player, text) {
  const parts = text.split(/[\s,;]+/).filter((part) => part !== '');
  if (parts.length !== state.battlefields) return { error: `${state.battlefields} numbers are needed, one for each battlefield, not ${parts.length}` };
  if (parts.some((part) => !/^[0-9]{1,4}$/.test(part))) return { error: 'each number must be whole, and 0 or more' };
  const army = parts.map(Number), sum = army.reduce((a, b) => a + b, 0);
  if (sum !== state.troops) return { error: `the sum is ${sum}, it must be ${state.troops}` };
  return army.join(',');
}

function sample(state, player, random) {
  const army = new Array(state.battlefields).fill(0);
  for (let i = 0; i < state.troops; i++) army[random(state.battlefields)]++;
  return army.join(',');
}

function move(state, moves) {
  state.armies = moves.map((text) => text.split(',').map(Number));
}

// The battlefields that a player won.
const won = ({ armies }, player) => armies[player].map((n, i) => (n > armies[1 - player][i] ? i : -1)).filter((i) => i >= 0);

function view(state, player) {
  if (player === null) {
    const columns = [];
    for (let i = 1; i <= state.battlefields; i++) columns.push(`Battlefield ${i}`);
    const rows = [0, 1].map((p) => (over(state)
      ? { player: p, values: state.armies[p].map(String), total: String(won(state, p).length), won: won(state, p) }
      : { player: p, values: columns.map(() => '') }));
    return { kind: 'table', columns, rows, unit: 'battlefields', bars: true };
  }
  const { battlefields, troops } = state;
  return {
    text: `Colonel Blotto. You and your opponent each have ${troops} troops and place them on ${battlefields} battlefields at the same time. `
      + 'More troops win a battlefield; equal troops win it for nobody. The player who wins more battlefields wins the game.\n\n'
      + `Answer with your troops on each battlefield: a list of ${battlefields} whole numbers with the sum ${troops}, as JSON or separated by commas.`,
    observation: { battlefields, troops },
  };
}

function result(state) {
  const lead = won(state, 0).length - won(state, 1).length;
  if (lead === 0) return [0.5, 0.5];
  return lead > 0 ? [1, 0] : [0, 1];
}
