package judge

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agora-arena/agora-go/modeltext"
	"github.com/agora-arena/arena/arena"
)

const (
	maxQuoted = 4 << 10 // bytes of an answer, or of each speech in it, that a judge reads
	maxReason = 2 << 10 // bytes of a reason that are kept
)

// document is what a judge compares. Answers are JSON strings, so that their text
// cannot pass for ours; encoding/json also escapes < and >, with which some models
// mark the author. The names are part of the version.
func document(j arena.Judging, first, second arena.JudgedAnswer) (string, error) {
	limit := maxQuoted
	if j.Turns > 1 { // the debate has cut each speech; marks and gaps stand between them
		limit = j.Turns * (maxQuoted + 16)
	}
	raw, err := json.Marshal(struct {
		Criteria string `json:"criteria"`
		Task     string `json:"task"`
		A        string `json:"A"`
		B        string `json:"B"`
	}{j.Spec.Criteria, j.Task.Description, cut(first.Text, limit), cut(second.Text, limit)})
	return string(raw), err
}

// cut shortens a text to at most limit bytes and appends a mark.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + " […]"
}

// plain is a judge's reason as anyone may read it: one line without control,
// bidirectional and other invisible characters, at most maxReason bytes.
func plain(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "") {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case r == '\u200c' || r == '\u200d': // joiners: parts of letters and emoji
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs):
			continue
		}
		if b.Len()+utf8.RuneLen(r) > maxReason {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// readChoice reads A, B or tie, in any case, with what models write around the
// letter of an option: "(a)", "**B**.", "Option A", "The answer is B." Anything else
// is no choice.
func readChoice(s string) (choice, bool) {
	const marks = " \t\r\n\"'`*()[].:!"
	s, _ = modeltext.Answer(s)
	s = strings.ToLower(strings.Trim(s, marks))
	for _, word := range []string{"option ", "answer "} {
		s = strings.Trim(strings.TrimPrefix(s, word), marks)
	}
	switch s {
	case "a":
		return firstIsBetter, true
	case "b":
		return secondIsBetter, true
	case "tie":
		return tie, true
	}
	return tie, false
}
