package judge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/judge"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
)

// scripts runs a script, or fails as the test sets it.
type scripts func(ctx context.Context, s arena.Script) ([]arena.CallResult, error)

func (run scripts) Run(ctx context.Context, s arena.Script) ([]arena.CallResult, error) {
	return run(ctx, s)
}

func coding(answers ...string) arena.Judging {
	j := judging(arena.JudgeSpec{Kind: arena.JudgeCode}, answers...)
	j.Task.Cases = []arena.Case{{Args: json.RawMessage(`[1, 2]`), Want: json.RawMessage(`3`)}}
	return j
}

// Each answer is judged on its own, also a lone one.
func TestJudges_Code(t *testing.T) {
	t.Parallel()
	runner, err := sandboxtest.New()
	if err != nil {
		t.Fatal(err)
	}
	judges := newJudges(t, &panel{}, func(o *judge.Options) { o.Scripts = runner })
	v, err := judges.Judge(t.Context(), coding(`const solve = (a, b) => a + b`, `const solve = (a, b) => a * b`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]arena.SeatVerdict{{AgentID: "a", Points: arena.OnePoint}, {AgentID: "b"}}, v.Seats); d != "" || v.Judge != "code" || v.Version != scoring.Version(arena.JudgeSpec{Kind: v.Judge}) {
		t.Errorf("%+v: %s", v, d)
	}
	if v, err = judges.Judge(t.Context(), coding(`const solve = () => 4`)); err != nil || v.Seats[0].Points != 0 {
		t.Errorf("a lone answer: %+v, %v", v, err)
	}
}

// Threat J1: an answer that exceeds the limits of its process gets no points and
// does not affect other answers. Any other failure costs no answer its points.
func TestJudges_Code_limit(t *testing.T) {
	t.Parallel()
	bomb := "bomb"
	var failure error
	judges := newJudges(t, &panel{}, func(o *judge.Options) {
		o.Scripts = scripts(func(_ context.Context, s arena.Script) ([]arena.CallResult, error) {
			if s.Source == bomb {
				return nil, failure
			}
			return []arena.CallResult{{Value: "3"}}, nil
		})
	})
	failure = fmt.Errorf("%w: memory", arena.ErrScriptLimit)
	v, err := judges.Judge(t.Context(), coding(bomb, "right"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]arena.SeatVerdict{{AgentID: "a", Reason: arena.ReasonJudgeLimit}, {AgentID: "b", Points: arena.OnePoint}}, v.Seats); d != "" {
		t.Error(d)
	}
	failure = errors.New("no worker can be started")
	if v, err = judges.Judge(t.Context(), coding(bomb, "right")); !errors.Is(err, failure) || len(v.Seats) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Answers wait in the queues of their owners' groups, and a rated match goes
// first. Judging old answers again costs their owners nothing. Threat J9.
func TestJudges_Code_owners(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*arena.Judging)
		want   arena.Script // its owner and whether it is rated
	}{
		"rated":     {func(j *arena.Judging) { j.Rated = true }, arena.Script{Owner: "ow_a", OwnerGroup: "ow_a", Rated: true}},
		"challenge": {func(*arena.Judging) {}, arena.Script{Owner: "ow_a", OwnerGroup: "ow_a"}},
		"a group":   {func(j *arena.Judging) { j.Rated, j.Answers[0].OwnerGroup = true, "ow_z" }, arena.Script{Owner: "ow_a", OwnerGroup: "ow_z", Rated: true}},
		"a rescore": {func(j *arena.Judging) { j.Rated, j.Rescore = true, true }, arena.Script{}},
	} {
		judges := newJudges(t, &panel{}, func(o *judge.Options) {
			o.Scripts = scripts(func(_ context.Context, s arena.Script) ([]arena.CallResult, error) {
				if got := (arena.Script{Owner: s.Owner, OwnerGroup: s.OwnerGroup, Rated: s.Rated}); cmp.Diff(tt.want, got) != "" {
					t.Errorf("%s: %s", name, cmp.Diff(tt.want, got))
				}
				return []arena.CallResult{{Value: "3"}}, nil
			})
		})
		j := coding("one")
		tt.change(&j)
		if _, err := judges.Judge(t.Context(), j); err != nil {
			t.Error(err)
		}
	}
}
