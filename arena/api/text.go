package api

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/agora-arena/arena/arena"
)

// checkLine refuses one-line texts that show as something else than they are:
// control and bidirectional characters, line breaks, invisible ones, blank
// edges, nothing to be seen at all (threats E3, E4). Length is checked by the
// schema.
func checkLine(field, s string) error {
	if strings.TrimSpace(s) != s {
		return arena.Invalid(field, "must not begin or end with a space")
	}
	if err := checkRunes(field, s, ""); err != nil {
		return err
	}
	if s != "" && !strings.ContainsFunc(s, shows) {
		return arena.Invalid(field, "must hold a character that shows")
	}
	return nil
}

// shows tells whether a character alone leaves a mark on a page. The empty
// pattern of Braille does not, though it counts as a symbol.
func shows(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && r != '\u2800'
}

// checkText is checkLine for texts of several lines.
func checkText(field, s string) error { return checkRunes(field, s, "\n\t") }

func checkRunes(field, s, allowed string) error {
	for _, r := range s {
		switch {
		case strings.ContainsRune(allowed, r):
		case r == '\u200c' || r == '\u200d': // joiners: parts of letters and emoji
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs, unicode.Other_Default_Ignorable_Code_Point):
			return arena.Invalid(field, "must not contain the character %s", fmt.Sprintf("U+%04X", r))
		}
	}
	return nil
}

// ownerName makes a name that an outside issuer gives fit to be an owner's:
// without the characters that checkLine refuses, and cut.
func ownerName(s string) string {
	var name []rune
	for _, r := range strings.ToValidUTF8(s, "") {
		if checkRunes("name", string(r), "") == nil {
			name = append(name, r)
		}
	}
	fit := strings.TrimSpace(string(name[:min(len(name), maxOwnerName)]))
	if checkLine("name", fit) != nil {
		fit = ""
	}
	return cmp.Or(fit, "owner")
}
