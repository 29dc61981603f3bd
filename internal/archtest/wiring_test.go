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

// settersOf returns for each field of a type the functions of a file that assign
// to it, by the name of the variable that holds the value.
func settersOf(f *ast.File, variable string) map[string][]string {
	setters := map[string][]string{}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			assign, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for _, left := range assign.Lhs {
				if s, ok := left.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Name == variable && !slices.Contains(setters[s.Sel.Name], fn.Name.Name) {
						setters[s.Sel.Name] = append(setters[s.Sel.Name], fn.Name.Name)
					}
				}
			}
			return true
		})
	}
	return setters
}

// The composition root makes its parts in a straight line: one function sets each
// field of the server, and nothing sets it again.
func TestWiring_SetOnce(t *testing.T) {
	t.Parallel()
	all := map[string][]string{}
	for _, file := range sources(t, ".go") {
		if path.Dir(file) != "arena/server" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for field, functions := range settersOf(parse(t, file, parser.SkipObjectResolution), "s") {
			all[field] = append(all[field], functions...)
		}
	}
	if len(all) < 20 {
		t.Fatalf("found setters of %d fields only: is the server no longer called s?", len(all))
	}
	for field, functions := range all {
		if len(functions) > 1 {
			t.Errorf("arena/server: %s set s.%s: one of them must hand it on", strings.Join(functions, " and "), field)
		}
	}
}

// The rule finds what it must.
func TestWiring_RuleRefuses(t *testing.T) {
	t.Parallel()
	source := "package x\nfunc (s *S) a() { s.part = 1; s.part, err = 2, nil }\nfunc (s *S) b() { s.part = 3; p.part = 4; s.other.part = 5; s.own++ }"
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := settersOf(f, "s"); len(got) != 1 || !slices.Equal(got["part"], []string{"a", "b"}) {
		t.Errorf("found %v", got)
	}
}
