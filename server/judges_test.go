package server

import (
	"net/url"
	"testing"
)

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
