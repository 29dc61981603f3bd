package sandbox_test

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/agora-arena/arena/scoring/sandbox"
)

// game is a game in which nothing happens but what a test adds.
func game(extra string) string {
	return extra + `
const info = { name: 'test' };
function setup({ seed }) { return { n: 0, seed } }
function turn(state) { return { player: 0, legal: [1, 2] } }
function move(state, moves) { state.n += Number(moves[0]) }
function view(state, player) { return { text: String(player) } }
function result(state) { return [1] }`
}

func compileGame(t *testing.T, source string) *sandbox.Game {
	t.Helper()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	g, err := e.CompileGame(source)
	if err != nil {
		t.Fatalf("compile %.200s: %v", source, err)
	}
	return g
}

func callGame(g *sandbox.Game, entry, args string) (string, error) {
	left := some()
	return g.Call(entry, args, &left)
}

func TestGame_Entries(t *testing.T) {
	t.Parallel()
	g := compileGame(t, game(`function parse(state, player, text) { return text === 'x' ? { error: 'no' } : text.trim() }`))
	const position = `{"to_act":[{"player":0,"view":{"text":"0"},"legal":["1","2"]}],"public":{"text":"null"}}`
	for _, tc := range []struct{ entry, args, want string }{
		{"describe", `[]`, `{"info":{"name":"test"},"parses":true}`},
		{"setup", `[{"seed":[1,2,0]}]`, `{"state":{"n":0,"seed":[1,2,0]},"position":` + position + `}`},
		{"position", `[{"n":4}]`, position},
		{"move", `[{"n":4},["2"]]`, `{"state":{"n":6},"position":` + position + `}`},
		{"parse", `[{"n":4},0," 7 "]`, `"7"`},
		{"sample", `[{"n":4},0,[1,2,0]]`, `null`},
		{"parse", `[{"n":4},0,"x"]`, `{"error":"no"}`},
	} {
		got, err := callGame(g, tc.entry, tc.args)
		if err != nil || got != tc.want {
			t.Errorf("%s %s: %s, %v; want %s", tc.entry, tc.args, got, err, tc.want)
		}
	}
}

// Threat J7: calls of a game share nothing, though they share an interpreter.
func TestGame_KeepsNothing(t *testing.T) {
	t.Parallel()
	for _, leave := range []string{
		`here = (here || 0) + 1; return here`,
		`globalThis.left = (globalThis.left || 0) + 1; return globalThis.left`,
		`Array.prototype.left = (Array.prototype.left || 0) + 1; return [].left`,
		`setup.left = (setup.left || 0) + 1; return setup.left`,
		`const p = Object.getPrototypeOf(function* () {}); p.left = (p.left || 0) + 1; return p.left`,
		`const p = Object.getPrototypeOf((function* () {})()); p.left = (p.left || 0) + 1; return p.left`,
		`const p = Object.getPrototypeOf(new Map().keys()); p.left = (p.left || 0) + 1; return p.left`,
		`console.log.left = (console.log.left || 0) + 1; return console.log.left`,
		"const f = (s) => s, s = f`x`; s.left = (s.left || 0) + 1; return s.left",
		`const d = Object.getOwnPropertyDescriptor(Map.prototype, 'size').get; d.left = (d.left || 0) + 1; return d.left`,
		`Object.setPrototypeOf(Array.prototype, { left: ([].left || 0) + 1 }); return [].left`,
		`const a = arguments; Object.getPrototypeOf(a).left = 1; return 1`,
	} {
		g := compileGame(t, "let here; "+game("")+"\n; setup = function () { "+leave+" }")
		var first string
		for i := range 3 {
			got, err := callGame(g, "setup", `[{}]`)
			if err != nil {
				got = err.Error()
			}
			if i > 0 && got != first {
				t.Errorf("%s: call %d returned %s, the first %s", leave, i+1, got, first)
			} else if i == 0 {
				first = got
			}
		}
	}
}

// All objects that a game can reach are frozen, except the objects of its own call.
func TestGame_ReachesOnlyFrozen(t *testing.T) {
	t.Parallel()
	g := compileGame(t, game("")+`
setup = function () {
	const seen = new Set(), open = [];
	const own = [[], {}, () => 1, function* () {}, /x/g, 'a'.matchAll(/a/g), new Map(), new Set(), new Map().entries(), new Set().values(),
		[].values(), ''[Symbol.iterator](), new Error('x'), new TypeError('x'), Symbol('x'), (function* () {})(), arguments, class {}, Object(1), Object('x'), Object(true), (() => 1).bind(null)];
	const visit = (o, path) => {
		if (o === null || typeof o !== 'object' && typeof o !== 'function' || seen.has(o)) return;
		seen.add(o);
		if (!Object.isFrozen(o)) open.push(path);
		visit(Object.getPrototypeOf(o), path + '.__proto__');
		for (const key of Object.getOwnPropertyNames(o)) {
			const d = Object.getOwnPropertyDescriptor(o, key);
			for (const part of ['value', 'get', 'set']) visit(d[part], path + '.' + key);
		}
	};
	visit(globalThis, 'globalThis');
	for (let i = 0; i < own.length; i++) visit(Object.getPrototypeOf(Object(own[i])), 'own ' + i);
	return { count: seen.size, open };
}`)
	got, err := g.Call("setup", `[{}]`, &sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory})
	if err != nil {
		t.Fatal(err)
	}
	// The prototype of its own generator belongs to the call.
	if !strings.Contains(got, `"open":["own 15"]`) {
		t.Errorf("a game can change what later calls see: %.500s", got)
	}
}

// Equal calls take an equal number of steps, the first one and later ones.
func TestGame_StepsAreEqual(t *testing.T) {
	t.Parallel()
	g := compileGame(t, game(`const words = 'a b c'.split(/ /);`))
	var first int64
	for i := range 3 {
		left := some()
		if _, err := g.Call("move", `[{"n":4},["2"]]`, &left); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = left.Steps
		} else if left.Steps != first {
			t.Errorf("call %d left %d steps, the first %d", i+1, left.Steps, first)
		}
	}
}

// A fault of a game comes with its position and its reason.
func TestGame_Faults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ source, entry, want string }{
		{"\n  function setup() { for (;;); }", "setup", "2:3: too many steps"},
		{"function setup() {\n const a = []; for (;;) a.push([]); }", "setup", "too much memory"},
		{"function setup() {\n throw new Error('out of cards') }", "setup", "2:8: Error: out of cards"},
		{"function setup() {\n throw 'no' }", "setup", `2:2: threw "no"`},
		{"function setup() {\n return nothing.x }", "setup", "2:9: ReferenceError: nothing is not defined"},
		{"function setup() { return f() }\nfunction f() { return f() + 1 }", "setup", "2:1: calls deeper than 2000"},
		{"function setup() { return { a: undefined } }", "setup", `"a" is not a value of JSON`},
		{"function setup() { }", "setup", "setup returned nothing"},
		{"function setup() { let s = 'x'; for (;;) s += s }", "setup", "a string of more than 524288 characters"},
		{"function setup() { return [Date] }", "setup", "ReferenceError: Date is not defined"},
		{"function setup() { return [Math.random()] }", "setup", "TypeError: "},
		{"const setup = 1", "setup", "the function setup is missing"},
		{"function setup() { return { n: 1 } }\nfunction turn(state) {\n  state.n = 2 }", "setup", "3:9: TypeError: Cannot assign to read only property 'n'"},
		{"function setup(", "", "1:16: syntax: "},
		{"} ); (function () {", "", "1:1: syntax: "},
		{"function setup() { return { get x() { throw new Error('late') } } }", "setup", "1:45: Error: late"},
		{"function setup() { throw { get message() { for (;;); } } }", "setup", "threw something"},
		{"function setup() { const e = new Error(); Object.defineProperty(e, 'message', { get() { for (;;); } }); throw e }", "setup", ""},
		{"function setup({ seed }) { return [seeded({ seed })(0)] }", "setup", "random needs a whole number"},
		{"function setup() { return [seeded({})(6)] }", "setup", "state.seed is not the seed"},
	} {
		e, err := engine()
		if err != nil {
			t.Fatal(err)
		}
		g, err := e.CompileGame(tc.source)
		if err == nil {
			_, err = callGame(g, tc.entry, `[{"seed":[1,2,0]}]`)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.source, err, tc.want)
		}
		if g == nil {
			continue
		}
		if _, again := callGame(g, tc.entry, `[{"seed":[1,2,0]}]`); again == nil || again.Error() != err.Error() {
			t.Errorf("%s: at the second call %v, at the first %v", tc.source, again, err)
		}
	}
}

func TestGame_Limits(t *testing.T) {
	t.Parallel()
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.CompileGame(strings.Repeat(" ", sandbox.MaxGameSource+1)); err == nil || !strings.Contains(err.Error(), "262145 bytes, the limit is 262144") {
		t.Error(err)
	}
	if _, err := e.CompileGame(strings.Repeat("f();", 60_000)); err == nil || !strings.Contains(err.Error(), "syntax nodes") {
		t.Error(err)
	}
	g := compileGame(t, game("")+"; setup = () => ({ s: 'x'.repeat(250000) })")
	got, err := g.Call("setup", `[{}]`, &sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory})
	if err != nil || len(got) < 250_000 {
		t.Errorf("a large state: %d bytes, %v", len(got), err)
	}
	// A call that was ended leaves a game that works.
	g = compileGame(t, game("")+"; setup = (s) => { while (s.loop); return {} }")
	if _, err := callGame(g, "setup", `[{"loop":true}]`); !errors.Is(err, sandbox.ErrSteps) {
		t.Error(err)
	}
	if _, err := callGame(g, "setup", `[{}]`); err != nil {
		t.Error(err)
	}
}

// halfSIPHash is HalfSipHash-2-4 with the vectors of its authors (see
// TestGame_Seeded): the random source of games.
func halfSIPHash(k0, k1 uint32, data []byte) uint32 {
	v := [4]uint32{k0, k1, 0x6c796765 ^ k0, 0x74656462 ^ k1}
	left := func(x uint32, n int) uint32 { return x<<n | x>>(32-n) }
	rounds := func(n int) {
		for range n {
			v[0] += v[1]
			v[1] = left(v[1], 5) ^ v[0]
			v[0] = left(v[0], 16)
			v[2] += v[3]
			v[3] = left(v[3], 8) ^ v[2]
			v[0] += v[3]
			v[3] = left(v[3], 7) ^ v[0]
			v[2] += v[1]
			v[1] = left(v[1], 13) ^ v[2]
			v[2] = left(v[2], 16)
		}
	}
	block := func(m uint32) { v[3] ^= m; rounds(2); v[0] ^= m }
	rest := data
	for ; len(rest) >= 4; rest = rest[4:] {
		block(binary.LittleEndian.Uint32(rest))
	}
	last := uint32(len(data)) << 24
	for i, b := range rest {
		last |= uint32(b) << (8 * i)
	}
	block(last)
	v[2] ^= 0xff
	rounds(4)
	return v[1] ^ v[3]
}

func TestGame_Seeded(t *testing.T) {
	t.Parallel()
	// https://github.com/veorq/SipHash, vectors.h: key 00 01 … 07, inputs of 0, 1, 2, … bytes.
	for n, want := range [][]byte{{0xa9, 0x35, 0x9f, 0x5b}, {0x27, 0x47, 0x5a, 0xb8}, {0xfa, 0x62, 0xa6, 0x03}, {0x8a, 0xfe, 0xe7, 0x04}, {0x2a, 0x6e, 0x46, 0x89}} {
		data := []byte{0, 1, 2, 3}[:n]
		if got := halfSIPHash(0x03020100, 0x07060504, data); got != binary.LittleEndian.Uint32(want) {
			t.Errorf("%d bytes: %x, want %x", n, got, want)
		}
	}
	g := compileGame(t, game("")+`; setup = (state) => { const random = seeded(state), out = []; for (let i = 0; i < 3; i++) out.push(random(1000)); return { out, seed: state.seed } }`)
	got, err := callGame(g, "setup", `[{"seed":[50462976,4294967295,7]}]`)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for n := range uint32(3) {
		u := halfSIPHash(50462976, 4294967295, binary.LittleEndian.AppendUint32(nil, 7+n))
		want = append(want, strconv.FormatUint(uint64(u)*1000>>32, 10))
	}
	if text := `{"state":{"out":[` + strings.Join(want, ",") + `],"seed":[50462976,4294967295,10]},`; !strings.HasPrefix(got, text) {
		t.Errorf("got %.100s, want %s", got, text)
	}
}

func BenchmarkGame(b *testing.B) {
	e, err := engine()
	if err != nil {
		b.Fatal(err)
	}
	g, err := e.CompileGame(game(""))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := callGame(g, "move", `[{"n":4},["2"]]`); err != nil {
			b.Fatal(err)
		}
	}
}
