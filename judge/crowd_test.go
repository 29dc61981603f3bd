package judge_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func crowd(least int) arena.JudgeSpec {
	return arena.JudgeSpec{Kind: arena.JudgeCrowd, Window: time.Minute, MinVotes: least}
}

func votes(pairs ...string) (all []arena.Vote) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, arena.Vote{Choice: pairs[i], Other: pairs[i+1]})
	}
	return all
}

func TestJudges_Crowd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		texts []string
		votes []arena.Vote
		least int
		want  given // nil: no verdict
		cast  []int // votes behind each ballot
	}{
		"one vote":            {[]string{"x", "y"}, votes("b", "a"), 0, given{"a": 0, "b": 1000}, []int{1}},
		"majority":            {[]string{"x", "y"}, votes("b", "a", "a", "b", "a", "b"), 3, given{"a": 1000, "b": 0}, []int{3}},
		"equal":               {[]string{"x", "y"}, votes("b", "a", "a", "b"), 1, given{"a": 500, "b": 500}, []int{2}},
		"ties count":          {[]string{"x", "y"}, votes("", "a b", "", "a b", "a", "b"), 3, given{"a": 1000, "b": 0}, []int{3}},
		"nobody":              {[]string{"x", "y"}, nil, 0, nil, nil},
		"too few":             {[]string{"x", "y"}, votes("b", "a"), 2, nil, nil},
		"three, one pair":     {[]string{"x", "y", "z"}, votes("c", "a"), 1, given{"a": 250, "b": 500, "c": 750}, []int{1}},
		"three, all pairs":    {[]string{"x", "y", "z"}, votes("c", "a", "c", "b", "", "a b"), 1, given{"a": 250, "b": 250, "c": 1000}, []int{1, 1, 1}},
		"of somebody else":    {[]string{"x", "y"}, votes("q", "a", "b", "a"), 1, given{"a": 0, "b": 1000}, []int{1}},
		"a tie of a stranger": {[]string{"x", "y"}, votes("", "a q", "b", "a"), 1, given{"a": 0, "b": 1000}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				j := judging(crowd(tt.least), tt.texts...)
				start := time.Now()
				j.Until = start.Add(j.Spec.Window)
				v, err := newJudges(t, &panel{votes: tt.votes}).Judge(t.Context(), j)
				if waited := time.Since(start); waited != time.Minute {
					t.Errorf("the vote was open for %v", waited)
				}
				if tt.want == nil {
					if err == nil {
						t.Errorf("verdict %+v", v)
					}
					return
				}
				if d := cmp.Diff(tt.want, points(v)); err != nil || d != "" {
					t.Fatalf("%v: %s", err, d)
				}
				var cast []int
				order := map[string]int{}
				for i, e := range j.Blind() {
					order[e.AgentID] = i
				}
				for _, b := range v.Ballots {
					cast = append(cast, b.Votes)
					if b.Judge != "crowd" || order[b.First] > order[b.Second] {
						t.Errorf("ballot %+v is not in the order that was shown", b)
					}
				}
				if d := cmp.Diff(tt.cast, cast); d != "" || v.Version != scoring.Version(j.Spec) {
					t.Errorf("%+v: %s", v, d)
				}
			})
		})
	}
}

// A node that stops does not wait for the end of the vote; one that takes over
// after the end counts at once.
func TestJudges_Crowd_ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := judging(crowd(1), "x", "y")
		j.Until = time.Now().Add(time.Hour)
		ctx, stop := context.WithCancelCause(t.Context())
		gone := errors.New("the lease is lost")
		time.AfterFunc(time.Second, func() { stop(gone) })
		start := time.Now()
		if _, err := newJudges(t, &panel{votes: votes("a", "b")}).Judge(ctx, j); !errors.Is(err, gone) || time.Since(start) != time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
		j.Until, start = time.Now().Add(-time.Second), time.Now()
		if v, err := newJudges(t, &panel{votes: votes("a", "b")}).Judge(t.Context(), j); err != nil || points(v)["a"] != 1000 || time.Since(start) != 0 {
			t.Errorf("%+v, %v after %v", v, err, time.Since(start))
		}
		if _, err := newJudges(t, &panel{votes: votes("a", "b"), away: errors.New("away")}).Judge(t.Context(), j); err == nil {
			t.Error("without storage there was a verdict")
		}
	})
}
