package arena_test

import (
	"testing"

	"github.com/agora-arena/arena/arena"
)

// The order in which answers are laid before the crowd tells nothing of the
// seats they come from: over many rounds each seat comes first about as often,
// and a round that is asked twice has one order. Threat F1.
func TestJudging_Blind(t *testing.T) {
	t.Parallel()
	j := arena.Judging{Seed: 7, Answers: []arena.JudgedAnswer{{AgentID: "ag_1", Text: "one"}, {AgentID: "ag_2", Text: "two"}}}
	first := map[string]int{}
	const rounds = 200
	for j.Round = range rounds {
		blind, again := j.Blind(), j.Blind()
		if len(blind) != 2 || blind[0].Label != "A" || blind[1].Label != "B" || blind[0] != again[0] || blind[0].Text == blind[1].Text {
			t.Fatalf("round %d: %+v, %+v", j.Round, blind, again)
		}
		first[blind[0].Text]++
	}
	if first["one"] < rounds/4 || first["two"] < rounds/4 {
		t.Errorf("who comes first: %v", first)
	}
}
