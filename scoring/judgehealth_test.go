package scoring_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

func ballot(judge, first, second, choice string) arena.Ballot {
	return arena.Ballot{Judge: judge, First: first, Second: second, Choice: choice}
}

// byName makes an answer as long as its agent's name.
func byName(_ string, _ int, agentID string) (int, bool) { return len(agentID), agentID != "unknown" }

func TestJudgeHealth(t *testing.T) {
	t.Parallel()
	verdict := func(version string, ballots ...arena.Ballot) arena.Verdict {
		return arena.Verdict{MatchID: "m_1", Version: version, Ballots: ballots}
	}
	panel := arena.JudgeSpec{Kind: arena.JudgePanel}
	for name, tt := range map[string]struct {
		spec     arena.JudgeSpec
		verdicts []arena.Verdict
		want     arena.JudgeHealth
	}{
		"none":   {panel, nil, arena.JudgeHealth{Versions: []string{"panel-2"}}},
		"pure":   {arena.JudgeSpec{Kind: arena.JudgeExact}, nil, arena.JudgeHealth{Versions: []string{"exact-2"}}},
		"no one": {arena.JudgeSpec{Kind: "?"}, nil, arena.JudgeHealth{Versions: []string{}}},
		"always the first": {panel, []arena.Verdict{verdict("panel-2", ballot("j", "a", "bb", "a"), ballot("j", "bb", "a", "bb"))}, arena.JudgeHealth{
			Versions: []string{"panel-2"}, Verdicts: 1, Ballots: 2, FlipRate: new(1.0), FirstRate: new(1.0), LongerRate: new(0.5),
		}},
		"two judges of one mind": {panel, []arena.Verdict{verdict("panel-2",
			ballot("j", "a", "bb", "bb"), ballot("j", "bb", "a", "bb"), ballot("k", "bb", "a", "bb"), ballot("k", "a", "bb", "bb"))}, arena.JudgeHealth{
			Versions: []string{"panel-2"}, Verdicts: 1, Ballots: 4, FlipRate: new(0.0), FirstRate: new(0.5), LongerRate: new(1.0), Agreement: new(1.0),
		}},
		"a flip is a tie, and disagrees": {panel, []arena.Verdict{verdict("panel-2",
			ballot("j", "a", "bb", "a"), ballot("j", "bb", "a", ""), ballot("k", "bb", "a", "a"), ballot("k", "a", "bb", "a"))}, arena.JudgeHealth{
			Versions: []string{"panel-2"}, Verdicts: 1, Ballots: 4, FlipRate: new(0.5), FirstRate: new(2.0 / 3), LongerRate: new(0.0), Agreement: new(0.0),
		}},
		"versions, newest first; ties; equal and unknown lengths": {panel, []arena.Verdict{
			verdict("model-2/x", ballot("x", "a", "b", "a")), verdict("panel-2", ballot("j", "a", "bb", "")), verdict("model-2/x", ballot("x", "a", "unknown", "a")),
		}, arena.JudgeHealth{Versions: []string{"model-2/x", "panel-2"}, Verdicts: 3, Ballots: 3, FirstRate: new(1.0)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, scoring.JudgeHealth(tt.spec, tt.verdicts, byName)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Rates are shares, and the order of ballots does not matter.
func TestJudgeHealth_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		agents := []string{"a", "bb", "ccc"}
		var ballots []arena.Ballot
		for judge := range rapid.IntRange(1, 3).Draw(t, "judges") {
			for i, b := range agents {
				for _, a := range agents[:i] {
					for _, pair := range [][2]string{{a, b}, {b, a}} {
						choice := rapid.SampledFrom([]string{a, b, ""}).Draw(t, "choice")
						ballots = append(ballots, ballot(fmt.Sprint(judge), pair[0], pair[1], choice))
					}
				}
			}
		}
		spec := arena.JudgeSpec{Kind: arena.JudgePanel}
		h := scoring.JudgeHealth(spec, []arena.Verdict{{Ballots: ballots}}, byName)
		for _, rate := range []*float64{h.FlipRate, h.FirstRate, h.LongerRate, h.Agreement} {
			if rate != nil && !(*rate >= 0 && *rate <= 1) {
				t.Fatalf("%+v", h)
			}
		}
		mixed := rapid.Permutation(slices.Clone(ballots)).Draw(t, "order")
		if d := cmp.Diff(h, scoring.JudgeHealth(spec, []arena.Verdict{{Ballots: mixed}}, byName)); d != "" {
			t.Fatal(d)
		}
	})
}
