// ---- Array ----
const list = (a) => {
  if (!isArray(a)) throw new TypeError('not an array');
  tick(a.length, 0);
  return a;
};
const NArray = replace('Array', function (...args) { return construct(NArray, args, new.target || G.Array); });
{
  const P = NArray.prototype, N = {};
  for (const k of ['pop', 'shift', 'unshift', 'slice', 'splice', 'reverse', 'sort', 'fill', 'indexOf', 'lastIndexOf', 'includes']) N[k] = P[k];
  const { values, keys, entries } = P;
  forget(P, ['length', 'constructor', iterator]);
  put(G.Array, 'isArray', wrapped(isArray, 'isArray'));
  method(G.Array, {
    of: (...args) => args,
    from(source, f, that) {
      if (source === undefined || source === null) throw new TypeError('nothing to take an array from');
      const out = [];
      let i = 0;
      if (source[iterator] !== undefined) {
        for (const v of source) { out[i] = f ? apply(f, that, [v, i]) : v; i++; }
      } else {
        for (const n = asInt(source.length, 0); i < n; i++) out[i] = f ? apply(f, that, [source[i], i]) : source[i];
      }
      return out;
    },
  });
  // natives over real arrays: [name, bytes for each element, the arguments that are positions]
  for (const [name, bytes, start, end] of [['pop', 0, 0, 0], ['shift', 0, 0, 0], ['unshift', 16, 0, 0], ['splice', 16, 0, 2], ['slice', 16, 0, 2],
    ['reverse', 0, 0, 0], ['fill', 32, 1, 3], ['indexOf', 0, 1, 2], ['lastIndexOf', 0, 1, 2], ['includes', 0, 1, 2]]) {
    const native = N[name], searches = name === 'indexOf' || name === 'lastIndexOf' || name === 'includes';
    put(P, name, { [name](...args) {
      if (!isArray(this)) throw new TypeError('not an array');
      const n = this.length;
      tick(name === 'pop' ? 0 : n >> 4, n * bytes + args.length * 64);
      if (searches && typeof args[0] === 'string') tick(n * (args[0].length >> 6), 0);
      return apply(native, this, numbers(args, start, end));
    } }[name]);
  }
  const concat = (a, ...more) => {
    const out = [];
    for (const v of [a, ...more]) {
      if (!isArray(v)) { out[out.length] = v; continue; }
      const n = v.length, start = out.length;
      for (let i = 0; i < n; i++) if (i in v) out[start + i] = v[i];
      out.length = start + n;
    }
    return out;
  };
  const flat = (a, depth, out) => {
    for (let i = 0; i < a.length; i++) {
      if (!(i in a)) continue;
      if (depth > 0 && isArray(a[i])) flat(a[i], depth - 1, out);
      else out[out.length] = a[i];
    }
    return out;
  };
  const copied = (a) => { const out = []; for (let i = 0; i < a.length; i++) out[i] = a[i]; return out; };
  const open = [];
  const join = (a, separator) => {
    separator = separator === undefined ? ',' : asText(separator);
    for (const o of open) if (o === a) return '';
    open[open.length] = a;
    try {
      const parts = [];
      let n = 0;
      for (let i = 0; i < a.length; i++) {
        const v = a[i];
        const s = parts[i] = v === undefined || v === null ? '' : asText(v);
        n += s.length + separator.length;
        if (i % 16 === 0) bound(n - separator.length);
      }
      bound(n - separator.length);
      return text(apply(joined, parts, [separator]));
    } finally {
      open.length--;
    }
  };
  method(P, {
    push(...items) {
      if (!isArray(this)) throw new TypeError('not an array');
      for (let i = 0; i < items.length; i++) this[this.length] = items[i];
      return this.length;
    },
    sort(compare) {
      const a = list(this), n = a.length;
      if (compare !== undefined) callable(compare);
      let passes = 1;
      while (1 << passes < n && passes < 31) passes++;
      tick(n * passes, 32 * n);
      if (compare !== undefined) return apply(N.sort, a, [compare]);
      // The native compares as strings: each element is converted once, and the
      // comparisons are paid by length, as if all prefixes were equal.
      const found = [];
      let units = 0, missing = 0;
      for (let i = 0; i < n; i++) {
        const v = a[i];
        if (v === undefined) { missing += i in a ? 1 : 0; continue; }
        const key = v === null ? 'null' : asText(v);
        units += key.length;
        found[found.length] = [key, v];
      }
      tick(units * passes / 32, 0);
      apply(N.sort, found, [(x, y) => x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0]);
      for (let i = 0; i < n; i++) {
        if (i < found.length) a[i] = found[i][1];
        else if (i < found.length + missing) a[i] = undefined;
        else delete a[i];
      }
      return a;
    },
    map(f, that) {
      const a = list(this), n = a.length, out = new NArray(n);
      callable(f);
      for (let i = 0; i < n; i++) if (i in a) out[i] = apply(f, that, [a[i], i, a]);
      return out;
    },
    filter(f, that) {
      const a = list(this), n = a.length, out = [];
      callable(f);
      for (let i = 0; i < n; i++) if (i in a) { const v = a[i]; if (apply(f, that, [v, i, a])) out[out.length] = v; }
      return out;
    },
    forEach(f, that) {
      const a = list(this), n = a.length;
      callable(f);
      for (let i = 0; i < n; i++) if (i in a) apply(f, that, [a[i], i, a]);
    },
    some(f, that) {
      const a = list(this), n = a.length;
      callable(f);
      for (let i = 0; i < n; i++) if (i in a && apply(f, that, [a[i], i, a])) return true;
      return false;
    },
    every(f, that) {
      const a = list(this), n = a.length;
      callable(f);
      for (let i = 0; i < n; i++) if (i in a && !apply(f, that, [a[i], i, a])) return false;
      return true;
    },
    findIndex(f, that) {
      const a = list(this), n = a.length;
      callable(f);
      for (let i = 0; i < n; i++) if (apply(f, that, [a[i], i, a])) return i;
      return -1;
    },
    findLastIndex(f, that) {
      const a = list(this);
      callable(f);
      for (let i = a.length - 1; i >= 0; i--) if (apply(f, that, [a[i], i, a])) return i;
      return -1;
    },
    find(f, that) { const i = P.findIndex.call(this, f, that); return i < 0 ? undefined : this[i]; },
    findLast(f, that) { const i = P.findLastIndex.call(this, f, that); return i < 0 ? undefined : this[i]; },
    reduce(f, ...start) {
      const a = list(this), n = a.length;
      callable(f);
      let i = 0, sum = start[0];
      if (start.length === 0) {
        while (i < n && !(i in a)) i++;
        if (i >= n) throw new TypeError('reduce of an empty array without a first value');
        sum = a[i++];
      }
      for (; i < n; i++) if (i in a) sum = f(sum, a[i], i, a);
      return sum;
    },
    reduceRight(f, ...start) {
      const a = list(this);
      callable(f);
      let i = a.length - 1, sum = start[0];
      if (start.length === 0) {
        while (i >= 0 && !(i in a)) i--;
        if (i < 0) throw new TypeError('reduce of an empty array without a first value');
        sum = a[i--];
      }
      for (; i >= 0; i--) if (i in a) sum = f(sum, a[i], i, a);
      return sum;
    },
    concat(...more) { return concat(list(this), ...more); },
    flat(depth) { return flat(list(this), asInt(depth, 1), []); },
    flatMap(f, that) { return flat(P.map.call(this, f, that), 1, []); },
    join(separator) { return join(list(this), separator); },
    toString() { return isArray(this) ? join(list(this)) : '[object Object]'; },
    at(i) { i = asInt(i, 0); return this[i < 0 ? this.length + i : i]; },
    with(i, v) {
      const a = copied(list(this));
      i = asInt(i, 0);
      if (i < 0) i += a.length;
      if (i < 0 || i >= a.length) throw new RangeError('no such element');
      a[i] = v;
      return a;
    },
    toReversed() { return copied(list(this)).reverse(); },
    toSorted(compare) { return copied(list(this)).sort(compare); },
    toSpliced(...args) { const a = copied(list(this)); a.splice(...args); return a; },
  });
  for (const [name, native] of [['keys', keys], ['entries', entries], ['values', values]]) put(P, name, wrapped(native, name));
  put(P, iterator, P.values);
}
