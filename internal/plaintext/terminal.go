package plaintext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
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
		case unprintable(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// TerminalJSON returns untrusted JSON, of the same value, that is safe to print on a
// terminal: it escapes the characters that Terminal removes.
func TerminalJSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for _, r := range string(data) { // invalid UTF-8 becomes U+FFFD
		if r < ' ' || !unprintable(r) { // JSON has control characters below the space between its values only
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
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
