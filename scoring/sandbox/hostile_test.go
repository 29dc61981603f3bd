package sandbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agora-arena/arena/scoring/sandbox"
)

type attack struct {
	name, source string
	want         error // nil: any error, or a harmless result
}

// hostile are programs that want to take the process down, by time, memory,
// stack, or a native that never comes back.
func hostile() []attack {
	keep := func(name, each string, want error) attack { // makes something and keeps it, for ever
		return attack{name, "function solve() { const kept = [], big = '\\u4e00'.repeat(60000); for (let i = 0; ; i++) { " + each + " } }", want}
	}
	steps, memory, text, depth := sandbox.ErrSteps, sandbox.ErrMemory, sandbox.ErrString, sandbox.ErrDepth
	return []attack{
		{"loop", `function solve() { for (;;); }`, steps},
		{"loop at the top", `while (true); function solve() {}`, steps},
		{"loop in finally", `function solve() { try { for (;;); } finally { for (;;); } }`, steps},
		{"loop in catch", `function solve() { for (;;) try { throw 1 } catch (e) { continue } }`, memory},
		{"loop in a getter", `function solve() { return { get x() { for (;;); } } }`, steps},
		{"loop in toString", `function solve() { return '' + { toString() { for (;;); } } }`, steps},
		{"loop in a default", `function solve(a, b, c = (() => { for (;;); })()) {}`, steps},
		{"loop in a field", `function solve() { for (;;) new (class { x = [1, 2] })() }`, memory},
		{"recursion", `function solve() { return solve() + 1 }`, depth},
		{"recursion through map", `function solve() { return [1].map(solve) }`, depth},
		{"recursion through a getter", `function solve() { const o = { get x() { return this.x } }; return o.x }`, depth},
		{"recursion through sort", `function solve() { const f = () => [2, 1].sort(f); return f() }`, depth},
		{"recursion through conversion", `function solve() { const o = { toString() { return '' + this } }; return '' + o }`, depth},
		{"recursion through toJSON", `function solve() { const d = new Date(); d.toISOString = d.toJSON; d.valueOf = d.toJSON; return d.toJSON() }`, nil},
		{"recursion through toLocaleString", `function solve() { const o = {}; o.toString = o.toLocaleString; return o.toString() }`, depth},
		{"iterator without an end", `function solve() { return [...{ [Symbol.iterator]: () => ({ next: Object }) }] }`, memory},
		{"iterator of arguments", `function solve() { return [...{ [Symbol.iterator]: () => ({ next: arguments[Symbol.iterator] }) }] }`, memory},
		{"iterator into Math.max", `function solve() { return Math.max(...{ [Symbol.iterator]: () => ({ next: Object }) }) }`, memory},
		{"iterator into Map", `function solve() { return new Map({ [Symbol.iterator]: () => ({ next: () => ({ value: [1, 2] }) }) }) }`, nil},
		{"rest of a pattern", `function solve() { const [...a] = { [Symbol.iterator]: () => ({ next: Array }) }; return a }`, memory},

		{"repeat", `function solve() { return 'x'.repeat(1e9) }`, text},
		{"pad", `function solve() { return 'x'.padEnd(1e9) }`, text},
		{"doubling", `function solve() { let s = 'x'; for (;;) s += s }`, text},
		{"doubling a member", `function solve() { const o = { s: 'x' }; for (;;) o.s += o.s }`, text},
		{"template", "function solve() { let s = 'x'; for (;;) s = `${s}${s}` }", text},
		{"concat", `function solve() { let s = 'x'; for (;;) s = s.concat(s) }`, text},
		{"join", `function solve() { return Array(1e9).join('x') }`, nil},
		{"join of joins", `function solve() { let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; return a.join() }`, nil},
		{"JSON of itself", `function solve() { let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; return JSON.stringify(a) }`, memory},
		{"result of itself", `function solve() { let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; return a }`, memory},
		{"flat of itself", `function solve() { let a = ['x']; for (let i = 0; i < 60; i++) a = [a, a]; return a.flat(Infinity) }`, nil},
		{"replaceAll", `function solve() { return 'a'.repeat(60000).replaceAll('a', 'b'.repeat(60000)) }`, nil},
		{"replacement patterns", "function solve() { return 'a'.repeat(6000).replace(/a/g, '$`'.repeat(100)) }", memory},
		{"array of 1e9", `function solve() { return new Array(1e9).fill(0) }`, nil},
		{"length of 4e9", `function solve() { const a = []; a.length = 4e9; return a.map(x => x) }`, nil},
		{"long array-like", `function solve() { return Array.prototype.shift.call({ length: 2 ** 53 - 1 }) }`, nil},
		{"array from an array-like", `function solve() { return Array.from({ length: 1e15 }) }`, nil},
		{"typed array", `function solve() { return new Uint8Array(1e9) }`, nil},
		{"power of a BigInt", `function solve() { return BigInt(2) ** BigInt(1e9) }`, nil},
		{"spread", `function solve() { let a = [1]; for (;;) a = [...a, ...a] }`, memory},
		{"spread of arguments", `function solve() { const kept = []; (function f(...r) { kept.push(r); f(...r, ...r) })(1) }`, nil},
		{"parse deep", `function solve() { return JSON.parse('['.repeat(60000) + ']'.repeat(60000)) }`, nil},
		{"deep array as text", `function solve() { let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return String(a) }`, memory},
		{"deep array as result", `function solve() { let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return a }`, memory},
		{"bound again and again", `function solve() { let f = () => 1; for (let i = 0; i < 2e4; i++) f = f.bind(); return f() }`, memory},
		{"prototype chain", `function solve() { let o = {}; for (let i = 0; i < 3e4; i++) o = Object.create(o); return o.x === undefined }`, nil},
		{"pattern that backtracks", `function solve() { return /^(a+)+$/.test('a'.repeat(50000) + 'b') }`, nil},
		{"pattern that is large", `function solve() { return /(x{1,30}){1,30}.{900}/.test('x'.repeat(60000)) }`, nil},
		{"patterns", `function solve() { for (let i = 0; ; i++) try { new RegExp('.{900}'.repeat(100) + i) } catch {} }`, nil},
		{"sort", `function solve() { return new Array(1e9).sort() }`, nil},
		{"free steps", `function solve() { for (;;) globalThis['%tick'](-1000000, -1000000) }`, memory},
		{"no meter", `globalThis['%tick'] = () => {}; delete globalThis['%tick']; function solve() { for (;;); }`, steps},
		{"no meter, strictly", `Object.defineProperty(globalThis, '%tick', { value: () => {} }); function solve() { for (;;); }`, nil},

		keep("arrays", `kept.push([])`, memory),
		keep("objects", `kept.push({ i })`, memory),
		keep("closures", `kept.push(() => i)`, nil),
		keep("generators", `kept.push((function* () {})())`, memory),
		keep("classes", `kept.push(class { a() {} })`, memory),
		keep("strings", `kept.push(big + i)`, memory),
		keep("upper", `kept.push(big.toUpperCase())`, memory),
		keep("slices", `kept.push(big.slice(1))`, memory),
		keep("names", `kept.push({ [big + i]: 1 })`, nil),
		keep("functions as text", `kept.push(solve + '')`, nil),
		keep("errors", `try { null.x } catch (e) { kept.push(e.stack) }`, memory),
		keep("errors about much", `try { null[big] } catch (e) { kept.push(e, e.stack) }`, memory),
		keep("characters", `kept.push([...big])`, nil),
		keep("maps", `kept.push(new Map([[1, 2]]))`, memory),
		keep("matches", `kept.push([...big.matchAll(/./g)])`, nil),
	}
}

// An array allocates all elements below a new one: 64 KiB for one of
// these. However it comes to be, it is paid.
func TestCall_FarElements(t *testing.T) {
	t.Parallel()
	for name, once := range map[string]string{
		"by number":             `const a = []; a[4095] = 1`,
		"by text":               `const a = []; a['4095'] = 1`,
		"by an object":          `const a = []; a[{ toString: () => 4095 }] = 1`,
		"of a nameless array":   `(kept[i] = [])[4095] = 1`,
		"of a length":           `const a = []; a.length = 4095; a[4094] = 1`,
		"by push":               `const a = []; a.length = 4095; a.push(1)`,
		"by unshift":            `const a = []; a.length = 4095; a.unshift(1)`,
		"by counting":           `const a = []; a[4095]++`,
		"by adding":             `const a = []; a[4095] += 1`,
		"by a pattern":          `const a = []; [a[4095]] = [1]`,
		"by the rest":           `const a = []; [...a[4095]] = [1]`,
		"by a default":          `const a = []; [a[4095] = 1] = []`,
		"by an object pattern":  `const a = []; ({ x: a[4095] } = { x: 1 })`,
		"by a default in one":   `const a = []; ({ x: a[4095] = 1 } = {})`,
		"by a loop over values": `const a = []; for (a[4095] of [1]);`,
		"by a loop over names":  `const a = []; for (a[4095] in { x: 1 });`,
		"by assign":             `Object.assign([], { 4095: 1 })`,
		"by definition":         `Object.defineProperty([], 4095, { value: 1 })`,
		"by a chain":            `const a = []; a[4095] ??= 1`,
		"by fill":               `const a = []; a.length = 4096; a.fill(1, 4095)`,
		"by splice":             `const a = []; a.length = 4095; a.splice(4095, 0, 1)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := compile("function solve() { const kept = []; for (let i = 0; i < 100; i++) { " + once + " } return 1 }")
			if err != nil {
				t.Fatal(err)
			}
			left := sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory}
			if _, err := p.Call(`[]`, &left); err != nil {
				t.Fatal(err)
			}
			if each := (sandbox.MaxMemory - left.Bytes) / 100; each < 64<<10 {
				t.Errorf("each cost %d bytes", each)
			}
		})
	}
}

// Each attack is ended by a count, on every machine at the same step.
func TestCall_Hostile(t *testing.T) {
	t.Parallel()
	for _, a := range hostile() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			p, err := compile(a.source)
			if err != nil {
				t.Fatal(err)
			}
			left := some()
			got, err := p.Call(`[]`, &left)
			if a.want != nil && !errors.Is(err, a.want) {
				t.Errorf("gave %.100s, %v; want %v", got, err, a.want)
			}
		})
	}
}

// Threat J6: natives whose cost grows faster than their input are paid by what
// they read, so that steps end them on every machine, and soon.
func TestCall_PaidNatives(t *testing.T) {
	t.Parallel()
	alternatives := make([]string, 60)
	for i := range alternatives {
		alternatives[i] = "(a+" + strings.Repeat("a", i%7) + "b)"
	}
	for name, source := range map[string]string{
		"quadratic search":     `function solve() { const s = 'a'.repeat(60000); for (;;) s.match(/(a.*b)|a/g) }`,
		"a new text each time": `function solve() { for (let i = 0; ; i++) ('a'.repeat(60000) + i).replace(/a*b|a/g, '') }`,
		"60 alternatives":      `function solve() { const s = 'a'.repeat(60000), p = new RegExp('` + strings.Join(alternatives, "|") + `', 'g'); for (let i = 0; ; i++) (s + i).match(p) }`,
		"large pattern":        `function solve() { const s = 'x'.repeat(60000); for (let i = 0; ; i++) /(x{0,4}y?){60}z/.test(s + i) }`,
		"many patterns":        `function solve() { for (let i = 0; ; i++) new RegExp('.{150}' + i) }`,
		"sort of equal texts":  `function solve() { const a = [], s = '\u4e00'.repeat(30000); for (let i = 0; i < 2000; i++) a.push(s + (i % 10)); for (;;) a.sort() }`,
		"sort of one text":     `function solve() { const s = '\u4e00'.repeat(60000), a = new Array(4000).fill(s); a[7] = s + 1; for (;;) a.sort() }`,
		"search among texts":   `function solve() { const s = '\u4e00'.repeat(60000), a = []; for (let i = 0; i < 1000; i++) a.push(s + (i % 9)); for (;;) a.indexOf(s + 'x') }`,
		"long numbers":         `function solve() { const s = '1'.repeat(60000); for (;;) Math.max(s, s, s, s) }`,
		"long keys":            `function solve() { const m = new Map(), s = '\u4e00'.repeat(60000); for (;;) m.get(s) }`,
		"equal texts":          `function solve() { const s = 'x'.repeat(65000), t = 'x'.repeat(65000); for (;;) s === t }`,
		"text as a number":     `function solve() { const s = '1'.repeat(65000); for (;;) s - 1 }`,
		"trim":                 `function solve() { const s = ' '.repeat(60000); for (;;) s.trim() }`,
		"nested text":          `function solve() { const s = '['.repeat(60000); for (;;) try { JSON.parse(s) } catch {} }`,
		"quoted text":          `function solve() { const s = '\u0001'.repeat(5000); for (;;) JSON.stringify(s) }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := compile(source)
			if err != nil {
				t.Fatal(err)
			}
			left := sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory}
			_, err = p.Call(`[]`, &left)
			if !errors.Is(err, sandbox.ErrSteps) && !errors.Is(err, sandbox.ErrMemory) {
				t.Errorf("ended by %v", err)
			}
		})
	}
}
