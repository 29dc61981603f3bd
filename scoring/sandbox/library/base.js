// The standard library of answers, joined into one function in the order of
// libraryParts. Every function here is metered as answers are; natives are
// called through apply and construct only, after what they may cost has been
// paid. No native stays within reach: an endless iterator or a conversion that
// calls itself always passes through metered code.
const G = globalThis;
const { apply, construct, ownKeys, getOwnPropertyDescriptor: describe, getPrototypeOf } = Reflect;
const tick = G['%tick'], text = G['%text'], at = G['%at'], size = G['%size'], trace = G['%trace'];
const { bound, quote, match, nesting, weigh, numbers } = G;
const define = Object.defineProperty, isArray = Array.isArray, joined = Array.prototype.join;
const parsed = JSON.parse, getNames = Object.getOwnPropertyNames, getKeys = Object.keys;
const { iterator } = Symbol;
const function_ = Function.prototype;

const fix = (key, value) => define(G, key, { value, writable: false, enumerable: false, configurable: false });
fix('%arguments', (args) => {
  const out = [], n = args.length;
  for (let i = 0; i < n; i++) out[i] = args[i];
  return out;
});
const put = (o, key, value) => define(o, key, { value, writable: true, enumerable: false, configurable: true });
const method = (o, methods) => { for (const key of ownKeys(methods)) put(o, key, methods[key]); };
const { includes } = Array.prototype;
const among = (names, key) => apply(includes, names, [key]); // of the library's own lists only
const forget = (o, names) => {
  for (const key of ownKeys(o)) if (!among(names, key) && describe(o, key).configurable) delete o[key];
};
const has = (o, key) => apply(Object_.hasOwn, undefined, [o, key]);

// wrapped gives a metered function in place of a native that calls nothing
// back and makes nothing big. Natives read strings among their arguments as
// numbers or as keys: that is paid by length.
const wrapped = (native, name) => {
  const f = { [name](...args) { apply(weigh, undefined, args); return apply(native, this, args); } }[name];
  return define(f, 'length', { value: native.length });
};
// numeric gives a metered function in place of a native that reads numbers.
const numeric = (native, name) => {
  const f = { [name](...args) { return apply(native, this, numbers(args, 0)); } }[name];
  return define(f, 'length', { value: native.length });
};
// keep forgets all of an object but the named natives, and wraps these.
const keep = (o, names) => {
  for (const key of ownKeys(o)) {
    const d = describe(o, key);
    if (!among(names, key)) {
      if (d.configurable) delete o[key];
    } else if (typeof d.value === 'function' && key !== 'constructor') {
      put(o, key, wrapped(d.value, typeof key === 'symbol' ? 'iterator' : key));
    } else if (d.get) {
      define(o, key, { get: wrapped(d.get, key), set: d.set && wrapped(d.set, key) });
    }
  }
};
// replace puts a metered constructor in place of a native one, with those of
// its static members that are values.
const replace = (name, f, statics = []) => {
  const native = G[name];
  define(f, 'name', { value: name });
  define(f, 'prototype', { value: native.prototype, writable: false });
  for (let i = 0; i < statics.length; i++) put(f, statics[i], native[statics[i]]);
  put(native.prototype, 'constructor', f);
  put(G, name, f);
  return native;
};

const asText = (v) => {
  if (v === undefined || v === null) throw new TypeError('no value to take as text');
  return typeof v === 'string' ? v : `${v}`;
};
const isObject = (v) => v !== null && (typeof v === 'object' || typeof v === 'function');
const { toPrimitive } = Symbol;
// primitive gives the value that an object stands for, as operators ask for it.
const primitive = (v, hint) => {
  if (!isObject(v)) return v;
  const own = v[toPrimitive];
  if (own !== undefined && own !== null) {
    const p = apply(callable(own), v, [hint]);
    if (!isObject(p)) return p;
  } else {
    for (let i = 0; i < 2; i++) {
      const f = v[(hint === 'string') === (i === 0) ? 'toString' : 'valueOf'];
      if (typeof f !== 'function') continue;
      const p = apply(f, v, []);
      if (!isObject(p)) return p;
    }
  }
  throw new TypeError('an object that stands for no value');
};
fix('%primitive', primitive);
// asNumber gives what a native is about to read as a number.
const asNumber = G['%weigh'];
const asKey = (k) => (typeof k === 'symbol' ? k : `${k}`);
const asInt = (v, none) => {
  if (v === undefined) return none;
  v = trunc(+asNumber(v));
  return v !== v ? 0 : v;
};
const from = (v, n, none) => {
  v = asInt(v, none);
  return v < 0 ? max(n + v, 0) : min(v, n);
};
const { trunc, min, max } = Math;
const callable = (f) => {
  if (typeof f !== 'function') throw new TypeError('not a function');
  return f;
};

// ---- iterators ----
const iterators = [[][iterator](), ''[iterator](), new Map().entries(), new Set().values()].map(getPrototypeOf);
const generators = getPrototypeOf(function* () {}).prototype;
const generatorFunction = getPrototypeOf(function* () {});
const base = getPrototypeOf(iterators[0]);

// ---- Object ----
const Object_ = { hasOwn: Object.hasOwn };
const NObject = replace('Object', function (v) {
  if (new.target && new.target !== G.Object) return construct(NObject, [], new.target);
  return v === undefined || v === null ? {} : apply(NObject, undefined, [v]);
}, ['getPrototypeOf', 'setPrototypeOf', 'is', 'isExtensible', 'preventExtensions', 'getOwnPropertyDescriptor', 'hasOwn', 'isFrozen', 'isSealed']);
{
  const O = G.Object, N = {};
  for (const k of ['assign', 'freeze', 'seal', 'defineProperty', 'getOwnPropertyDescriptor', 'create']) N[k] = NObject[k];
  keep(O, ownKeys(O));
  const listed = (o) => {
    if (o === undefined || o === null) throw new TypeError('no object');
    return getKeys(size(o));
  };
  const defined = (o, k, d) => {
    k = asKey(k);
    return N.defineProperty(o, at(o, k), d);
  };
  method(O, {
    keys: (o) => listed(o),
    values: (o) => { const out = listed(o); for (let i = 0; i < out.length; i++) out[i] = o[out[i]]; return out; },
    entries: (o) => { const out = listed(o); for (let i = 0; i < out.length; i++) out[i] = [out[i], o[out[i]]]; return out; },
    assign(to, ...sources) {
      to = O(to);
      for (const s of sources) if (s !== undefined && s !== null) for (const k of listed(s)) to[k] = s[k];
      return to;
    },
    fromEntries(entries) { const o = {}; for (const [k, v] of entries) o[k] = v; return o; },
    freeze: (o) => N.freeze(size(o)),
    seal: (o) => N.seal(size(o)),
    hasOwn: (o, k) => has(o, asKey(k)),
    getOwnPropertyDescriptor: (o, k) => N.getOwnPropertyDescriptor(o, asKey(k)),
    getOwnPropertyNames: (o) => getNames(size(o)),
    defineProperty: defined,
    defineProperties(o, all) { for (const k of listed(all)) defined(o, k, all[k]); return o; },
    create(proto, all) {
      const o = N.create(proto);
      return all === undefined ? o : O.defineProperties(o, all);
    },
    groupBy(items, f) {
      const out = N.create(null);
      let i = 0;
      for (const v of items) {
        const k = f(v, i++);
        if (!(k in out)) out[k] = [];
        out[k].push(v);
      }
      return out;
    },
  });
  const P = O.prototype, tag = P.toString, { hasOwnProperty, propertyIsEnumerable } = P;
  keep(P, ['constructor', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable', 'valueOf', '__proto__']);
  method(P, {
    toString() { return text(apply(tag, this, [])); },
    toLocaleString() { return this.toString(); },
    hasOwnProperty(k) { return apply(hasOwnProperty, this, [asKey(k)]); },
    propertyIsEnumerable(k) { return apply(propertyIsEnumerable, this, [asKey(k)]); },
  });
}

// ---- Function ----
{
  const { call } = function_;
  const none = function () { throw new TypeError('code from text is not available'); };
  replace('Function', none);
  forget(generatorFunction, []);
  keep(function_, ['constructor', 'length', 'name', 'call']);
  method(function_, {
    apply(that, args) { return apply(call, this, [that, ...(args === undefined || args === null ? [] : args)]); },
    bind(that, ...bound) {
      const f = callable(this);
      return function (...args) {
        return new.target ? new f(...bound, ...args) : apply(f, that, [...bound, ...args]);
      };
    },
    toString() { return 'function () { [code] }'; },
  });
}

// ---- errors ----
for (const name of ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'ReferenceError', 'EvalError', 'URIError']) {
  const f = function (message, options) {
    const args = message === undefined ? [undefined, options] : [asText(message), options];
    return trace(construct(native, args, new.target || f));
  };
  const native = replace(name, f);
  if (name !== 'Error') Object.setPrototypeOf(f, G.Error);
}
put(G.Error.prototype, 'toString', function toString() {
  const name = this.name === undefined ? 'Error' : `${this.name}`, message = this.message === undefined ? '' : `${this.message}`;
  return name && message ? name + ': ' + message : name + message;
});
