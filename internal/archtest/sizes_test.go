package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The most parts that one type may depend on.
const (
	maxHandlerFields = 10
	maxOptionFields  = 15
)

// tooLarge returns the handler types and option structs of a file that have
// too many fields, by name. A handler type has a name that ends in Handlers
// (or is api.API); an option struct has one that ends in Options.
func tooLarge(dir string, f *ast.File) map[string]string {
	found := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		name, limit := spec.Name.Name, maxOptionFields
		switch {
		case dir == "arena/api" && (strings.HasSuffix(name, "Handlers") || name == "API"):
			limit = maxHandlerFields
		case strings.HasSuffix(name, "Options"), dir == "arena/api" && ast.IsExported(name) && !strings.HasSuffix(name, "View"):
		default:
			return true
		}
		fields := 0
		for _, field := range s.Fields.List {
			fields += max(1, len(field.Names))
		}
		if fields > limit {
			found[dir+"."+name] = fmt.Sprintf("has %d fields; at most %d", fields, limit)
		}
		return true
	})
	return found
}

func TestSizes_HandlersAndOptions(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for name, problem := range tooLarge(path.Dir(file), parse(t, file, parser.SkipObjectResolution)) {
			t.Errorf("%s: %s %s", file, name, problem)
		}
	}
}

// The rule finds what it must.
func TestSizes_RuleRefuses(t *testing.T) {
	t.Parallel()
	fields := func(n int) string { return strings.Repeat("_, ", n-1) + "_ int" }
	for _, c := range []struct {
		dir, name string
		fields    int
		refused   bool
	}{
		{"arena/api", "voteHandlers", maxHandlerFields, false},
		{"arena/api", "voteHandlers", maxHandlerFields + 1, true},
		{"arena/api", "API", maxHandlerFields + 1, true},
		{"arena/api", "Options", maxOptionFields, false},
		{"arena/api", "Services", maxOptionFields + 1, true},
		{"league", "ServiceOptions", maxOptionFields + 1, true},
		{"league", "voteHandlers", maxHandlerFields + 1, false},
	} {
		source := "package x\ntype " + c.name + " struct { " + fields(c.fields) + " }"
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(tooLarge(c.dir, f)) > 0; got != c.refused {
			t.Errorf("%s.%s with %d fields: refused %t", c.dir, c.name, c.fields, got)
		}
	}
}

// maxFiles is the most files of a package, not counting its tests.
const maxFiles = 25

// overfull returns the folders with more files of a package than may be.
func overfull(files []string) (found []string) {
	count := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if count[path.Dir(file)]++; count[path.Dir(file)] == maxFiles+1 {
			found = append(found, path.Dir(file))
		}
	}
	return found
}

func TestSizes_Packages(t *testing.T) {
	t.Parallel()
	for _, dir := range overfull(sources(t, ".go")) {
		t.Errorf("%s has more than %d files beside its tests", dir, maxFiles)
	}
	// The rule finds what it must.
	full := []string{"a/a_test.go"}
	for i := range maxFiles {
		full = append(full, fmt.Sprintf("a/%d.go", i))
	}
	if found := overfull(full); found != nil {
		t.Errorf("%v is overfull", found)
	}
	if found := overfull(append(full, "a/more.go")); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}

// maxExampleLines is the most lines of an example in a script language, so that
// it can be read at once.
const maxExampleLines = 40

func TestSizes_Examples(t *testing.T) {
	t.Parallel()
	found := 0
	for _, file := range sources(t, ".mjs", ".sh") {
		if !strings.HasPrefix(file, "examples/") {
			continue
		}
		found++
		text, err := os.ReadFile(filepath.Join(root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > maxExampleLines {
			t.Errorf("%s has %d lines; at most %d", file, n, maxExampleLines)
		}
	}
	if found < 2 {
		t.Errorf("found %d examples", found)
	}
}
