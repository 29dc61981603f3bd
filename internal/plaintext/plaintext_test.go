package plaintext_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/plaintext"
)

func TestCheckLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":    "",
		"Ann": "",
		"\U0001f469\u200d\U0001f680 \u2764\ufe0f": "", // joined emoji
		"1\ufe0f\u20e3": "", // keycap
		"Ada\ufe0f":     "U+FE0F",
		"Ada\u180b":     "U+180B",
		" Ann":          "space",
		"a\nb":          "U+000A",
		"a\u200bb":      "U+200B",
		"evil\u202egnp": "U+202E",
		"\u3164\u115f":  "U+3164",
		"\u200d":        "shows",
		"\u2800":        "shows",
	} {
		err := plaintext.CheckLine("name", text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckLine(%q) = %v, want %q", text, err, want)
		}
	}
}

func TestCheckText(t *testing.T) {
	t.Parallel()
	if err := plaintext.CheckText("description", "one\n\ttwo"); err != nil {
		t.Error(err)
	}
	if err := plaintext.CheckText("description", "a\x1b[31m"); err == nil || !strings.Contains(err.Error(), "U+001B") {
		t.Errorf("an escape sequence passes: %v", err)
	}
}

func TestCheckLength(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{0: false, 1: true, 40: true, 41: false} {
		if err := plaintext.CheckLength("name", strings.Repeat("é", n), 1, 40); (err == nil) != ok {
			t.Errorf("%d characters: %v", n, err)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" Kim\u202e\n of": "Kim of",
		"ééééééééé":       "éééééééé",
		"\u2800":          "",
		"\xff":            "",
	} {
		if got := plaintext.Line(text, 8); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}
