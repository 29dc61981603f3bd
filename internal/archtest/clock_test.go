package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// sleepers are the test files that sleep by the real clock, and why they cannot
// wait for an event. All others sleep in a bubble of testing/synctest.
func sleepers() map[string]string {
	return map[string]string{
		"internal/join/setup_test.go":     "is a process that hangs",
		"protocol/a2a/setup_test.go":      "is an agent that is slow",
		"protocol/aap/pull/bench_test.go": "measures a server at rest",
		"protocol/agora/kit_test.go":      "is an agent that is slow",
	}
}

// sleeps reports whether a file calls time.Sleep without testing/synctest.
func sleeps(f *ast.File) bool {
	called, bubble := false, false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				called = called || x.Name == "time" && s.Sel.Name == "Sleep"
				bubble = bubble || x.Name == "synctest" && s.Sel.Name == "Test"
			}
		}
		return true
	})
	return called && !bubble
}

// Tests wait for events. A file that sleeps is listed with the reason.
func TestClock_Sleepers(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") && sleeps(parse(t, file, parser.SkipObjectResolution)) {
			if found[file] = true; sleepers()[file] == "" {
				t.Errorf("%s sleeps by the real clock: wait for an event, or use testing/synctest", file)
			}
		}
	}
	for file := range sleepers() {
		if !found[file] {
			t.Errorf("%s no longer sleeps: take it off the list", file)
		}
	}
}

// The rule finds what it must.
func TestClock_RuleRefuses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		"func f() { time.Sleep(1) }":                              true,
		"func f() { synctest.Test(t, func() { time.Sleep(1) }) }": false,
		"func f() { clock.Sleep(1) }":                             false,
		"func f() { for ; ; time.Sleep(1) { synctest.Wait() } }":  true,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := sleeps(f); got != want {
			t.Errorf("%s: %t, want %t", source, got, want)
		}
	}
}
