package archtest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// A kind of void reason is in the API description and has a text in every language
// of the pages; one that is gone is gone there too.
func TestVoidCodes_everywhere(t *testing.T) {
	t.Parallel()
	want := names(arena.VoidCodes())
	if d := enumOf(t, "Match", "void_code"); !slices.Equal(d, want) {
		t.Errorf("the API description has the codes %v, arena.VoidCodes() are %v", d, want)
	}
	checkDictionaries(t, "void.", want)
}

func names[C ~string](codes []C) (sorted []string) {
	for _, c := range codes {
		sorted = append(sorted, string(c))
	}
	slices.Sort(sorted)
	return sorted
}

// enumOf returns the values of a property in the API description, sorted.
func enumOf(t *testing.T, schema, property string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "arena/api/testdata/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []any }
			}
		}
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	var enum []string
	for _, value := range api.Components.Schemas[schema].Properties[property].Enum {
		text, _ := value.(string)
		enum = append(enum, text)
	}
	slices.Sort(enum)
	return enum
}

// checkDictionaries compares the keys with a prefix in every language with codes.
func checkDictionaries(t *testing.T, prefix string, want []string) {
	t.Helper()
	languages, err := filepath.Glob(filepath.Join(root(t), "web/src/lib/i18n/??.ts"))
	if err != nil || len(languages) < 2 {
		t.Fatalf("got the dictionaries %v, %v", languages, err)
	}
	for _, language := range languages {
		name := filepath.Join(filepath.Dir(language), "why."+filepath.Base(language))
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for line := range strings.Lines(string(text)) {
			if key, found := strings.CutPrefix(strings.TrimSpace(line), "'"+prefix); found {
				key, _, _ = strings.Cut(key, "'")
				got = append(got, key)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has texts for the codes %v of %s, the domain has %v", filepath.Base(name), got, prefix, want)
		}
	}
}

// literalReasons returns the void reasons that a file writes as literals. They
// have no code.
func literalReasons(f *ast.File) (found []string) {
	literal := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				found = append(found, l.Value)
			}
			return true
		})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if name, ok := n.Type.(*ast.Ident); ok && name.Name == "voidError" {
				for _, e := range n.Elts {
					literal(e)
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Void" || key.Name == "VoidReason") {
				literal(n.Value)
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"void", "VoidMatch", "VoidEvent", "EndMatch", "CancelUnstarted"}, s.Sel.Name) {
				for _, e := range n.Args {
					literal(e)
				}
			}
		}
		return true
	})
	return found
}

// The arena's own void reasons come from their codes.
func TestVoidCodes_noLiterals(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "store/storetest/") {
			continue
		}
		for _, text := range literalReasons(parse(t, file, parser.SkipObjectResolution)) {
			t.Errorf("%s has the void reason %s: take it from an arena.VoidCode", file, text)
		}
	}
}

// The rule finds what it must.
func TestVoidCodes_RuleRefuses(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		`&voidError{"the game failed"}`:                   1,
		`&voidError{reason: "the game failed"}`:           1,
		`game.End{Void: "by " + name}`:                    1,
		`mr.void(ctx, "the arena failed")`:                1,
		`s.CancelUnstarted(ctx, m, "the season ended")`:   1,
		`&voidError{arena.VoidGameFailed.Reason()}`:       0,
		`End{Void: arena.VoidTooFewAgents.Reason()}`:      0,
		`mr.void(ctx, arena.VoidArenaFailed.Reason())`:    0,
		`mr.commit(ctx, "void match", nil)`:               0,
		`arena.Invalid("reason", "must be given", "end")`: 0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nvar _ = "+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := literalReasons(f); len(got) != want {
			t.Errorf("%s: found %v", source, got)
		}
	}
}
