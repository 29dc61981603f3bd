package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/settings"
)

var update = flag.Bool("update", false, "write testdata/openapi.json anew")

// The web client's types are made from this file, so that a change of the
// contract shows in a diff.
func TestAPI_openapi_golden(t *testing.T) {
	t.Parallel()
	a := newAPI(t, testOptions(t))
	var got bytes.Buffer
	if err := json.Indent(&got, a.docs.openapi, "", "  "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	golden := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the document changed; if it was meant to, run the test with -update (-want +got):\n%s", diff)
	}
}

func TestAPI_openapi_operations(t *testing.T) {
	t.Parallel()
	a := newAPI(t, testOptions(t))
	doc := a.huma.OpenAPI()
	for _, r := range routes() {
		op := operationAt(doc, r.method, r.path)
		if op == nil {
			t.Errorf("%s %s is not in the document", r.method, r.path)
			continue
		}
		if op.Summary == "" || len(op.Tags) != 1 || op.OperationID != r.id || op.Security == nil {
			t.Errorf("%s %s lacks summary, tag, operationId or security: %+v", r.method, r.path, op)
		}
		if needs := len(r.scope.admits()) > 0; needs != (len(op.Security) == 1 && op.Security[0]["bearer"] != nil) {
			t.Errorf("%s %s has scope %q and security %v", r.method, r.path, r.scope, op.Security)
		}
	}
}

// Generators of clients refuse a document whose paths and path parameters differ, that names no
// server, or that has keywords of its own.
func TestAPI_openapi_generators(t *testing.T) {
	t.Parallel()
	a := newAPI(t, testOptions(t))
	doc := a.huma.OpenAPI()
	name := regexp.MustCompile(`\{(\w+)\}`)
	for _, r := range routes() {
		var inPath, declared []string
		for _, m := range name.FindAllStringSubmatch(r.path, -1) {
			inPath = append(inPath, m[1])
		}
		op := operationAt(doc, r.method, r.path)
		if op.RequestBody != nil && len(op.RequestBody.Content) > 1 && op.RequestBody.Content[formType] != nil {
			t.Errorf("%s %s takes a form or something else", r.method, r.path)
		}
		for _, p := range op.Parameters {
			if p.In == "path" {
				declared = append(declared, p.Name)
			}
		}
		slices.Sort(inPath)
		slices.Sort(declared)
		if !slices.Equal(inPath, declared) {
			t.Errorf("%s %s declares the path parameters %q", r.method, r.path, declared)
		}
		if strings.HasSuffix(r.path, "/") {
			t.Errorf("%s %s ends in a slash", r.method, r.path)
		}
	}
	if len(doc.Servers) != 1 || doc.Servers[0].URL != "https://arena.example" {
		t.Errorf("servers: %+v", doc.Servers)
	}
	if bytes.Contains(a.docs.openapi, []byte("patternDescription")) {
		t.Error("patternDescription is not a keyword of JSON Schema")
	}
	var all any
	if err := json.Unmarshal(a.docs.openapi, &all); err != nil {
		t.Fatal(err)
	}
	var walk func(place string, v any)
	walk = func(place string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if _, typed := v["additionalProperties"].(map[string]any); typed && v["properties"] != nil {
				t.Errorf("%s: TypeScript cannot type further members beside named ones of another type", place)
			}
			for name, below := range v {
				walk(place+"/"+name, below)
			}
		case []any:
			for _, below := range v {
				walk(place, below)
			}
		}
	}
	walk("", all)
}

// The limits that the document names are those that leagues are held to.
func TestAPI_openapi_limits(t *testing.T) {
	t.Parallel()
	schemas := newAPI(t, testOptions(t)).huma.OpenAPI().Components.Schemas.Map()
	fits := func(field string, change func(*arena.Settings)) bool {
		s := settings.Defaults(arena.Settings{PackID: "pk_1", Rounds: 5, TimeLimit: 30 * time.Second, Judge: arena.JudgeSpec{Kind: arena.JudgeExact}})
		change(&s)
		return !slices.ContainsFunc(settings.Check(s, true), func(f arena.FieldError) bool { return f.Field == field || strings.HasPrefix(f.Field, field+"[") })
	}
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for field, set := range map[string]func(*arena.Settings, float64){
		"max_tokens":         func(s *arena.Settings, n float64) { s.MaxTokens = int(n) },
		"max_cost_usd":       func(s *arena.Settings, n float64) { s.MaxCostUSD = n },
		"rounds":             func(s *arena.Settings, n float64) { s.Rounds = int(n) },
		"max_rounds":         func(s *arena.Settings, n float64) { s.MaxRounds = int(n) },
		"canary":             func(s *arena.Settings, n float64) { s.Canary = int(n) },
		"time_limit_seconds": func(s *arena.Settings, n float64) { s.TimeLimit = seconds(n) },
		"break_seconds":      func(s *arena.Settings, n float64) { s.Break = seconds(n) },
	} {
		for _, name := range []string{"LeagueBody", "UpdateLeagueBody"} {
			most := schemas[name].Properties[field].Maximum
			if most == nil {
				t.Errorf("%s.%s has no maximum", name, field)
				continue
			}
			if !fits(field, func(s *arena.Settings) { set(s, *most) }) || fits(field, func(s *arena.Settings) { set(s, *most+1) }) {
				t.Errorf("%s.%s: the document has the limit %g, and leagues another", name, field, *most)
			}
		}
	}
	for _, name := range []string{"LeagueBody", "UpdateLeagueBody"} {
		rules := schemas[name].Properties["rules"]
		most, longest := *rules.MaxItems, *rules.Items.MaxLength
		for n, want := range map[int]bool{most: true, most + 1: false} {
			if fits("rules", func(s *arena.Settings) { s.Rules = slices.Repeat([]string{"r"}, n) }) != want {
				t.Errorf("%s.rules: %d rules fit: %t", name, n, !want)
			}
		}
		for n, want := range map[int]bool{longest: true, longest + 1: false} {
			if fits("rules", func(s *arena.Settings) { s.Rules = []string{strings.Repeat("r", n)} }) != want {
				t.Errorf("%s.rules: a rule of %d characters fits: %t", name, n, !want)
			}
		}
	}
}
