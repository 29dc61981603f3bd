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

// packageVars returns the package variables that are exceptions to the rule below.
func packageVars() map[string]string {
	return map[string]string{
		"cmd/arena.version": "the linker can set only a variable",
	}
}

// Package-level state is shared by all importers and tests. So there is no init
// function, and a package variable must be effectively constant: an error, an
// expression, or a table that is never written to.
func TestArchitecture_NoPackageState(t *testing.T) {
	t.Parallel()
	packages := map[string][]*ast.File{}
	for _, file := range sources(t, ".go") {
		f := parse(t, file, parser.ParseComments|parser.SkipObjectResolution)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function; let the caller build what it needs", file)
			}
		}
		if !strings.HasSuffix(file, "_test.go") {
			packages[path.Dir(file)] = append(packages[path.Dir(file)], f)
		}
	}
	for dir, files := range packages {
		written := writtenNames(files)
		for name, value := range packageVariables(files) {
			if _, excepted := packageVars()[dir+"."+name]; excepted {
				continue
			}
			switch {
			case written[name]:
				t.Errorf("%s: the package variable %s is written to", dir, name)
			case !constant(value):
				t.Errorf("%s: the package variable %s can hold state; make it a field or a function", dir, name)
			}
		}
	}
}

// packageVariables returns the top-level variables with their values, or nil for
// those without one. It leaves out embedded files and _.
func packageVariables(files []*ast.File) map[string]ast.Expr {
	vars := map[string]ast.Expr{}
	for _, f := range files {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.ValueSpec)
				if isEmbedded(decl.Doc) || isEmbedded(spec.Doc) {
					continue
				}
				for i, name := range spec.Names {
					if name.Name == "_" {
						continue
					}
					vars[name.Name] = nil
					if i < len(spec.Values) {
						vars[name.Name] = spec.Values[i]
					}
				}
			}
		}
	}
	return vars
}

// constant reports whether the value of an expression is immutable.
func constant(value ast.Expr) bool {
	switch v := value.(type) {
	case *ast.BasicLit:
		return true
	case *ast.CompositeLit: // a table, unless it is sync.Mutex{} or similar
		sel, ok := v.Type.(*ast.SelectorExpr)
		return !ok || !isSelector(sel, "sync", sel.Sel.Name) && !isSelector(sel, "atomic", sel.Sel.Name)
	case *ast.CallExpr:
		for {
			sel, ok := v.Fun.(*ast.SelectorExpr)
			if !ok {
				return false
			}
			if pkg, ok := sel.X.(*ast.Ident); ok {
				return slices.ContainsFunc(constantCalls(), func(p string) bool { return strings.HasPrefix(pkg.Name+"."+sel.Sel.Name, p) })
			}
			if v, ok = sel.X.(*ast.CallExpr); !ok { // base32.NewEncoding(…).WithPadding(…)
				return false
			}
		}
	default:
		return false
	}
}

// constantCalls returns the prefixes of calls whose results are immutable. Those
// of db are descriptions of tables, which cache the statements that they built.
func constantCalls() []string {
	return []string{
		"arena.Errorf", "arena.Invalid", "db.New", "db.Extend", "errors.New", "base32.NewEncoding", "base64.NewEncoding", "netip.MustParse",
		"prometheus.NewDesc", "regexp.MustCompile", "strings.NewReplacer", "template.Must", "time.Date",
	}
}

// isEmbedded reports whether the compiler fills the variable from a file.
func isEmbedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == pkg && sel.Sel.Name == name
}

// writtenNames collects the names at the root of everything that is assigned
// to, counted up, deleted from or cleared. A local variable of the same name
// counts too; it should have another.
func writtenNames(files []*ast.File) map[string]bool {
	written := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, e := range n.Lhs {
						written[rootName(e)] = true
					}
				}
			case *ast.IncDecStmt:
				written[rootName(n.X)] = true
			case *ast.CallExpr:
				if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear" || fn.Name == "copy") && len(n.Args) > 0 {
					written[rootName(n.Args[0])] = true
				}
			}
			return true
		})
	}
	return written
}

// rootName returns x for x, x.f, x[i], *x and their chains, "" for the rest.
func rootName(e ast.Expr) string {
	for {
		switch v := e.(type) {
		case *ast.Ident:
			return v.Name
		case *ast.SelectorExpr:
			e = v.X
		case *ast.IndexExpr:
			e = v.X
		case *ast.StarExpr:
			e = v.X
		case *ast.ParenExpr:
			e = v.X
		case *ast.SliceExpr:
			e = v.X
		default:
			return ""
		}
	}
}
