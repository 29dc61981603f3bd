// ---- RegExp: patterns are run by RE2 ----
const matches = (re, s) => {
  const found = match(re.source, re.flags, s);
  if (typeof found === 'string') throw new SyntaxError(found);
  const names = found[found.length - 1];
  found.length--;
  for (let i = 0; i < found.length; i++) {
    const at = found[i], m = [];
    let groups;
    for (let g = 0; 2 * g < at.length; g++) {
      m[g] = at[2 * g] < 0 ? undefined : s.slice(at[2 * g], at[2 * g + 1]);
      if (names[g] !== '') (groups = groups || { __proto__: null })[names[g]] = m[g];
    }
    m.index = at[0];
    m.input = s;
    m.groups = groups;
    found[i] = m;
  }
  return found;
};
class RegExp {
  #source; #flags;
  lastIndex = 0;
  constructor(pattern, flags) {
    const old = pattern instanceof RegExp;
    this.#source = old ? pattern.source : pattern === undefined ? '(?:)' : asText(pattern) || '(?:)';
    this.#flags = flags === undefined ? (old ? pattern.flags : '') : asText(flags);
    for (const f of this.#flags) if (!'dgimsuy'.includes(f)) throw new SyntaxError('no such flag of a pattern');
    const wrong = match(this.#source, this.#flags, '');
    if (typeof wrong === 'string') throw new SyntaxError(wrong);
  }
  get source() { return this.#source; }
  get flags() { return this.#flags; }
  get global() { return this.#flags.includes('g'); }
  get ignoreCase() { return this.#flags.includes('i'); }
  get multiline() { return this.#flags.includes('m'); }
  get dotAll() { return this.#flags.includes('s'); }
  get unicode() { return this.#flags.includes('u'); }
  get sticky() { return this.#flags.includes('y'); }
  exec(s) {
    s = asText(s);
    const moves = this.global || this.sticky, start = moves ? asInt(this.lastIndex, 0) : 0;
    for (const m of matches(this, s)) {
      if (m.index < start) continue;
      if (this.sticky && m.index > start) break;
      if (moves) this.lastIndex = m.index + m[0].length + (m[0] === '' ? 1 : 0);
      return m;
    }
    if (moves) this.lastIndex = 0;
    return null;
  }
  test(s) { return this.exec(s) !== null; }
  toString() { return '/' + this.source + '/' + this.flags; }
}
put(G, 'RegExp', RegExp);
fix('%regex', (source, flags) => new RegExp(source, flags));

// ---- String ----
const NString = replace('String', function (v) {
  const s = arguments.length === 0 ? '' : typeof v === 'symbol' ? apply(symbolText, v, []) : typeof v === 'string' ? v : `${v}`;
  return new.target ? construct(NString, [s], new.target) : s;
});
const symbolText = Symbol.prototype.toString;
{
  const S = NString.prototype, N = {};
  for (const k of ownKeys(S)) N[k] = S[k];
  forget(S, ['length', 'constructor']);
  const { fromCharCode, fromCodePoint } = NString;
  put(G.String, 'fromCharCode', numeric(fromCharCode, 'fromCharCode'));
  put(G.String, 'fromCodePoint', numeric(fromCodePoint, 'fromCodePoint'));
  for (const name of ['at', 'charAt', 'charCodeAt', 'codePointAt', 'normalize', 'slice', 'substring', 'substr', 'toLowerCase', 'toUpperCase',
    'toLocaleLowerCase', 'toLocaleUpperCase', 'trim', 'trimStart', 'trimEnd']) {
    const native = N[name], whole = name === 'normalize' || name[1] === 'o' || name[1] === 'r'; // to…, trim…
    put(S, name, { [name](...args) {
      const s = asText(this);
      if (whole) tick(s.length >> 3, 16 * s.length);
      return text(apply(native, s, name === 'normalize' ? args : numbers(args, 0)));
    } }[name]);
  }
  for (const name of ['indexOf', 'lastIndexOf', 'includes', 'startsWith', 'endsWith', 'localeCompare']) {
    const native = N[name];
    put(S, name, { [name](part, ...args) {
      const s = asText(this);
      part = `${part}`;
      tick(1 + s.length * (part.length + 1) / 256, 0);
      return apply(native, s, [part, ...numbers(args, 0)]);
    } }[name]);
  }
  const { indexOf, slice } = N;
  const find = (s, part, start) => {
    tick(1 + (s.length - start) * (part.length + 1) / 256, 0);
    return apply(indexOf, s, [part, start]);
  };
  const cut = (s, a, b) => text(apply(slice, s, [a, b]));
  // collected grows a string by pieces without copying it for each.
  const collected = () => {
    const parts = [];
    let n = 0;
    return {
      add(s) { n += s.length; bound(n); parts[parts.length] = s; },
      done() { return text(apply(joined, parts, [''])); },
    };
  };
  const expanded = (by, m, s, end) => {
    const out = collected();
    let last = 0;
    for (let i = find(by, '$', 0); i >= 0 && i + 1 < by.length; i = find(by, '$', i)) {
      let c = by[i + 1], took = 2, value;
      if (c === '$') value = '$';
      else if (c === '&') value = m[0];
      else if (c === '`') value = cut(s, 0, m.index);
      else if (c === "'") value = cut(s, end);
      else if (c === '<' && m.groups) {
        const close = find(by, '>', i);
        if (close > 0) { value = m.groups[cut(by, i + 2, close)]; took = close + 1 - i; if (value === undefined) value = ''; }
      } else if (c >= '0' && c <= '9') {
        const d = by[i + 2];
        if (d >= '0' && d <= '9' && +(c + d) in m && +(c + d) > 0) { value = m[+(c + d)] || ''; took = 3; }
        else if (c > '0' && +c in m) value = m[+c] || '';
      }
      if (value === undefined) { i++; continue; }
      out.add(cut(by, last, i));
      out.add(value);
      last = i = i + took;
    }
    out.add(cut(by, last));
    return out.done();
  };
  const replaced = (s, found, by) => {
    const out = collected();
    const f = typeof by === 'function';
    if (!f) by = `${by}`;
    let last = 0;
    for (const m of found) {
      const end = m.index + m[0].length;
      out.add(cut(s, last, m.index));
      out.add(f ? `${m.groups ? by(...m, m.index, s, m.groups) : by(...m, m.index, s)}` : expanded(by, m, s, end));
      last = end;
    }
    out.add(cut(s, last));
    return out.done();
  };
  const literals = (s, part, all) => {
    const found = [];
    for (let i = find(s, part, 0); i >= 0 && i <= s.length; i = find(s, part, i + (part.length || 1))) {
      const m = [part];
      m.index = i;
      found[found.length] = m;
      if (!all || i === s.length) break;
    }
    return found;
  };
  const repeat = (s, n) => {
    bound(s.length * n);
    return text(apply(N.repeat, s, [n]));
  };
  const pad = (s, n, by, front) => {
    s = asText(s);
    n = asInt(n, 0);
    by = by === undefined ? ' ' : `${by}`;
    if (n <= s.length || by === '') return s;
    bound(n);
    const more = cut(repeat(by, max(1, trunc((n - s.length) / by.length) + 1)), 0, n - s.length);
    return front ? more + s : s + more;
  };
  method(S, {
    toString() { return typeof this === 'string' ? this : text(apply(N.toString, this, [])); },
    valueOf() { return typeof this === 'string' ? this : text(apply(N.valueOf, this, [])); },
    concat(...more) { let s = asText(this); for (const m of more) s += `${m}`; return s; },
    repeat(n) {
      n = asInt(n, 0);
      if (n < 0 || n === Infinity) throw new RangeError('cannot repeat so often');
      return repeat(asText(this), n);
    },
    padStart(n, by) { return pad(this, n, by, true); },
    padEnd(n, by) { return pad(this, n, by, false); },
    replace(what, by) {
      const s = asText(this);
      if (!(what instanceof RegExp)) return replaced(s, literals(s, `${what}`, false), by);
      const found = matches(what, s);
      if (!what.global && found.length > 1) found.length = 1;
      return replaced(s, found, by);
    },
    replaceAll(what, by) {
      const s = asText(this);
      if (!(what instanceof RegExp)) return replaced(s, literals(s, `${what}`, true), by);
      if (!what.global) throw new TypeError('replaceAll needs a global pattern');
      return replaced(s, matches(what, s), by);
    },
    match(re) {
      const s = asText(this);
      if (!(re instanceof RegExp)) re = new RegExp(re);
      if (!re.global) return re.exec(s);
      const found = matches(re, s);
      for (let i = 0; i < found.length; i++) found[i] = found[i][0];
      return found.length ? found : null;
    },
    matchAll(re) {
      const s = asText(this);
      if (!(re instanceof RegExp)) re = new RegExp(re, 'g');
      return matches(re, s)[iterator]();
    },
    search(re) {
      const s = asText(this);
      const found = matches(re instanceof RegExp ? re : new RegExp(re), s);
      return found.length ? found[0].index : -1;
    },
    split(by, limit) {
      const s = asText(this), out = [];
      const n = limit === undefined ? 4294967295 : asNumber(limit) >>> 0;
      const add = (piece) => { if (out.length < n) out[out.length] = piece; };
      if (by === undefined) { add(s); return out; }
      let last = 0;
      if (by instanceof RegExp) {
        if (s === '') return matches(by, s).length ? [] : [''];
        for (const m of matches(by, s)) {
          const end = m.index + m[0].length;
          if (end === last && m[0] === '' || m.index >= s.length) continue;
          add(cut(s, last, m.index));
          for (let g = 1; g < m.length; g++) add(m[g]);
          last = end;
        }
      } else {
        by = `${by}`;
        if (by === '') { for (let i = 0; i < s.length && i < n; i++) out[i] = s[i]; return out; }
        for (let i = find(s, by, 0); i >= 0 && out.length < n; i = find(s, by, last)) {
          add(cut(s, last, i));
          last = i + by.length;
        }
      }
      add(cut(s, last));
      return out;
    },
  });
  put(S, 'trimLeft', S.trimStart);
  put(S, 'trimRight', S.trimEnd);
  put(S, iterator, wrapped(N[iterator], 'iterator'));
}
