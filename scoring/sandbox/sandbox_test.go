package sandbox_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/scoring/sandbox"
)

// some is enough to show what there is to show, also on a machine so slow that
// the full count would reach the wall clock.
func some() sandbox.Allowance {
	return sandbox.Allowance{Steps: sandbox.MaxSteps / 5, Bytes: sandbox.MaxMemory / 20}
}

// engine is shared: compiling the library takes longer than most tests.
var engine = sync.OnceValues(sandbox.New)

func compile(source string) (*sandbox.Program, error) {
	e, err := engine()
	if err != nil {
		return nil, err
	}
	return e.Compile(source, "solve")
}

func run(t *testing.T, source, args string) (string, error) {
	t.Helper()
	p, err := compile(source)
	if err != nil {
		t.Fatalf("compile %.200s: %v", source, err)
	}
	left := some()
	return p.Call(args, &left)
}

//go:embed testdata/library.txt
var expressions string

// Each line is an expression and, behind //, what it is as JSON; the values
// were written by another engine.
func TestCall_Library(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(expressions) {
		expression, want, ok := strings.Cut(strings.TrimSpace(line), " // ")
		if !ok {
			t.Fatalf("no value behind %q", line)
		}
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			got, err := run(t, "function solve() { return [JSON.stringify("+expression+")] }", "[]")
			if err != nil {
				t.Fatal(err)
			}
			var values []string
			if err := json.Unmarshal([]byte(got), &values); err != nil {
				t.Fatal(err)
			}
			if values[0] != want {
				t.Errorf("got %s, want %s", values[0], want)
			}
		})
	}
}

func TestCall_Forms(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`function solve(a, b) { return a + b }`,
		`const solve = (a, b) => a + b`,
		`let solve = function (a, b) { return a + b };`,
		`var solve = ([...args] = [], b) => 0; solve = (a, b) => a + b // last word`,
		`"use strict"; function solve(...n) { return n.reduce((x, y) => x + y) }`,
		`function solve() { return arguments[0] + arguments[1] }`,
		`class S { static run(a, b) { return a + b } } const solve = S.run`,
		`function solve(a, b) { console.log('debugging'); return a + b }`,
	} {
		if got, err := run(t, source, `[1, 2]`); err != nil || got != "3" {
			t.Errorf("%s: got %s, %v", source, got, err)
		}
	}
}

// The interpreter would read a file that a comment names, and show what it
// says of the source.
func TestCompile_ReadsNoFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "map")
	columns := strings.Repeat(",CAAC", 60)
	if err := os.WriteFile(name, []byte(`{"version":3,"sources":["mapped.ts"],"names":[],"mappings":"AAAA`+columns+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	stack, err := run(t, "function solve() { return new Error('x').stack }\n//# sourceMappingURL=file://"+name, `[]`)
	if err != nil || !strings.Contains(stack, "answer.js") || strings.Contains(stack, "mapped") {
		t.Errorf("%s, %v", stack, err)
	}
}

func TestCompile_Refuses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`function solve( {`:                                                 "syntax",
		`I think the answer is 4.`:                                          "syntax",
		`import fs from 'fs'; function solve() {}`:                          "syntax",
		`async function solve() {}`:                                         "async",
		`const solve = async () => 1`:                                       "async",
		`function solve() { with ({}) {} }`:                                 "with",
		`function solve() { return 1n }`:                                    "BigInt",
		`function solve({ a, ...rest }) {}`:                                 "object pattern",
		`function solve() { try {} catch ({ message }) {} }`:                "catch",
		`function solve() { return { arguments } }`:                         "arguments",
		"function solve(a) { return `" + strings.Repeat("${a}", 65) + "` }": "template",
		"let " + strings.Repeat("x", 200) + " = 1":                          "name",
		strings.Repeat("1;", 20_000):                                        "bytes",
		strings.Repeat("1;", 15_000):                                        "nodes",
	} {
		if _, err := compile(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q in it", source, err, want)
		}
	}
}

func TestCompile_ManyArrowFunctions(t *testing.T) {
	t.Parallel()
	plain := "const solve = (a, b) => { " + strings.Repeat("[1].map(x => x).map((x, i, [y]) => x).map((x, { z } = {}) => x); ", 100) + " return a + b }"
	if got, err := run(t, plain, `[1, 2]`); err != nil || got != "3" {
		t.Errorf("%s, %v", got, err)
	}
}

// A parser and a compiler call themselves for what nests.
func TestCompile_Nested(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"(", "[", "{", "!", "-", "a=>", "1+", "if(1)", "a?", "new ", "`${", "({a:", "function f(){", "x=>{", "a[", "f(", "...", "typeof ", "for(;;)", "do ", "class A extends ", "/a/+"} {
		t.Run(unit, func(t *testing.T) {
			t.Parallel()
			source := strings.Repeat(unit, sandbox.MaxSource/len(unit))
			_, _ = compile(source)
			closing := map[string]string{"(": ")", "[": "]", "{": "}"}[unit]
			_, _ = compile(strings.Repeat(unit, 9_000) + "1" + strings.Repeat(closing, 9_000))
		})
	}
}

func TestCall_Results(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ source, want string }{
		{`function solve() {}`, "threw an error"},
		{`const solve = 4`, "threw an error"},
		{`function other() {}`, "threw an error"},
		{`function solve() { throw 'no' }`, `threw "no"`},
		{`function solve() { throw { toString() { for (;;); } } }`, "threw something"},
		{`function solve() { return () => 1 }`, "threw an error"},
		{`function solve() { return [undefined] }`, "threw an error"},
		{`function solve() { return NaN }`, "threw an error"},
		{`function solve() { return 1 / 0 }`, "threw an error"},
		{`function solve() { const a = []; a.push(a); return a }`, "threw an error"},
		{`function solve() { return { get a() { throw 1 } } }`, "threw something"},
		{`function solve() { return { toJSON() { for (;;); } } }`, sandbox.ErrSteps.Error()},
		{`function solve() { return { get a() { for (;;); } } }`, sandbox.ErrSteps.Error()},
		{`function solve() { return 'x'.repeat(65536) + '' }`, sandbox.ErrString.Error()}, // and its quotes
		{`function solve() { return new Proxy({}, {}) }`, "threw an error"},
		{`function solve() { return Promise.resolve(1) }`, "threw an error"},
		{`function solve() { return require('fs') }`, "threw an error"},
		{`function solve() { return eval('1') }`, "threw an error"},
		{`function solve() { return Function('return 1')() }`, "threw an error"},
		{`function solve() { return (function* () {}).constructor('') }`, "threw an error"},
		{`function solve() { return solve.constructor('return 1')() }`, "threw an error"},
		{`function solve() { return /(?=a)/.test('a') }`, "threw an error"},
		{`function solve() { return /(a)\1/.test('aa') }`, "threw an error"},
	} {
		if got, err := run(t, tt.source, `[]`); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.source, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ source, want string }{
		{`function solve() { return { toJSON() { return 7 } } }`, "7"},
		{`JSON.stringify = () => '"forged"'; function solve() { return 1 }`, "1"},
		{`globalThis.JSON = 0; Array.prototype.join = 0; function solve() { return [1] }`, "[1]"},
		{`Object.prototype.toJSON = function () { return 9 }; function solve() { return 1 }`, "1"},
		{`Array.prototype[Symbol.iterator] = null; const solve = () => 1`, ""},
		{`function solve() { return [Math.random() === Math.random(), Date.now(), new Date().getHours()] }`, "[false,946684800000,0]"},
		{`function solve() { return Object.getOwnPropertyNames(globalThis).filter(k => k[0] !== '%').length < 40 }`, "true"},
	} {
		if got, err := run(t, tt.source, `[]`); got != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.source, got, err, tt.want)
		}
	}
}

// One call leaves nothing behind for the next.
func TestCall_StartsFromNothing(t *testing.T) {
	t.Parallel()
	p, err := compile(`let n = 0; function solve() {
		Object.prototype.seen = (Object.prototype.seen || 0) + 1
		globalThis.kept = (globalThis.kept || 0) + 1
		return [++n, ({}).seen, kept, Math.random()] }`)
	if err != nil {
		t.Fatal(err)
	}
	left := sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory}
	first, err := p.Call(`[]`, &left)
	if err != nil {
		t.Fatal(err)
	}
	spent := left
	second, err := p.Call(`[]`, &left)
	if err != nil || first != second || !strings.HasPrefix(first, "[1,1,1,") {
		t.Errorf("first %s, second %s, %v", first, second, err)
	}
	if a, b := sandbox.MaxSteps-spent.Steps, spent.Steps-left.Steps; a != b {
		t.Errorf("took %d steps, then %d", a, b)
	}
}

func TestCall_AllowanceEnds(t *testing.T) {
	t.Parallel()
	p, err := compile(`function solve(n) { for (let i = 0; i < n; i++); return n }`)
	if err != nil {
		t.Fatal(err)
	}
	left := sandbox.Allowance{Steps: 20_000, Bytes: 1 << 20}
	if _, err := p.Call(`[1000]`, &left); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Call(`[1000000]`, &left); !errors.Is(err, sandbox.ErrSteps) {
		t.Errorf("%v", err)
	}
	if _, err := p.Call(`[1]`, &left); !errors.Is(err, sandbox.ErrSteps) {
		t.Errorf("with nothing left: %v", err)
	}
}

func FuzzCall(f *testing.F) {
	for line := range strings.Lines(expressions) {
		expression, _, _ := strings.Cut(line, " // ")
		f.Add("function solve() { return " + expression + " }")
	}
	for _, c := range hostile() {
		f.Add(c.source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := compile(source)
		if err != nil {
			return
		}
		left := sandbox.Allowance{Steps: 100_000, Bytes: 16 << 20}
		began := time.Now()
		_, err = p.Call(`[1, "two", [3]]`, &left)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %v for %d steps: %v", took, 100_000-left.Steps, err)
		}
	})
}
