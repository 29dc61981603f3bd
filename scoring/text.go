package scoring

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/agora-arena/arena/arena"
)

// anyText reports whether the answer is one of the accepted ones.
func anyText(accepted []string, answer string) bool {
	given := newText(answer)
	return slices.ContainsFunc(accepted, func(a string) bool { return given.same(newText(a)) })
}

// text is an answer in the two forms that are compared.
type text struct {
	close string // normalized, case and space folded: distinguishes "C" from "C.", "-" from "+"
	loose string // and without punctuation; "" if there was only punctuation
}

func newText(s string) text {
	s = norm.NFKC.String(s)
	s = norm.NFKC.String(foldCase(s)) // folding may leave a sequence that composes again
	return text{close: strings.Join(strings.Fields(s), " "), loose: dropPunctuation(s)}
}

// same reports whether two texts are equivalent. It ignores one leading article
// of either: "The A Team" is "A Team", but "La La Land" is not "Land".
func (t text) same(other text) bool {
	switch {
	case t.close == other.close:
		return t.close != ""
	case t.loose == "" || other.loose == "":
		return false
	case t.loose == other.loose:
		return true
	}
	a, b := dropArticle(t.loose), dropArticle(other.loose)
	return a == b || a == other.loose || t.loose == b
}

// foldCase maps every letter to one of its case forms and drops invisible
// characters (format and control characters that are not space).
func foldCase(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.In(r, unicode.Cf, unicode.Cc):
		case r == 'ß' || r == 'ẞ':
			b.WriteString("ss")
		default:
			b.WriteRune(foldRune(r))
		}
	}
	return b.String()
}

// foldRune returns the lower-case letter of r's case orbit: σ for Σ, σ and ς.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToLower(r)
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}

// dropPunctuation removes punctuation from a case-folded text. It removes
// apostrophes and full stops ("U.S.A." is "usa") and replaces other marks by
// spaces. It keeps marks that change the meaning: symbols ("C++", "$5"), # % & @,
// a minus in front of a number, and . : / between digits.
func dropPunctuation(s string) string {
	runes := []rune(s)
	at := func(i int) rune {
		if i < 0 || i >= len(runes) {
			return ' '
		}
		return runes[i]
	}
	var b strings.Builder
	b.Grow(len(s))
	for i, r := range runes {
		before, after := at(i-1), at(i+1)
		switch {
		case strings.ContainsRune("#%&@", r):
			b.WriteRune(r)
		case strings.ContainsRune(".:/", r) && unicode.IsDigit(before) && unicode.IsDigit(after):
			b.WriteRune(r)
		case isMinus(r) && unicode.IsSpace(before) && unicode.IsDigit(after):
			b.WriteByte('-')
		case r == '.' && before != '.' && after != '.', isApostrophe(r):
		case unicode.IsPunct(r), unicode.Is(unicode.Sk, r), isMinus(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func isMinus(r rune) bool { return r == '-' || r == '−' }

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == '‘' || r == 'ʼ' }

// dropArticle removes one leading English or Spanish article; an article
// that is the whole text stays.
func dropArticle(s string) string {
	first, rest, more := strings.Cut(s, " ")
	if !more {
		return s
	}
	switch first {
	case "a", "an", "the", "el", "la", "los", "las", "un", "una":
		return rest
	}
	return s
}

// chosen reports whether the answer names a right option. It tries these
// interpretations in order: the text of one option, an accepted answer, an
// option's letter alone, a letter with the text of an option (the text wins). An
// answer that fits two different options names neither.
func chosen(task arena.Task, answer string) bool {
	options := make([]text, len(task.Options))
	for i, o := range task.Options {
		options[i] = newText(o)
	}
	right := func(option int) bool { return anyText(task.Answers, task.Options[option]) }

	option, found := find(options, newText(answer))
	switch {
	case found == 1:
		return right(option)
	case found > 1:
		return false
	case anyText(task.Answers, answer):
		return true
	}
	letter, rest := cutLetter(answer)
	if letter < 0 || letter >= len(options) {
		return false
	}
	if rest == "" {
		return right(letter)
	}
	option, found = find(options, newText(rest))
	return found == 1 && right(option)
}

// find returns the option that a text names and the number of different options
// that fit it. An equal close form takes precedence over an equal loose form.
func find(options []text, given text) (option, found int) {
	option = slices.IndexFunc(options, func(o text) bool { return o.close == given.close && o.close != "" })
	if option >= 0 {
		return option, 1
	}
	for i, o := range options {
		if given.same(o) && (found == 0 || options[option].close != o.close) {
			option = i
			found++
		}
	}
	return option, found
}

// cutLetter splits "B", "b.", "(B)", "B:", "Option B" and "B) text" into an
// option's index and the text behind it. The index is -1 for any other answer.
func cutLetter(answer string) (option int, rest string) {
	s := strings.TrimSpace(norm.NFKC.String(answer))
	const word = "option "
	if len(s) > len(word) && strings.EqualFold(s[:len(word)], word) {
		s = strings.TrimSpace(s[len(word):])
	}
	s, bracket := strings.CutPrefix(s, "(")
	if s == "" {
		return -1, ""
	}
	letter := s[0] | 0x20 // lower case
	if letter < 'a' || letter > 'z' {
		return -1, ""
	}
	option, s = int(letter-'a'), s[1:]
	if bracket {
		var closed bool
		if s, closed = strings.CutPrefix(s, ")"); !closed {
			return -1, ""
		}
		s = strings.TrimLeft(s, ".:")
		return option, strings.TrimSpace(s)
	}
	if s == "" {
		return option, ""
	}
	if !strings.ContainsRune(").:", rune(s[0])) {
		return -1, ""
	}
	return option, strings.TrimSpace(s[1:])
}
