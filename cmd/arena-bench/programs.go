package main

import (
	"math/rand/v2"
	"strings"
)

// programBytes is how large a hostile program may be: what the judge accepts.
const programBytes = 32 << 10

// hostileProgram returns a random JavaScript program that is hard to parse or to
// run: repeated fragments, with a function solve somewhere.
func hostileProgram(random *rand.Rand) string {
	if random.IntN(4) == 0 {
		return hostileCalls()[random.IntN(len(hostileCalls()))]
	}
	var b strings.Builder
	closing := ""
	for range 1 + random.IntN(3) {
		f := fragments()[random.IntN(len(fragments()))]
		n := 1 + random.IntN(max(1, (programBytes-b.Len()-len(closing)-100)/max(1, len(f.open)+len(f.close))))
		b.WriteString(strings.Repeat(f.open, n))
		if random.IntN(2) == 0 {
			closing = strings.Repeat(f.close, n) + closing
		}
	}
	switch random.IntN(3) {
	case 0:
		b.WriteString("function solve(){}")
	case 1:
		b.WriteString("0")
		closing += ";function solve(a, b) { return a + b }"
	}
	program := b.String() + closing
	if random.IntN(3) == 0 { // cut or changed somewhere
		at := random.IntN(len(program))
		program = program[:at] + fragments()[random.IntN(len(fragments()))].open + program[min(len(program), at+random.IntN(20)):]
	}
	return strings.ToValidUTF8(program[:min(len(program), programBytes)], "?")
}

// fragment is a piece of syntax that may be repeated or nested.
type fragment struct{ open, close string }

func fragments() []fragment {
	return []fragment{
		{"a:", ""},
		{"(", ")"},
		{"[", "]"},
		{"{", "}"},
		{"`${", "}`"},
		{"()=>", ""},
		{"(a,b)=>{", "}"},
		{"async()=>", ""},
		{"x?", ":0"},
		{"x?.", "y"},
		{"a?b:", ""},
		{"function f(){", "}"},
		{"function*g(){yield ", "}"},
		{"class A extends ", "{}"},
		{"class A{static{", "}}"},
		{"new ", "X"},
		{"!", ""},
		{"-", ""},
		{"typeof ", "1"},
		{"if(1)", ""},
		{"else ", ""},
		{"for(;;)", ""},
		{"while(0)", ""},
		{"do ", " while(0)"},
		{"with(a)", ""},
		{"try{", "}catch{}"},
		{"switch(0){case ", ":}"},
		{"var a=", ""},
		{"let[", "]=[]"},
		{"({a:", "})"},
		{"({[", "]:0})"},
		{"...", ""},
		{"0,", ""},
		{"a=", ""},
		{"a**", "1"},
		{"a??", "b"},
		{"a&&", "b"},
		{"/*", "*/"},
		{"<!--", "\n"},
		{"/(", ")/"},
		{"/(?:", ")*/"},
		{"/[^", "]/"},
		{"/a|", "/"},
		{"/(?=", ")/"},
		{"/\\", "/"},
		{"\\u0061", ""},
		{"\\u{61}", ""},
		{"'\\x41'+", "''"},
		{"\"", "\""},
		{"1e9", ""},
		{"0x", "1"},
		{"import(", ")"},
		{"await ", "0"},
		{"label:for(;;){continue label;", "}"},
		{"get a(){", "}"},
		{"#p in ", "x"},
		{"𝒳=", "1"},
		{"\u2028", ""},
		{"\ufeff", ""},
	}
}

// hostileCalls returns programs that are short and take long to run, or use much
// memory.
func hostileCalls() []string {
	return []string{
		`function solve() { for (;;); }`,
		`function solve() { return solve() }`,
		`function solve() { let s = 'a'; for (;;) s += s; }`,
		`function solve() { const a = []; for (;;) a.push(new Array(1e6).fill(1)); }`,
		`function solve() { return /(x+x+)+y/.test('x'.repeat(60000)) }`,
		`function solve() { return 'a'.repeat(60000).match(/(a|aa|aaa)*b/g) }`,
		`function solve() { return ('a'.repeat(30000) + 'b').split(/(?:)/).sort((x, y) => 1) }`,
		`function solve() { const p = 'a'.repeat(60000), l = []; for (let i = 0; i < 1000; i++) l.push(p + i); return l.sort() }`,
		`const s = '\u4e00'.repeat(60000), a = s + 1, b = s + 1; function solve() { for (;;) a === b }`,
		`function solve() { const o = {}; o.o = o; return o }`,
		`function solve() { return JSON.parse('['.repeat(30000)) }`,
		`function solve() { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a }`,
		`function solve() { return 2n ** 1000000n }`,
		`function solve() { throw { toString: solve } }`,
		`function solve() { return new Proxy({}, { get: solve }) }`,
		`function solve() { return [..."x".repeat(60000)].map(solve) }`,
		`function solve() { return 'x'.padEnd(1e9) }`,
		`function solve() { return Array.from({ length: 1e9 }) }`,
		`function solve() { return new Date(8.64e15).toLocaleString() + eval('1') }`,
		`(function f() { f() })(); function solve() {}`,
	}
}
