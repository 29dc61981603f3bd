// ---- games (docs/games.md) ----
// An interpreter of a game serves many calls. So nothing that a game can reach
// may change: a call that left something behind would make the next one depend
// on it. There is no clock and no randomness but that of seeded.
delete G.Date;
delete G.Math.random;
delete G.Symbol.for;

// HalfSipHash-2-4 of a counter, under a key of two 32-bit numbers.
const hash = (k0, k1, n) => {
  let v0 = k0, v1 = k1, v2 = 0x6c796765 ^ k0, v3 = 0x74656462 ^ k1;
  const rounds = (count) => {
    for (; count > 0; count--) {
      v0 = (v0 + v1) | 0; v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0; v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0; v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0; v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0; v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2; v2 = (v2 << 16) | (v2 >>> 16);
    }
  };
  v3 ^= n; rounds(2); v0 ^= n;
  v3 ^= 4 << 24; rounds(2); v0 ^= 4 << 24; // the counter has four bytes
  v2 ^= 0xff; rounds(4);
  return (v1 ^ v3) >>> 0;
};
// seeded returns the random source of a state: random(n) is 0 to n − 1. It
// counts in state.seed what it has drawn.
const seeded = (state) => {
  const { seed } = state;
  if (!isArray(seed) || seed.length !== 3) throw new TypeError('state.seed is not the seed that setup was given');
  return (n) => {
    if (typeof n !== 'number' || trunc(n) !== n || n < 1 || n > 4294967296) throw new RangeError('random needs a whole number, 1 to 4294967296');
    return trunc(hash(seed[0] | 0, seed[1] | 0, seed[2]++ | 0) / 4294967296 * n);
  };
};
put(G, 'seeded', seeded);

const { freeze } = G.Object;
const settled = new G.Set();
const settle = (o) => {
  if (o === null || typeof o !== 'object' && typeof o !== 'function' || settled.has(o)) return;
  settled.add(o);
  settle(getPrototypeOf(o));
  for (const key of ownKeys(o)) {
    const d = describe(o, key);
    settle(d.value); settle(d.get); settle(d.set);
  }
  freeze(o);
};
for (const o of [...iterators, base, generators, generatorFunction, function_, function* () {}, /./, G]) settle(o);
settled.clear();

// frozen freezes a value of JSON.
const frozen = (v) => {
  if (v !== null && typeof v === 'object') {
    const keys = getKeys(size(v));
    for (let i = 0; i < keys.length; i++) frozen(v[keys[i]]);
    freeze(v);
  }
  return v;
};
const asMove = (m) => (typeof m === 'number' ? `${m}` : m);
const asMoves = (legal) => {
  if (!isArray(legal)) return legal;
  const out = [];
  for (let i = 0; i < legal.length; i++) out[i] = asMove(legal[i]);
  return out;
};
const defined = (game, name) => {
  if (typeof game[name] !== 'function') throw new TypeError('the function ' + name + ' is missing');
  return game[name];
};
// positionOf returns what a state means. Its functions see a state that they
// cannot change.
const positionOf = (game, state) => {
  const turn = defined(game, 'turn')(frozen(state)), view = defined(game, 'view'), out = { to_act: [] };
  const acting = turn === undefined || turn === null ? [] : isArray(turn) ? turn : [turn];
  for (let i = 0; i < acting.length; i++) {
    const { player, legal, grammar, default: none } = acting[i], act = { player, view: view(state, player) };
    if (legal !== undefined) act.legal = asMoves(legal);
    if (grammar !== undefined) act.grammar = grammar;
    if (none !== undefined) act.default = asMove(none);
    out.to_act[i] = act;
  }
  out.public = view(state, null);
  if (acting.length === 0) out.points = defined(game, 'result')(state);
  return out;
};
const whole = (v, name) => {
  const s = written(v, undefined, '', true);
  if (s === undefined) throw new TypeError(name + ' returned nothing');
  return s;
};
// Each function of the arena calls game once for each function of the author,
// so that these share nothing but the state.
const entries = {
  describe: (game) => {
    const { info, parse } = game();
    return whole({ info: info === undefined ? null : info, parses: typeof parse === 'function' }, 'info');
  },
  position: (game, state) => whole(positionOf(game(), state), 'view'),
  setup: (game, start) => followed(game, defined(game(), 'setup')(start), 'setup'),
  parse: (game, state, player, text) => whole(asMove(defined(game(), 'parse')(frozen(state), player, text)), 'parse'),
  sample: (game, state, player, seed) => {
    const { sample } = game();
    return sample === undefined ? 'null' : whole(asMove(sample(frozen(state), player, seeded({ seed }))), 'sample');
  },
  move: (game, state, moves) => {
    const next = defined(game(), 'move')(state, frozen(moves));
    return followed(game, next === undefined ? state : next, 'move');
  },
};
const followed = (game, state, name) => {
  const s = whole(state, name);
  return text('{"state":' + s + ',"position":' + whole(positionOf(game(), read(s)), 'view') + '}');
};

// The arena calls this with the source as a function, the name of an entry and
// its arguments.
return (game, entry, args) => entries[entry](game, ...read(args));
