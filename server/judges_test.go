package server

import (
	"net/url"
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

func TestCompletions(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com/v1": "https://api.openai.com/v1/chat/completions", "http://127.0.0.1:11434/v1/": "http://127.0.0.1:11434/v1/chat/completions",
		"https://example.org/v1/chat/completions":  "https://example.org/v1/chat/completions",
		"https://example.org/openai?api-version=1": "https://example.org/openai/chat/completions?api-version=1",
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := completions(u); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}
