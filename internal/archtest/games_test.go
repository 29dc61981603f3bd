package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// gameNames are names of arena that distinguish games and judges, other than the
// constants whose names begin with Format or Judge.
func gameNames() []string {
	return []string{"Debate", "DebateSpec", "DebateTurn", "Compares", "External", "Eliminate"}
}

// gameBranches returns the selectors of a file that name a game, a format or a
// kind of judge.
func gameBranches(f *ast.File) (found []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, _ := s.X.(*ast.Ident)
		name := s.Sel.Name
		constant := x != nil && x.Name == "arena" && (strings.HasPrefix(name, "Format") || strings.HasPrefix(name, "Judge") && name != "JudgeSpec" && name != "JudgedAnswer")
		if constant || slices.Contains(gameNames(), name) {
			found = append(found, name)
		}
		return true
	})
	return found
}

// Matches are created and played without a branch on what is played.
func TestGames_EngineKnowsNone(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		if dir := path.Dir(file); dir != "arena/match" && dir != "arena/match/engine" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, name := range gameBranches(parse(t, file, parser.SkipObjectResolution)) {
			t.Errorf("%s names %s: this belongs to league/game", file, name)
		}
	}
}

// The rule finds what it must.
func TestGames_RuleRefuses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		"s.Format == arena.FormatElimination": 1,
		"s.Debate != nil":                     1,
		"j.Spec.Kind == arena.JudgeCrowd":     1,
		"m.Settings.Judge.Compares()":         1,
		"scoring.PlaceSeats(s, s.Seats)":      0,
		"arena.JudgeSpec{}":                   0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nvar _ = "+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := gameBranches(f); len(got) != want {
			t.Errorf("%s: found %v", source, got)
		}
	}
}
