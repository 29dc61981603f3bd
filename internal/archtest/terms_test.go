package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// privateWords are words that the code must not use, with the terms to use
// instead.
func privateWords() map[string]string {
	words := map[string]string{}
	for _, row := range []struct{ private, term string }{
		{"house room rooms", "codebase, package"},
		{"stranger strangers siege", "untrusted endpoint or client, fault injection"},
		{"volley gun shoot shoots shot shots", "batch, dispatch, TrySend"},
		{"tell tells told untold", "publish, return, report"},
		{"hear hears heard hush", "Flush, receive, stop"},
		{"laid", "judge input"},
		{"rests resting", "cooldown"},
		{"slept doubt doubted excuse excused", "stalled, suspect, revertInterruption"},
		{"crew", "pool"},
		{"bell bells rung poke", "notifier, notified, signal"},
		{"lane lanes", "queue, shard, slot"},
		{"news", "changes"},
		{"speakers speaks", "inbound handler, protocol"}, // a debate has a speaker
		{"island islands", "connected component"},
		{"rulebook", "docs/rules.md"},
		{"outsider outsiders", "OIDC issuer, identity"},
		{"dodge dodges dodged dodging dodger dodgers", "no-show"},
		{"melo", "MilliElo"},
		{"hall reel", "live list, recording, background"},
		{"handout farewell", "task, time limit"},
	} {
		for word := range strings.FieldsSeq(row.private) {
			words[word] = row.term
		}
	}
	return words
}

// wordsOf splits an identifier or a text into words in lower case.
func wordsOf(text string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(last) || !unicode.IsLetter(r) {
			b.WriteByte(' ')
		}
		if unicode.IsLetter(r) {
			b.WriteRune(unicode.ToLower(r))
		}
		last = r
	}
	return strings.Fields(b.String())
}

// privateIn lists the private words of a name or a text, which where describes.
func privateIn(forbidden map[string]string, where, text string) (found []string) {
	for _, word := range wordsOf(text) {
		if term, ok := forbidden[word]; ok {
			found = append(found, where+" uses "+word+": write "+term)
		}
	}
	return found
}

// unlikeGo matches doc comments whose first sentence does not read as Go's do.
var unlikeGo = regexp.MustCompile(`^\w+ (gives|tells|says|takes|knows|hears|asks)\s|^\w+ [^.:;]*\band\s(gives|tells|hears)\s`)

// reportsText reports whether a call logs its texts or makes an error of them.
func reportsText(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch name := strings.TrimSuffix(sel.Sel.Name, "Context"); name {
	case "Debug", "Info", "Warn", "Error", "Errorf", "Fatal", "Fatalf":
		return true
	case "New":
		pkg, ok := sel.X.(*ast.Ident)
		return ok && pkg.Name == "errors"
	}
	return false
}

// termFindings lists the private words of a file that a package declares, or
// writes in comments, log messages and errors. Names that it only uses belong to
// other packages.
func termFindings(f *ast.File) (found []string) {
	forbidden := privateWords()
	report := func(where, text string) { found = append(found, privateIn(forbidden, where, text)...) }
	document := func(doc *ast.CommentGroup) {
		if doc != nil && unlikeGo.MatchString(doc.Text()) {
			found = append(found, "the doc comment "+firstLine(doc.Text())+" does not read as Go's do")
		}
	}
	used := map[*ast.Ident]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			used[n.Sel] = true
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok {
				used[key] = true
			}
		case *ast.Ident:
			if !used[n] {
				report("the name "+n.Name, n.Name)
			}
		case *ast.CallExpr:
			if !reportsText(n) {
				break
			}
			for _, arg := range n.Args {
				if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
					report("the text "+text.Value, text.Value)
				}
			}
		case *ast.GenDecl:
			document(n.Doc)
		case *ast.FuncDecl:
			document(n.Doc)
		case *ast.TypeSpec:
			document(n.Doc)
		case *ast.ValueSpec:
			document(n.Doc)
		case *ast.Field:
			document(n.Doc)
		}
		return true
	})
	for _, group := range f.Comments {
		text := group.Text()
		report("the comment "+firstLine(text), text)
	}
	return found
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return `"` + line + `"`
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".go") {
		found := termFindings(parse(t, file, parser.ParseComments|parser.SkipObjectResolution))
		for _, finding := range append(found, privateIn(privateWords(), "the path", file)...) {
			t.Errorf("%s: %s", file, finding)
		}
	}
}

// nameInAPI matches the API's name for the no-show record, which stays.
var nameInAPI = regexp.MustCompile(`\.dodges\b|\['dodges'\]`)

// privateInPages lists the private words of a file of the web client: its code,
// its comments and its texts. The other words of privateWords are ordinary
// English on a page.
func privateInPages(source string) (found []string) {
	terms, forbidden := privateWords(), map[string]string{}
	for word := range strings.FieldsSeq("hall reel dodge dodges dodged dodging stranger strangers siege volley crew island islands melo") {
		forbidden[word] = terms[word]
	}
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		found = append(found, privateIn(forbidden, "the line "+line, nameInAPI.ReplaceAllString(line, ""))...)
	}
	return found
}

func TestTerms_Pages(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".ts", ".svelte", ".css", ".mjs") {
		if !under(file, "web/*") || path.Base(file) == "schema.d.ts" { // generated from the API
			continue
		}
		source, err := os.ReadFile(filepath.Join(root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range append(privateInPages(string(source)), privateInPages(file)...) {
			t.Errorf("%s: %s", file, finding)
		}
	}
	for source, want := range map[string]int{
		"import Dodges from './Dodges.svelte';":  2,
		"const reel = new LiveHall();":           2,
		".quiet-hall {":                          1,
		"web/src/lib/hall.svelte.ts":             1,
		"<NoShows noShows={a.dodges} />":         0,
		"type NoShows = Agent['dodges'];":        0,
		"// Nobody shall challenge the hallway.": 0,
	} {
		if found := privateInPages(source); len(found) != want {
			t.Errorf("%s: found %q, want %d", source, found, want)
		}
	}
}

// The rule finds what it must.
func TestTerms_RuleRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		want   int
	}{
		{"type volleyOf struct{}", 1},
		{"func tellLater() {}", 1},
		{"func f() { startGun := 1; _ = startGun }", 2},
		{"// f publishes to strangers.\nfunc f() {}", 1},
		{"type NoShow struct{}\nfunc dodges() []NoShow { return nil }", 1},
		{"func lanesOf() {}", 1},
		{"func f() { log.Warn(`the bell is silent`) }", 1},
		{"func f() error { return errors.New(`the house is full`) }", 1},
		{"func f() error { return fmt.Errorf(`no room: %w`, err) }", 1},
		{"func TestNews(t *testing.T) {}", 1},
		{"// f gives the name.\nfunc f() {}", 1},
		{"// f gives\n// the name.\nfunc f() {}", 1},
		{"// f reads the row and gives\n// its name.\nfunc f() {}", 1},
		{"type t struct {\n// F says when.\nF int\n}", 1},
		{"type t interface {\n// F knows when.\nF()\n}", 1},
		{"var (\n// v tells when.\nv = 1\n)", 2},
		{"// f reads the row. It gives up after a minute.\nfunc f() {}", 0},
		{"func f() { log.Warn(`a bedroom`); Print(`the house`) }", 0},
		{"// A speaker of a debate.\ntype speaker struct{}", 0},
		{"func f(s store) { s.Tell() }", 0},
		{"var v = options{Volley: 1}", 0},
		{"// f returns the snapshot of a bedroom.\nfunc f() {}", 0},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+c.source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := termFindings(f); len(got) != c.want {
			t.Errorf("%s: found %q, want %d", c.source, got, c.want)
		}
	}
	if found := privateIn(privateWords(), "the path", "arena/dodges.go"); len(found) != 1 {
		t.Errorf("a path: found %q", found)
	}
}
