package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// homes lists operations that one package performs, by the names that only it
// may use. The domain types in arena define them, store keeps the rows, and
// programs that fill a database for measurements are free to.
func homes() map[string][]string {
	const pauses, matches, leagues = "arena/registry", "arena/match", "league"
	return map[string][]string{
		"SetPause": {pauses}, "LiftPause": {pauses}, "AgentPausedBody": {pauses}, "AgentResumedBody": {pauses},
		"MatchScheduledBody": {matches}, "EndMatch": {matches},
		"VoidEvent":    {matches, "arena/match/engine"}, // a round of the match may void it
		"CreateLeague": {leagues}, "UpdateLeague": {leagues},
		"SaveVote": {"arena/vote"}, "UpdateAgent": {pauses},
	}
}

func TestServices_OneHome(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, file := range sources(t, ".go") {
		dir := path.Dir(file)
		if dir == "arena" || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "store/") || strings.Contains(file, "bench") {
			continue
		}
		ast.Inspect(parse(t, file, 0), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if only := homes()[s.Sel.Name]; only != nil {
					if seen[s.Sel.Name] = true; !slices.Contains(only, dir) {
						t.Errorf("%s uses %s: only %s may", file, s.Sel.Name, strings.Join(only, " and "))
					}
				}
			}
			return true
		})
	}
	for name := range homes() {
		if !seen[name] {
			t.Errorf("nothing uses %s: has its name changed?", name)
		}
	}
}

// Audit entries are stored with what they record. These files write entries
// alone, about what changes no rows or more than one transaction holds.
func TestServices_AuditWithChange(t *testing.T) {
	t.Parallel()
	alone := map[string]bool{"arena/api/admin.go": false, "arena/match/rescore.go": false, "arena/registry/check.go": false}
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "store/") {
			continue
		}
		ast.Inspect(parse(t, file, 0), func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 { // arena.Caller.Audit, which builds an entry, takes five
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Audit" {
				if _, listed := alone[file]; !listed {
					t.Errorf("%s stores an audit entry alone: hand it to the write that it is about", file)
				}
				alone[file] = true
			}
			return true
		})
	}
	for file, found := range alone {
		if !found {
			t.Errorf("%s stores no audit entry alone: take it off the list", file)
		}
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
