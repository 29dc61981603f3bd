package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
)

// CheckLine rejects a one-line text that has control, bidirectional or
// invisible characters, line breaks, spaces at its edges, or no visible
// character at all. The empty text passes. Errors name the field.
func CheckLine(field, s string) error {
	if strings.TrimSpace(s) != s {
		return arena.Invalid(field, "must not begin or end with a space")
	}
	if err := checkRunes(field, s, ""); err != nil {
		return err
	}
	before := ' '
	for _, r := range s {
		if unicode.Is(unicode.Variation_Selector, r) && !varies(before) {
			return arena.Invalid(field, "must not contain the character %s", fmt.Sprintf("U+%04X", r))
		}
		before = r
	}
	if s != "" && !strings.ContainsFunc(s, visible) {
		return arena.Invalid(field, "must hold a character that shows")
	}
	return nil
}

// varies reports whether a variation selector behind a character shows: behind
// symbols, such as emoji, and in keycaps.
func varies(r rune) bool {
	return unicode.In(r, unicode.S) || r == '#' || r == '*' || r >= '0' && r <= '9'
}

// visible reports whether a character alone leaves a mark on a page. The empty
// Braille pattern does not, although it counts as a symbol.
func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && r != '\u2800'
}

// CheckText is CheckLine for texts of several lines.
func CheckText(field, s string) error { return checkRunes(field, s, "\n\t") }

func checkRunes(field, s, allowed string) error {
	for _, r := range s {
		switch {
		case strings.ContainsRune(allowed, r):
		case unprintable(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return arena.Invalid(field, "must not contain the character %s", fmt.Sprintf("U+%04X", r))
		}
	}
	return nil
}

// unprintable reports whether a character is a control, bidirectional or invisible one,
// or a line break.
func unprintable(r rune) bool {
	joins := r == '\u200c' || r == '\u200d' // parts of letters and emoji
	return !joins && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// CheckLength rejects a text of fewer than shortest or more than longest
// characters.
func CheckLength(field, s string, shortest, longest int) error {
	switch n := utf8.RuneCountInString(s); {
	case n < shortest:
		return arena.Invalid(field, "must have at least %d characters", shortest)
	case n > longest:
		return arena.Invalid(field, "must have at most %d characters", longest)
	}
	return nil
}

// Line returns s without the characters that CheckLine rejects and with at
// most longest characters. It is empty when nothing acceptable is left.
func Line(s string, longest int) string {
	var kept []rune
	for _, r := range strings.ToValidUTF8(s, "") {
		if checkRunes("", string(r), "") == nil {
			kept = append(kept, r)
		}
	}
	line := strings.TrimSpace(string(kept[:min(len(kept), longest)]))
	if CheckLine("", line) != nil {
		return ""
	}
	return line
}
