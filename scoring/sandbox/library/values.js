// ---- Number, Boolean, Symbol ----
const NNumber = replace('Number', function (v) {
  const n = arguments.length === 0 ? 0 : apply(NNumber, undefined, [asNumber(v)]);
  return new.target ? construct(NNumber, [n], new.target) : n;
}, ownKeys(G.Number).filter((k) => k !== 'prototype' && k !== 'name' && k !== 'length'));
{
  const N = G.Number;
  keep(N, ownKeys(N));
  keep(N.prototype, ['constructor', 'toString', 'toFixed', 'toPrecision', 'toExponential', 'valueOf']);
  for (const name of ['toString', 'toFixed', 'toPrecision', 'toExponential']) put(N.prototype, name, numeric(N.prototype[name], name));
  put(N.prototype, 'toLocaleString', function toLocaleString() { return this.toString(); });
  for (const name of ['isNaN', 'isFinite']) put(G, name, numeric(G[name], name));
  for (const name of ['parseInt', 'parseFloat']) {
    const read = wrapped(G[name], name);
    put(G, name, { [name]: (s, radix) => read(`${s}`, asNumber(radix)) }[name]);
  }
  method(N, { parseInt: G.parseInt, parseFloat: G.parseFloat });
}
const NBoolean = replace('Boolean', function (v) { return new.target ? construct(NBoolean, [v], new.target) : !!v; });
keep(NBoolean.prototype, ['constructor', 'toString', 'valueOf']);
const NSymbol = replace('Symbol', function (name) {
  if (new.target) throw new TypeError('a symbol is not made with new');
  return apply(NSymbol, undefined, name === undefined ? [] : [`${name}`]);
}, ['iterator', 'toPrimitive', 'toStringTag']);
{
  const { toPrimitive } = NSymbol, shared = NSymbol.for;
  put(G.Symbol, 'for', (name) => shared(`${name}`));
  // A symbol as it is: its native conversion would be a native in reach.
  const { valueOf } = NSymbol.prototype;
  keep(NSymbol.prototype, ['constructor', 'toString', 'description']);
  put(NSymbol.prototype, 'valueOf', wrapped(valueOf, 'valueOf'));
  put(NSymbol.prototype, toPrimitive, wrapped(valueOf, 'valueOf'));
}

// ---- Math: numbers in, a number out ----
for (const key of ownKeys(G.Math)) if (typeof G.Math[key] === 'function') put(G.Math, key, numeric(G.Math[key], key));

// ---- Map, Set ----
for (const [name, adds, kept] of [
  ['Map', 'set', ['constructor', 'get', 'has', 'delete', 'clear', 'size', 'keys', 'values', 'entries']],
  ['Set', 'add', ['constructor', 'has', 'delete', 'clear', 'size', 'values', 'entries']],
]) {
  const map = name === 'Map';
  const f = function (items) {
    if (!new.target) throw new TypeError(name + ' is made with new');
    const m = construct(native, [], new.target);
    if (items !== undefined && items !== null) for (const v of items) map ? m.set(v[0], v[1]) : m.add(v);
    return m;
  };
  const native = replace(name, f), P = native.prototype, add = P[adds];
  keep(P, kept);
  put(P, adds, { [adds](k, v) { tick(1, 192); weigh(k); return apply(add, this, map ? [k, v] : [k]); } }[adds]);
  put(P, iterator, map ? P.entries : P.values);
  if (!map) put(P, 'keys', P.values);
  put(P, 'forEach', function forEach(g, that) {
    callable(g);
    for (const v of this) map ? apply(g, that, [v[1], v[0], this]) : apply(g, that, [v, v, this]);
  });
}

// ---- Date: UTC only; the clock stands ----
{
  const shape = new RegExp('^[-+]?\\d{4,6}(-\\d\\d){0,2}(T\\d\\d:\\d\\d(:\\d\\d([.]\\d+)?)?(Z|[-+]\\d\\d:\\d\\d)?)?$', '');
  const { UTC, now } = Date;
  const read = (s) => {
    if (s.length > 40 || !shape.test(s)) return NaN;
    const bare = s.includes('T') && !shape.test(s + 'Z') === false && !s.endsWith('Z');
    return NDate.parse(bare ? s + 'Z' : s);
  };
  const NDate = replace('Date', function (...args) {
    if (!new.target) return new G.Date().toString();
    let t;
    if (args.length === 0) t = now();
    else if (args.length > 1) t = apply(UTC, undefined, numbers(args, 0));
    else {
      const v = args[0];
      const p = primitive(v, 'default');
      t = typeof p === 'string' ? read(p) : +asNumber(p);
    }
    return construct(NDate, [t], new.target);
  });
  const P = NDate.prototype, D = G.Date, iso = P.toISOString;
  method(D, { now: wrapped(now, 'now'), UTC: numeric(UTC, 'UTC'), parse: (s) => read(`${s}`) });
  const utc = [];
  for (const k of ownKeys(P)) if (typeof k === 'string' && (k.startsWith('getUTC') || k.startsWith('setUTC'))) utc.push(k);
  keep(P, ['constructor', 'getTime', 'setTime', 'valueOf', 'toISOString', ...utc]);
  for (const k of ['setTime', ...utc]) if (k[0] === 's') put(P, k, numeric(P[k], k));
  for (const k of utc) put(P, k.slice(0, 3) + k.slice(6), P[k]);
  const show = { toISOString() { return apply(iso, this, []); } }.toISOString;
  method(P, {
    getTimezoneOffset: () => 0,
    toJSON() { return this.getTime() === this.getTime() ? show.call(this) : null; },
    toString() { return this.getTime() === this.getTime() ? show.call(this) : 'Invalid Date'; },
  });
  put(P, G.Symbol.toPrimitive, function (hint) { return hint === 'number' ? this.getTime() : this.toString(); });
}
