package plaintext_test

import (
	"bytes"
	"encoding/json"
	"strings"
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

// Threat E4: none of the characters that a terminal acts on or that reorder a line.
func TestTerminal_removes(t *testing.T) {
	t.Parallel()
	var all []rune
	for r := range ' ' {
		if r != '\x1b' { // it takes what follows with it
			all = append(all, r)
		}
	}
	for r := rune(0x7f); r < 0xa0; r++ {
		if !strings.ContainsRune("\u0090\u0098\u009b\u009d\u009e\u009f", r) {
			all = append(all, r)
		}
	}
	all = append(all, []rune("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")...)
	for _, r := range all {
		if got := plaintext.Terminal("a" + string(r) + "b"); got != "ab" && (got != "a b" || !unicode.IsSpace(r)) {
			t.Errorf("%U: %q", r, got)
		}
	}
	for _, begins := range []string{"\x1b[1m", "\u009b1m", "\x1b]0;t\a", "\u009d0;t\u009c", "\u0090t\u009c", "\u0098t\u009c", "\u009et\u009c", "\u009ft\u009c"} {
		if got := plaintext.Terminal("a" + begins + "b"); got != "ab" {
			t.Errorf("%q: %q", begins, got)
		}
	}
}

// The value of the JSON stays, and nothing in it is left for the terminal. Threat E4.
func TestTerminalJSON(t *testing.T) {
	t.Parallel()
	alphabet := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x7f\u0085\u009b\u061c\u200e\u202e\u2066\u2069\U000e0041\U0010fffd\"\\ a")))
	rapid.Check(t, func(t *rapid.T) {
		value := string(rapid.SliceOf(alphabet).Draw(t, "text"))
		var in bytes.Buffer
		enc := json.NewEncoder(&in)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "\t")
		if err := enc.Encode(map[string]string{value: value}); err != nil {
			t.Fatal(err)
		}
		got := plaintext.TerminalJSON(in.Bytes())
		for _, r := range string(got) {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%q is left in %q", r, got)
			}
		}
		var back map[string]string
		if err := json.Unmarshal(got, &back); err != nil || back[value] != value {
			t.Fatalf("%q became %q: %v", in.Bytes(), got, err)
		}
	})
	if got := string(plaintext.TerminalJSON([]byte("[\"\x9b1m\u009b👩\u200d🚀\"]\n"))); got != "[\"\ufffd1m\\u009b👩\u200d🚀\"]\n" {
		t.Errorf("%q", got)
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
