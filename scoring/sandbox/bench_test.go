package sandbox_test

import (
	"testing"

	"github.com/agora-arena/arena/scoring/sandbox"
)

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := compile(`function solve(a, b) { return a + b }`); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for name, source := range map[string]string{
		"nothing": `function solve() { return 1 }`,
		"loop":    `function solve() { let s = 0; for (let i = 0; i < 100000; i++) s += i; return s }`,
		"sort":    `function solve() { const a = []; for (let i = 0; i < 5000; i++) a.push((i * 7919) % 10007); return a.sort((x, y) => x - y)[9] }`,
		"fib":     `function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } function solve() { return fib(20) }`,
	} {
		p, err := compile(source)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			var steps int64
			for b.Loop() {
				left := sandbox.Allowance{Steps: sandbox.MaxSteps, Bytes: sandbox.MaxMemory}
				if _, err := p.Call(`[]`, &left); err != nil {
					b.Fatal(err)
				}
				steps = sandbox.MaxSteps - left.Steps
			}
			b.ReportMetric(float64(steps), "steps/op")
		})
	}
}
