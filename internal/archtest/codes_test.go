package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
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

// So is a kind of note.
func TestNoteCodes_everywhere(t *testing.T) {
	t.Parallel()
	want := names(arena.NoteCodes())
	if d := enumOf(t, "League", "note_code"); !slices.Equal(d, want) {
		t.Errorf("the API description has the codes %v, arena.NoteCodes() are %v", d, want)
	}
	checkDictionaries(t, "note.", want)
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
	text, err := os.ReadFile(filepath.Join(root(t), "api/testdata/openapi.json"))
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
		text, err := os.ReadFile(language)
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
			t.Errorf("%s has texts for the codes %v of %s, the domain has %v", filepath.Base(language), got, prefix, want)
		}
	}
}

// parsedReason finds code of a page that takes the text of a reason apart. Texts
// are for people; pages translate by codes.
var parsedReason = regexp.MustCompile(`\b(?:note|void_reason|voidReason)\b[?!]?\s*(?:[=!]==? *['"\x60]|\.(?:match|matchAll|replace|replaceAll|search|split|startsWith|endsWith|includes|indexOf|slice)\()` +
	`|\.(?:exec|test)\([^)]*\b(?:note|void_reason|voidReason)\b`)

func TestReasons_notParsed(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t, ".ts", ".svelte") {
		if !strings.HasPrefix(file, "web/src/") || strings.HasSuffix(file, ".test.ts") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root(t), file))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if parsedReason.MatchString(line) {
				t.Errorf("%s:%d takes a reason apart: use its code", file, n+1)
			}
		}
	}
}

// The rule finds what it must.
func TestReasons_notParsed_RuleRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"const why = tx(`void.${match.voidReason.replaceAll(/\\W+/g, '_')}`, match.voidReason)": true,
		"const found = pattern.exec(note);":                                                     true,
		"if (/^needs/.test(league.note ?? '')) return;":                                         true,
		"if (m.void_reason === 'the game failed') return;":                                      true,
		"{#if league.note?.startsWith('round')}":                                                true,
		"voidText(tx, match.voidReason, match.voidCode)":                                        false,
		"{#if league.note}{noteText(tx, league)}{/if}":                                          false,
		"if (league.note_code === 'needs_agents') return;":                                      false,
		"return known && { ...known, void_reason: e.reason };":                                  false,
		"pattern.test(name) && form.note":                                                       false,
	} {
		if got := parsedReason.MatchString(line); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
