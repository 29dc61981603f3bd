package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// A new pause reason is in the API description and has a text in every
// language of the pages; one that is gone is gone there too.
func TestPauseReasons_everywhere(t *testing.T) {
	t.Parallel()
	var want []string
	for _, reason := range arena.PauseReasons() {
		want = append(want, string(reason))
	}
	slices.Sort(want)

	text, err := os.ReadFile(filepath.Join(root(t), "api/testdata/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Components struct {
			Schemas struct {
				Pause struct {
					Properties struct {
						Reason struct{ Enum []string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	enum := api.Components.Schemas.Pause.Properties.Reason.Enum
	if slices.Sort(enum); !slices.Equal(enum, want) {
		t.Errorf("the API description has the pause reasons %v, arena.PauseReasons() are %v", enum, want)
	}

	dictionaries, err := filepath.Glob(filepath.Join(root(t), "web/src/lib/i18n/??.ts"))
	if err != nil || len(dictionaries) < 2 {
		t.Fatalf("got the dictionaries %v, %v", dictionaries, err)
	}
	for _, name := range dictionaries {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(text)) {
			key, found := strings.CutPrefix(strings.TrimSpace(line), "'pause.")
			if key, _, _ = strings.Cut(key, "'"); found && !strings.Contains(key, ".") {
				got = append(got, key)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has texts for the pause reasons %v, arena.PauseReasons() are %v", filepath.Base(name), got, want)
		}
	}
}
