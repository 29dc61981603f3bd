package store_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Columns have names: no code of the store counts them, and a table that is
// described (db.NewTable) is written by its description alone, so that a new
// column has one place.
func TestColumns_haveNames(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"*.go", "internal/writer/*.go"} {
		found, err := filepath.Glob(pattern)
		check(t, err)
		files = append(files, found...)
	}
	sources := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "fill.go" { // fill.go makes rows for benchmarks inside the database
			continue
		}
		text, err := os.ReadFile(name)
		check(t, err)
		sources[name] = string(text)
	}
	if len(sources) < 10 {
		t.Fatalf("only %d files were found", len(sources))
	}
	for _, problem := range numberedColumns(t, sources) {
		t.Error(problem)
	}
}

// The rule finds what it forbids.
func TestColumns_rule(t *testing.T) {
	t.Parallel()
	const described = `package p
var agents = db.NewTable("agents", "a", nil...)
`
	for name, c := range map[string]struct {
		code  string
		found bool
	}{
		"value by number":     {`func f(row []any) any { return row[9] }`, true},
		"values by number":    {`func f() { row := []any{1, 2, 3}; _ = row[1:2] }`, true},
		"made by number":      {`func f() { row := make([]any, 3); row[0] = 1 }`, true},
		"variadic by number":  {`func f(args ...any) any { return args[0] }`, true},
		"rows without types":  {`func f(rows [][]any) {}`, true},
		"column of a list":    {"const q = `UPDATE agents SET name = v.column14`", true},
		"insert by hand":      {"const q = `INSERT INTO agents (id, name) VALUES ($1, $2)`", true},
		"value by variable":   {`func f(row []any, i int) any { return row[i] }`, false},
		"item of a list":      {`func f(matches []Match) Match { return matches[0] }`, false},
		"table without rows":  {"const q = `INSERT INTO agents_seen (id) VALUES ($1)`", false},
		"column of a table":   {"const q = `SELECT a.name FROM agents a`", false},
		"update of one field": {"const q = `UPDATE agents SET retired_at = $1 WHERE id = $2`", false},
	} {
		if problems := numberedColumns(t, map[string]string{"p.go": described + c.code}); (len(problems) > 0) != c.found {
			t.Errorf("%s: found %q", name, problems)
		}
	}
}

// numberedColumns returns the violations of the rule in sources, by file name.
func numberedColumns(t *testing.T, sources map[string]string) (problems []string) {
	t.Helper()
	fset := token.NewFileSet()
	parsed := map[string]*ast.File{}
	var tables []string
	for name, text := range sources {
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		check(t, err)
		parsed[name] = f
		for _, m := range regexp.MustCompile(`db\.NewTable\("(\w+)"`).FindAllStringSubmatch(text, -1) {
			tables = append(tables, m[1])
		}
	}
	inserts := regexp.MustCompile(`INSERT INTO (` + strings.Join(tables, "|") + `)\b`)
	numbered := regexp.MustCompile(`\bcolumn\d+\b`)
	for name, f := range parsed {
		report := func(n ast.Node, problem string, args ...any) {
			problems = append(problems, fmt.Sprintf("%s: %s", fset.Position(n.Pos()), fmt.Sprintf(problem, args...)))
		}
		untyped := untypedLists(f)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if m := inserts.FindString(n.Value); n.Kind == token.STRING && m != "" {
					report(n, "%s: the table is described, use db.NewInsert or db.NewUpsert", m)
				}
				if m := numbered.FindString(n.Value); n.Kind == token.STRING && m != "" {
					report(n, "%s addresses a column by number", m)
				}
			case *ast.ArrayType:
				if inner, ok := n.Elt.(*ast.ArrayType); ok && isAny(inner.Elt) && name != "copy.go" { // copy.go reads tables whose columns the database names
					report(n, "rows need a type: describe the table")
				}
			case *ast.IndexExpr:
				if isUntyped(n.X, untyped) && isNumber(n.Index) {
					report(n, "a column is addressed by number")
				}
			case *ast.SliceExpr:
				if isUntyped(n.X, untyped) && (isNumber(n.Low) || isNumber(n.High)) {
					report(n, "columns are addressed by number")
				}
			}
			return true
		})
	}
	slices.Sort(problems)
	return problems
}

// untypedLists returns the names that a file declares as []any.
func untypedLists(f *ast.File) map[string]bool {
	names := map[string]bool{}
	add := func(idents []*ast.Ident) {
		for _, id := range idents {
			names[id.Name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if isAnyList(n.Type) {
				add(n.Names)
			}
		case *ast.ValueSpec:
			if isAnyList(n.Type) {
				add(n.Names)
			}
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if call, ok := value.(*ast.CallExpr); ok && len(call.Args) > 0 && isIdent(call.Fun, "make") {
					value = call.Args[0]
				}
				if lit, ok := value.(*ast.CompositeLit); ok {
					value = lit.Type
				}
				if id, ok := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok && isAnyList(value) {
					add([]*ast.Ident{id})
				}
			}
		}
		return true
	})
	return names
}

func isAnyList(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ArrayType:
		return isAny(e.Elt)
	case *ast.Ellipsis:
		return isAny(e.Elt)
	}
	return false
}

func isUntyped(e ast.Expr, names map[string]bool) bool {
	id, ok := e.(*ast.Ident)
	return ok && names[id.Name]
}

func isAny(e ast.Expr) bool { return isIdent(e, "any") }

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func isNumber(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.INT
}
