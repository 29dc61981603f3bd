package plaintext_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/internal/plaintext"
)

// alike reports whether two names may not stand beside each other.
func alike(x, y string) bool {
	keys := plaintext.NameKeys(y)
	return slices.ContainsFunc(plaintext.NameKeys(x), func(key string) bool { return slices.Contains(keys, key) })
}

// Names that look alike share a key, others do not. Threat T5.
func TestNameKeys(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Ada", "ADA"},
		{"Ada", "Аda"},              // Cyrillic A
		{"scope", "ѕсоре"},          // Cyrillic but for nothing
		{"Paypal", "PaypaI"},        // capital I
		{"Paypal", "Paypa1"},        // one
		{"bot", "b0t"},              // zero
		{"bot", "ВОТ"},              // Cyrillic capitals, whose small ones look different
		{"Ada", "Ａｄａ"},              // full width
		{"Ada", "𝔸𝕕𝕒"},              // mathematical
		{"Ada Bot", "Ada  Bot"},     // two spaces
		{"Ada Bot", "Ada\u00a0Bot"}, // no-break space
		{"Ada", "A\u200dda"},        // joiner
		{"é", "e\u0301"},            // composed and not
		{"modern", "modem"},
		{"a-b", "a–b"},
		{"STRASSE", "straße"},
		{"ΑΒΓ", "αβγ"},
		{"Kim", "\u212aim"}, // Kelvin
		{"Isaac", "lsaac"},
		{"ISAAC", "isaac"},
		{"Champion", "ϹHAMPION"},    // lunate sigma
		{"Champion", "CHAMΡION"},    // Greek rho
		{"BOB", "вов"},              // alike in capitals
		{"Ada", "A\u200ada"},        // hair space
		{"Ada", "Ada\ufe0f"},        // variation selector
		{"Ada", "Ada\u180b"},        // Mongolian variation selector
		{"Ada", "A\U000e0100da"},    // ideographic variation selector
		{"Ada Bot", "Ada\u3000Bot"}, // ideographic space
		{"Ada Bot", "AdaBot"},
	} {
		if !alike(pair[0], pair[1]) {
			t.Errorf("%q and %q are not alike: %q, %q", pair[0], pair[1], plaintext.NameKeys(pair[0]), plaintext.NameKeys(pair[1]))
		}
	}
	for _, pair := range [][2]string{
		{"Ada", "Adam"}, {"mail", "mall"}, {"agent 1", "agent 2"}, {"e", "é"}, {"猫", "犬"}, {"a-b", "a_b"}, {"agent-10", "agent-01"}, {"日本", "日木"},
	} {
		if alike(pair[0], pair[1]) {
			t.Errorf("%q and %q are alike: %q, %q", pair[0], pair[1], plaintext.NameKeys(pair[0]), plaintext.NameKeys(pair[1]))
		}
	}
}

// A name is alike to itself, whatever the order in which the table is read.
func TestNameKeys_stable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		if !slices.Equal(plaintext.NameKeys(name), plaintext.NameKeys(name)) || !alike(name, name) {
			t.Errorf("%q: %q", name, plaintext.NameKeys(name))
		}
	})
}
