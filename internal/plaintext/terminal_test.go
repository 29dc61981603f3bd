package plaintext_test

import (
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/internal/plaintext"
)

// Threat E4.
func TestTerminal_anything(t *testing.T) {
	t.Parallel()
	alphabet := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x1b[]0;\a\\mPX^_\u009b\u009d\u202e\u200b\n\r\t\u2028 a")))
	rapid.Check(t, func(t *rapid.T) {
		got := plaintext.Terminal(string(rapid.SliceOf(alphabet).Draw(t, "text")))
		for _, r := range got {
			if r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%q is left in %q", r, got)
			}
		}
		if plaintext.Terminal(got) != got {
			t.Fatalf("%q is not plain yet", got)
		}
	})
	for in, want := range map[string]string{
		"plain": "plain", "\x1b[1;31mred\x1b[0m": "red", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link", "a\r\n\tb": "a b",
		"👩‍🚀 ok": "👩‍🚀 ok", "caf\u00e9": "café", "bad\xff": "bad\ufffd",
	} {
		if got := plaintext.Terminal(in); got != want {
			t.Errorf("plaintext.Terminal(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "four": "four", "fives": "fiv…", "ééééé": "ééé…"} {
		if got := plaintext.Shorten(text, 4); got != want {
			t.Errorf("Shorten(%q) = %q, want %q", text, got, want)
		}
	}
}
