package server

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// A league before a judge that the arena does not have is refused.
func TestServer_CheckSettings(t *testing.T) {
	t.Parallel()
	s := arena.Settings{Judge: arena.JudgeSpec{Kind: arena.JudgeModel, Criteria: "x"}}
	named := func(cfg Config) bool {
		for _, wrong := range (&Server{cfg: cfg}).checkSettings(s) {
			if wrong.Field == "judge.kind" && strings.Contains(wrong.Message, "ARENA_JUDGE_URL") {
				return true
			}
		}
		return false
	}
	if !named(load(t)) || named(load(t, "ARENA_JUDGE_URL=https://llm.example/v1", "ARENA_JUDGE_MODEL=m")) {
		t.Error("a language model is checked wrongly")
	}
}
