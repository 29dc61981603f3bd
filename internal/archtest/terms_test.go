package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// plainPackages are the packages whose code uses the field's terms only. The
// list grows until it holds every package.
func plainPackages() []string {
	return []string{
		"arena", "arena/account", "arena/api", "arena/card", "arena/certs", "arena/certs/certstest", "arena/judge", "arena/mail", "arena/mail/mailtest", "arena/match", "arena/match/engine", "arena/mcp", "arena/plaintext",
		"arena/quota", "arena/record", "arena/registry", "arena/rehearsal", "arena/script", "arena/script/internal/wire", "arena/script/worker",
		"arena/server", "arena/signin", "arena/signin/signintest", "arena/strictjson", "arena/token", "arena/visibility", "arena/visibility/mode", "arena/visibility/seal",
		"arena/visibility/visibilitytest", "cmd/arena", "cmd/arena-bench", "cmd/chaos", "e2e", "examples/agents", "examples/minimal", "health",
		"internal/apiclient", "internal/cli", "internal/join", "internal/testneed", "internal/userconfig", "league", "league/format", "league/game", "league/matching",
		"league/pack", "league/settings", "migrations", "protocol", "protocol/a2a", "protocol/aap", "protocol/aap/pull", "protocol/agentprotocol",
		"protocol/agora", "protocol/conformance", "protocol/envelope", "protocol/envelope/relay", "protocol/mailbox", "protocol/protocoltest",
		"protocol/task", "scoring", "scoring/sandbox", "scoring/sandbox/sandboxtest", "sdk", "sdk/go/arenaagent", "sdk/go/arenaagent/agentprotocol",
		"sdk/go/arenaagent/agenttest", "sdk/go/arenaagent/agora", "sdk/go/arenaagent/envelope", "sdk/pack", "store", "store/certificates", "store/fill", "store/internal/db",
		"store/internal/writer", "store/outbox", "store/people", "store/pgserver", "store/storetest", "stream", "stream/bus", "stream/bus/redistest", "stream/ingest", "stream/streamtest",
		"stream/ws", "web",
	}
}

// privateWords are words that an identifier or a comment must not use, with the
// terms to use instead.
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
		{"bell", "notifier"},
		{"speaker speakers speaks", "inbound handler, protocol"},
		{"island islands", "connected component"},
		{"rulebook", "docs/rules.md"},
		{"outsider outsiders", "OIDC issuer, identity"},
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

// unlikeGo matches doc comments that do not begin as Go's do.
var unlikeGo = regexp.MustCompile(`^\w+ (gives|tells|says|takes|knows|hears|asks) `)

// termFindings lists the private words of a file that a package declares or
// writes in comments. Names that it only uses belong to other packages.
func termFindings(f *ast.File) (found []string) {
	forbidden := privateWords()
	report := func(where, text string) {
		for _, word := range wordsOf(text) {
			if term, ok := forbidden[word]; ok {
				found = append(found, where+" uses "+word+": write "+term)
			}
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
		case *ast.GenDecl:
			if n.Doc != nil && unlikeGo.MatchString(n.Doc.Text()) {
				found = append(found, "the doc comment "+firstLine(n.Doc.Text())+" does not begin as Go's do")
			}
		case *ast.FuncDecl:
			if n.Doc != nil && unlikeGo.MatchString(n.Doc.Text()) {
				found = append(found, "the doc comment "+firstLine(n.Doc.Text())+" does not begin as Go's do")
			}
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
	checked := map[string]bool{}
	for _, file := range sources(t, ".go") {
		if strings.HasSuffix(file, "_test.go") || !slices.Contains(plainPackages(), path.Dir(file)) {
			continue
		}
		checked[path.Dir(file)] = true
		for _, finding := range termFindings(parse(t, file, parser.ParseComments|parser.SkipObjectResolution)) {
			t.Errorf("%s: %s", file, finding)
		}
	}
	for _, dir := range plainPackages() {
		if !checked[dir] {
			t.Errorf("%s has no files: has its name changed?", dir)
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
		{"// f gives the name.\nfunc f() {}", 1},
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
}
