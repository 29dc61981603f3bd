package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// publicPackages serve spectators, with the packages below them.
func publicPackages() []string {
	return []string{"api", "api/card", "api/mcp", "stream", "protocol", "web"}
}

// publicFiles serve spectators from a package that also does other things.
func publicFiles() []string { return []string{"server/preview.go"} }

func isPublic(file string) bool {
	dir := path.Dir(file)
	return slices.Contains(publicFiles(), file) ||
		slices.ContainsFunc(publicPackages(), func(p string) bool { return within(dir, p) })
}

// signature returns the types of a function without its name and those of its
// parameters, as the package arena itself and all others write them.
func signature(f *ast.FuncType) string {
	var s strings.Builder
	for _, fields := range []*ast.FieldList{f.Params, f.Results} {
		s.WriteByte('(')
		if fields != nil {
			for _, field := range fields.List {
				for range max(1, len(field.Names)) {
					s.WriteString(types.ExprString(field.Type) + ", ")
				}
			}
		}
		s.WriteByte(')')
	}
	return s.String()
}

// rawReads returns the signatures of visibility.Store: the reads of matches
// that nobody but visibility may offer to spectators.
func rawReads(t *testing.T) map[string]string {
	t.Helper()
	reads := map[string]string{}
	ast.Inspect(parse(t, "visibility/reader.go", parser.SkipObjectResolution), func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Store" {
			return true
		}
		for _, method := range spec.Type.(*ast.InterfaceType).Methods.List {
			reads[signature(method.Type.(*ast.FuncType))] = method.Names[0].Name
		}
		return false
	})
	return reads
}

// rawIn returns the raw reads that a file can be given, as a method of an
// interface or as a function.
func rawIn(f *ast.File, raw map[string]string) (found []string) {
	defined := map[*ast.FuncType]bool{} // a function that the file defines is not one that it is given
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			defined[n.Type] = true
		case *ast.FuncType:
			if name := raw[signature(n)]; name != "" && !defined[n] {
				found = append(found, name)
			}
		}
		return true
	})
	return found
}

// What serves spectators has no way to a raw match, round, answer, verdict or
// event: it is given a visibility.Reader. Threat F1.
func TestVisible_NoRawReads(t *testing.T) {
	t.Parallel()
	raw := rawReads(t)
	if len(raw) < 8 {
		t.Fatalf("visibility.Store has the reads %v", raw)
	}
	checked := map[string]bool{}
	for _, file := range sources(t, ".go") {
		if !isPublic(file) || strings.HasSuffix(file, "_test.go") {
			continue
		}
		checked[path.Dir(file)] = true
		f := parse(t, file, parser.SkipObjectResolution)
		for _, name := range rawIn(f, raw) {
			t.Errorf("%s can be given the raw read %s; take a visibility.Reader instead", file, name)
		}
		for _, name := range selectors(f) {
			if name == "store.Store" || name == "store.Matches" {
				t.Errorf("%s names %s, which has all raw reads", file, name)
			}
		}
	}
	for _, dir := range []string{"api", "api/card", "stream", "stream/bus", "stream/ingest", "protocol/envelope/relay", "server"} {
		if !checked[dir] {
			t.Errorf("no file of %s was checked", dir)
		}
	}
}

// The rule finds what it must.
func TestVisible_RuleRefuses(t *testing.T) {
	t.Parallel()
	raw := rawReads(t)
	for _, c := range []struct {
		source, want string
	}{
		{`type store interface { Rounds(ctx context.Context, matchID string) ([]arena.Round, error) }`, "Rounds"},
		{`type options struct { Read func(context.Context, string) ([]arena.Answer, error) }`, "Answers"},
		{`func f(log interface { After(ctx context.Context, id string, since int64, limit int) (events []arena.Event, err error) }) {}`, "EventsAfter"},
		{`func f() { var read func(context.Context, string) (arena.Match, error); _ = read }`, "Match"},
		{`type store interface { Rounds(ctx context.Context, m visibility.Match) ([]arena.Round, error) }`, ""},
		{`func (s *store) Match(ctx context.Context, id string) (arena.Match, error) { return s.m, nil }`, ""},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+c.source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rawIn(f, raw), ""); got != c.want {
			t.Errorf("%s: found %q, want %q", c.source, got, c.want)
		}
	}
}
