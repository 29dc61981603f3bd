package main

import (
	"testing"

	"github.com/agora-arena/agora-go/arenaagent"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"What is (12 + 7) × 3?":             "57",
		"What is (12 + 7) * 5 - 36 / 4?":    "86",
		"What is the capital of Australia?": "Sydney",
		"How long was the war of 1812?":     "Sydney", // a number alone is no answer
	} {
		got, err := answer(t.Context(), &arenaagent.Task{Description: description, Options: []string{"Sydney", "Canberra"}}, nil)
		if err != nil || got.Value != want {
			t.Errorf("%s: %q, %v; want %q", description, got.Value, err, want)
		}
	}
	if got, err := answer(t.Context(), &arenaagent.Task{Description: "Why?"}, nil); err != nil || got.Value == "" {
		t.Errorf("an open question: %q, %v", got.Value, err)
	}
}
