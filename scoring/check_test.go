package scoring_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func fieldsOf(wrong []arena.FieldError) []string {
	var fields []string
	for _, f := range wrong {
		fields = append(fields, f.Field)
	}
	return fields
}

func kinds() []string {
	return []string{
		arena.JudgeExact, arena.JudgeChoice, arena.JudgeNumber, arena.JudgeRegex, arena.JudgeSet, arena.JudgeJSON, arena.JudgeCode,
		arena.JudgePanel, arena.JudgeCrowd, arena.JudgeModel,
	}
}

// good are settings of a kind that can be used.
func good(kind string) arena.JudgeSpec {
	spec := arena.JudgeSpec{Kind: kind}
	if spec.Compares() {
		spec.Criteria = "the better argument"
	}
	switch kind {
	case arena.JudgePanel:
		spec.Agents = []string{"agent_a", "agent_b"}
	case arena.JudgeCrowd:
		spec.Window = time.Minute
	}
	return spec
}

func TestCheckJudge(t *testing.T) {
	t.Parallel()
	with := func(kind string, change func(*arena.JudgeSpec)) arena.JudgeSpec {
		spec := good(kind)
		change(&spec)
		return spec
	}
	tolerance := func(v float64) func(*arena.JudgeSpec) { return func(s *arena.JudgeSpec) { s.Tolerance = v } }
	agents := func(ids ...string) func(*arena.JudgeSpec) { return func(s *arena.JudgeSpec) { s.Agents = ids } }
	criteria := func(v string) func(*arena.JudgeSpec) { return func(s *arena.JudgeSpec) { s.Criteria = v } }
	window := func(v time.Duration) func(*arena.JudgeSpec) { return func(s *arena.JudgeSpec) { s.Window = v } }
	votes := func(v int) func(*arena.JudgeSpec) { return func(s *arena.JudgeSpec) { s.MinVotes = v } }
	tests := []struct {
		spec arena.JudgeSpec
		want []string // fields
	}{
		{with("number", tolerance(0.5)), nil},
		{with("number", tolerance(1e9)), nil},
		{with("json", tolerance(0.5)), nil},
		{with("code", tolerance(0.5)), nil},
		{with("number", tolerance(1.1e9)), []string{"judge.tolerance"}},
		{with("number", tolerance(-1)), []string{"judge.tolerance"}},
		{with("json", tolerance(math.NaN())), []string{"judge.tolerance"}},
		{with("exact", func(s *arena.JudgeSpec) { s.Match = "loose" }), []string{"judge.match"}},
		{with("panel", agents()), []string{"judge.agents"}},
		{with("panel", agents("a", "b", "a")), []string{"judge.agents"}},
		{with("panel", agents("a", "")), []string{"judge.agents"}},
		{with("panel", agents(strings.Split("abcdefghi", "")...)), nil},
		{with("panel", agents(strings.Split("abcdefghij", "")...)), []string{"judge.agents"}},
		{with("model", criteria(" \n")), []string{"judge.criteria"}},
		{with("model", criteria(strings.Repeat("é", 2_000))), nil},
		{with("model", criteria(strings.Repeat("é", 2_001))), []string{"judge.criteria"}},
		{with("model", criteria("\xff")), []string{"judge.criteria"}},
		{with("crowd", window(0)), []string{"judge.window_seconds"}},
		{with("crowd", window(5*time.Second)), nil},
		{with("crowd", window(5*time.Second-1)), []string{"judge.window_seconds"}},
		{with("crowd", window(10*time.Minute)), nil},
		{with("crowd", window(10*time.Minute+1)), []string{"judge.window_seconds"}},
		{with("crowd", votes(1_000)), nil},
		{with("crowd", votes(1_001)), []string{"judge.min_votes"}},
		{with("crowd", votes(-1)), []string{"judge.min_votes"}},
		{arena.JudgeSpec{Kind: "crowd"}, []string{"judge.criteria", "judge.window_seconds"}},
		{arena.JudgeSpec{}, []string{"judge.kind"}},
		{arena.JudgeSpec{Kind: "coin", Tolerance: 1}, []string{"judge.kind"}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%.80v", tt.spec), func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, fieldsOf(scoring.CheckJudge(tt.spec))); d != "" {
				t.Error(d)
			}
		})
	}
}

// Every member belongs to the kinds named here, and is refused elsewhere.
func TestCheckJudge_Members(t *testing.T) {
	t.Parallel()
	for _, member := range []struct {
		field string
		kinds []string
		set   func(*arena.JudgeSpec)
	}{
		{"judge.tolerance", []string{"number", "json", "code"}, func(s *arena.JudgeSpec) { s.Tolerance = 1 }},
		{"judge.partial", []string{"set", "code"}, func(s *arena.JudgeSpec) { s.Partial = true }},
		{"judge.match", []string{"exact", "choice", "set"}, func(s *arena.JudgeSpec) { s.Match = arena.MatchStrict }},
		{"judge.agents", []string{"panel"}, func(s *arena.JudgeSpec) { s.Agents = []string{"a"} }},
		{"judge.criteria", []string{"panel", "crowd", "model"}, func(s *arena.JudgeSpec) { s.Criteria = "x" }},
		{"judge.window_seconds", []string{"crowd"}, func(s *arena.JudgeSpec) { s.Window = time.Minute }},
		{"judge.min_votes", []string{"crowd"}, func(s *arena.JudgeSpec) { s.MinVotes = 1 }},
	} {
		for _, kind := range kinds() {
			spec := good(kind)
			if wrong := scoring.CheckJudge(spec); wrong != nil {
				t.Fatalf("%s: %v", kind, wrong)
			}
			member.set(&spec)
			var want []string
			if !slices.Contains(member.kinds, kind) {
				want = []string{member.field}
			}
			if d := cmp.Diff(want, fieldsOf(scoring.CheckJudge(spec))); d != "" {
				t.Errorf("%s of %s: %s", member.field, kind, d)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		if v := scoring.Version(arena.JudgeSpec{Kind: kind}); !strings.HasPrefix(v, kind+"-") {
			t.Errorf("%s has the version %q", kind, v)
		}
	}
	if v := scoring.Version(arena.JudgeSpec{Kind: "coin"}); v != "" {
		t.Errorf("no judge has the version %q", v)
	}
}

func TestJudge_AskingGivesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{arena.JudgePanel, arena.JudgeCrowd, arena.JudgeModel, "coin", ""} {
		if p := scoring.Judge(good(kind), arena.Task{Answers: []string{"x"}}, "x"); p != 0 {
			t.Errorf("%s gave %d", kind, p)
		}
	}
}

func TestCheckTask(t *testing.T) {
	t.Parallel()
	many := make([]string, 501)
	for i := range many {
		many[i] = fmt.Sprint("member ", i)
	}
	large := `"` + strings.Repeat("x", 8<<10) + `"`
	tests := []struct {
		name string
		kind string
		task arena.Task
		want []string // fields
	}{
		{"option is accepted", "choice", arena.Task{Options: []string{"x", "y"}, Answers: []string{"Y"}}, nil},
		{"no option is accepted", "choice", arena.Task{Options: []string{"x", "y"}, Answers: []string{"z"}}, []string{"answer"}},
		{"no options", "choice", arena.Task{Answers: []string{"z"}}, nil},
		{"no answers", "choice", arena.Task{}, []string{"answer"}},
		{"a number", "number", arena.Task{Answers: []string{"?", "1,000"}}, nil},
		{"no number", "number", arena.Task{Answers: []string{"many"}}, []string{"answer"}},
		{"empty", "exact", arena.Task{Answers: []string{" \u200b"}}, []string{"answer"}},
		{"pattern", "regex", arena.Task{Answers: []string{`(?i)a+`}}, nil},
		{"no pattern", "regex", arena.Task{}, []string{"answer"}},
		{"look-ahead", "regex", arena.Task{Answers: []string{`(?=a)`}}, []string{"answer"}},
		{"second is no pattern", "regex", arena.Task{Answers: []string{`a`, `a)|(b`}}, []string{"answers[1]"}},
		{"large pattern", "regex", arena.Task{Answers: []string{`(a{1,100}){1,10}b{500}`}}, []string{"answer"}},
		{"set", "set", arena.Task{Answers: []string{"a, b"}}, nil},
		{"empty set", "set", arena.Task{Answers: []string{", ;"}}, []string{"answer"}},
		{"large set", "set", arena.Task{Answers: many}, []string{"answer"}},
		{"JSON", "json", arena.Task{Answers: []string{`{"a": 1}`}}, nil},
		{"no JSON", "json", arena.Task{Answers: []string{`{a: 1}`}}, []string{"answer"}},
		{"twice", "json", arena.Task{Answers: []string{`{"a":1,"a":1}`}}, []string{"answer"}},
		{"code", "code", arena.Task{Cases: cases(`[1]`, `1`)}, nil},
		{"code without cases", "code", arena.Task{Answers: []string{"x"}}, []string{"cases"}},
		{"too many cases", "code", arena.Task{Cases: make([]arena.Case, 51)}, []string{"cases"}},
		{"bad cases", "code", arena.Task{Cases: cases(`[1]`, `1`, `1`, `1`, `[]`, ``, `null`, `1`)}, []string{"cases[1].args", "cases[2].want", "cases[3].args"}},
		{"large case", "code", arena.Task{Cases: cases(`[]`, large)}, []string{"cases[0]"}},
		{"asking", "crowd", arena.Task{}, nil},
		{"unknown", "coin", arena.Task{Answers: []string{"x"}}, []string{"judge.kind"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := arena.JudgeSpec{Kind: tt.kind}
			if d := cmp.Diff(tt.want, fieldsOf(scoring.CheckTask(spec, tt.task))); d != "" {
				t.Error(d)
			}
			if got := scoring.Accepts(spec, tt.task); got != (tt.want == nil) {
				t.Errorf("accepts = %v", got)
			}
		})
	}
}
