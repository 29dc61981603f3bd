package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every code of the catalog has a text in every language of the pages and is in the
// API description; one that is gone is gone there too.
func TestCatalog_codes(t *testing.T) {
	t.Parallel()
	var catalog struct {
		Formats      []struct{ Format string }
		PauseReasons []struct{ Reason string } `json:"pause_reasons"`
		VoidCodes    []string                  `json:"void_codes"`
		NoteCodes    []string                  `json:"note_codes"`
	}
	readJSON(t, "web/src/lib/api/catalog.json", &catalog)
	var formats, pauses []string
	for _, f := range catalog.Formats {
		formats = append(formats, f.Format)
	}
	for _, p := range catalog.PauseReasons {
		pauses = append(pauses, p.Reason)
	}
	for _, codes := range []struct {
		prefix           string // of the keys in a dictionary
		schema, property string // with the codes as an enumeration; "": none
		want             []string
	}{
		{"format.", "", "", formats},
		{"pause.", "Pause", "reason", pauses},
		{"void.", "Match", "void_code", catalog.VoidCodes},
		{"note.", "League", "note_code", catalog.NoteCodes},
	} {
		slices.Sort(codes.want)
		if codes.schema != "" {
			if got := enumOf(t, codes.schema, codes.property); !slices.Equal(got, codes.want) {
				t.Errorf("the API description has the %s %v, the catalog has %v", codes.property, got, codes.want)
			}
		}
		for _, language := range languages(t) {
			if got := keysOf(t, language, codes.prefix); !slices.Equal(got, codes.want) {
				t.Errorf("%s has texts for the codes %v of %s, the catalog has %v", language, got, codes.prefix, codes.want)
			}
		}
	}
}

// languages returns the files of the first dictionary of each language: "en.ts".
func languages(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "web/src/lib/i18n/??.ts"))
	if err != nil || len(files) < 2 {
		t.Fatalf("got the dictionaries %v, %v", files, err)
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	return files
}

// keysOf returns what follows a prefix in the keys of a dictionary, sorted, without
// keys that have another dot.
func keysOf(t *testing.T, dictionary, prefix string) (keys []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "web/src/lib/i18n", dictionary))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		key, found := strings.CutPrefix(strings.TrimSpace(line), "'"+prefix)
		if key, _, _ = strings.Cut(key, "'"); found && !strings.Contains(key, ".") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// enumOf returns the values of a property in the API description, sorted.
func enumOf(t *testing.T, schema, property string) []string {
	t.Helper()
	var api struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []any }
			}
		}
	}
	readJSON(t, "api/testdata/openapi.json", &api)
	var enum []string
	for _, value := range api.Components.Schemas[schema].Properties[property].Enum {
		text, _ := value.(string)
		enum = append(enum, text)
	}
	slices.Sort(enum)
	return enum
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
