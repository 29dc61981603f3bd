package arena_test

import (
	"math"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// The order of the answers in the ballot does not depend on
// their seats: over many rounds each seat comes first about as often,
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

// A reply exceeds its limit by what the agent declares or by the bytes of its
// answer; the reasoning does not count.
func TestAnswerBody_OverTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		bytes  int
		tokens *int64
		limit  int
		want   bool
	}{
		{"within", 8, nil, 1, false},
		{"declared at the limit", 1, new(int64(5)), 5, false},
		{"declared above it", 1, new(int64(6)), 5, true},
		{"long", 41, nil, 5, true},
		{"long, and few declared", 41, new(int64(1)), 5, true},
		{"no limit", 1 << 16, new(int64(math.MaxInt64)), 0, false},
	} {
		b := arena.AnswerBody{Answer: strings.Repeat("é", tt.bytes/2) + strings.Repeat("x", tt.bytes%2), Reasoning: strings.Repeat("r", 100), Tokens: tt.tokens}
		if got := b.OverTokens(tt.limit); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	s := arena.Settings{MaxTokens: 7}
	if s.TokenLimit(arena.Task{}) != 7 || s.TokenLimit(arena.Task{MaxTokens: 9}) != 9 {
		t.Error("the limit of a task replaces that of the settings")
	}
}
