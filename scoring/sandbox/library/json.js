// ---- JSON ----
// written gives a value as JSON. exact refuses what JSON does not have
// instead of writing null for it or leaving it out.
const written = (v, replacer, indent, exact) => {
  const above = [], out = [];
  let n = 0;
  const add = (s) => { n += s.length; bound(n); out[out.length] = s; };
  const line = (depth) => { if (indent) { add('\n'); for (let i = 0; i < depth; i++) add(indent); } };
  const allowed = isArray(replacer) ? replacer.map((k) => `${k}`) : undefined;
  const value = (holder, key) => {
    let v = holder[key];
    if (v !== null && typeof v === 'object' && typeof v.toJSON === 'function') v = v.toJSON(key);
    if (typeof replacer === 'function') v = apply(replacer, holder, [key, v]);
    if (v instanceof NNumber || v instanceof NString || v instanceof NBoolean) v = v.valueOf();
    return v;
  };
  const missing = (v) => v === undefined || typeof v === 'function' || typeof v === 'symbol';
  const write = (v, depth) => {
    switch (typeof v) {
      case 'string': return add(quote(v));
      case 'boolean': return add(v ? 'true' : 'false');
      case 'number':
        if (v - v !== 0 && exact) throw new TypeError('not a number of JSON');
        return add(v - v === 0 ? `${v}` : 'null');
    }
    if (v === null) return add('null');
    if (among(above, v)) throw new TypeError('the value holds itself');
    above[above.length] = v;
    const many = isArray(v), keys = many ? undefined : allowed || getKeys(size(v));
    add(many ? '[' : '{');
    let wrote = false;
    for (let i = 0; i < (many ? v.length : keys.length); i++) {
      const key = many ? `${i}` : keys[i];
      const member = value(v, key);
      if (missing(member)) {
        if (exact) throw new TypeError(quote(`${key}`) + ' is not a value of JSON');
        if (!many) continue;
      }
      if (wrote) add(',');
      wrote = true;
      line(depth + 1);
      if (!many) { add(quote(key)); add(indent ? ': ' : ':'); }
      if (missing(member)) add('null'); else write(member, depth + 1);
    }
    if (wrote) line(depth);
    add(many ? ']' : '}');
    above.length--;
  };
  const top = value({ '': v }, '');
  if (missing(top)) return undefined;
  write(top, 0);
  return text(apply(joined, out, ['']));
};
const read = (s) => {
  s = asText(s);
  tick(s.length, 200 * s.length);
  if (nesting(s) > 500) throw new SyntaxError('JSON that is nested too deep');
  return parsed(s);
};
const revived = (holder, key, f) => {
  const v = holder[key];
  if (v !== null && typeof v === 'object') {
    for (const k of getKeys(size(v))) {
      const member = revived(v, k, f);
      if (member === undefined) delete v[k]; else v[k] = member;
    }
  }
  return apply(f, holder, [key, v]);
};
put(G, 'JSON', {
  parse(s, f) { const v = read(`${s}`); return typeof f === 'function' ? revived({ '': v }, '', f) : v; },
  stringify(v, replacer, indent) {
    if (typeof indent === 'number') indent = ' '.repeat(max(0, min(10, trunc(indent))));
    return written(v, replacer, typeof indent === 'string' ? indent.slice(0, 10) : '', false);
  },
});

put(G, 'console', { log() {}, info() {}, warn() {}, error() {}, debug() {} });

// ---- the rest does not exist ----
keep(base, [iterator]);
const none = [];
for (const p of iterators) {
  const native = p.next;
  keep(p, none);
  // It reads no arguments, so none are passed on and weighed.
  put(p, 'next', { next() { return apply(native, this, none); } }.next);
}
keep(generators, ['next', 'return', 'throw']);
const known = ['Object', 'Function', 'Array', 'String', 'Number', 'Boolean', 'Symbol', 'Math', 'Map', 'Set', 'Date', 'JSON', 'RegExp', 'console',
  'Error', 'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError',
  'globalThis', 'undefined', 'NaN', 'Infinity', 'isNaN', 'isFinite', 'parseInt', 'parseFloat'];
for (const key of ownKeys(G)) if (!among(known, key) && key[0] !== '%') delete G[key];
