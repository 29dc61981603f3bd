package plaintext

import (
	"regexp"
	"strings"
	"unicode"
)

// terminalSequence matches escape sequences: CSI and OSC with their parameters
// and text, and the short ones.
var terminalSequence = regexp.MustCompile(
	"(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?" + // CSI
		"|(?:\x1b[\\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)?" + // OSC, DCS, SOS, PM, APC
		"|\x1b[ -/]*[0-~]?")

// Terminal returns untrusted text as one line that is safe to print on a terminal
// (threats E3, E4): it removes escape sequences, control, invisible and
// bidirectional characters and line breaks.
func Terminal(s string) string {
	s = terminalSequence.ReplaceAllString(strings.ToValidUTF8(s, "\ufffd"), "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200d' || r == '\u200c': // joiners: parts of letters and emoji
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// Shorten returns at most n characters of a text, the last one an ellipsis if some
// are cut off.
func Shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
