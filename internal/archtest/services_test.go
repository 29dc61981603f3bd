package archtest

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// One package changes the pauses of agents and builds their events. The domain
// types in arena define both.
func TestServices_OneHomeForPauses(t *testing.T) {
	t.Parallel()
	only := map[string]bool{"SetPause": true, "LiftPause": true, "AgentPausedBody": true, "AgentResumedBody": true}
	seen := false
	for _, file := range sources(t, ".go") {
		dir := path.Dir(file)
		if dir == "arena" || dir == "store/storetest" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		ast.Inspect(parse(t, file, 0), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && only[s.Sel.Name] {
				if seen = true; dir != "arena/registry" {
					t.Errorf("%s uses %s: arena/registry changes pauses", file, s.Sel.Name)
				}
			}
			return true
		})
	}
	if !seen {
		t.Error("no pause is changed anywhere: the names have changed")
	}
}

// A package that serves HTTP calls services, not itself by HTTP: only clients
// make requests, and only the API's own package serves what it is given.
func TestServices_NoRequestsToOurselves(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "protocol/") && !strings.HasPrefix(file, "arena/") || strings.HasPrefix(file, "protocol/protocoltest/") {
			continue
		}
		made, served := false, false
		ast.Inspect(parse(t, file, 0), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				made = made || s.Sel.Name == "NewRequestWithContext" || s.Sel.Name == "NewRequest"
				served = served || s.Sel.Name == "ServeHTTP"
			}
			return true
		})
		if made && served {
			t.Errorf("%s makes a request and serves it", file)
		}
	}
}
