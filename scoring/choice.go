package scoring

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/agora-arena/agora-go/modeltext"
	"github.com/agora-arena/arena/arena"
)

// chosen reports whether the answer names a right option, or is an accepted
// answer and fits no option.
func chosen(task arena.Task, answer string, strict bool) bool {
	all := newOptions(task.Options)
	switch option, found := all.named(answer, strict); found {
	case 0:
		return anyText(task.Answers, answer, strict)
	case 1:
		return slices.ContainsFunc(task.Answers, func(a string) bool {
			right, found := all.withText(a, strict)
			return found == 1 && right == option
		})
	}
	return false
}

// options are the options of a task in the forms that are compared.
type options []text

func newOptions(all []string) options {
	texts := make(options, len(all))
	for i, o := range all {
		texts[i] = newText(o)
	}
	return texts
}

// withText returns the option with this text and how many options fit it equally
// well. It compares the texts ever more loosely, unless strict, until one fits.
func (o options) withText(s string, strict bool) (option, found int) {
	given := newText(s)
	if given.close == "" {
		return 0, 0
	}
	for _, fits := range []func(text) bool{
		func(t text) bool { return t.written == given.written },
		func(t text) bool { return t.close == given.close },
		given.same,
		func(t text) bool { return withoutAccents(t.loose) == withoutAccents(given.loose) },
		func(t text) bool {
			want, ok := parseNumber(t.written)
			if !ok {
				return false
			}
			number, ok := parseNumber(s)
			return ok && want.Cmp(number) == 0
		},
	} {
		for i, t := range o {
			if fits(t) && (found == 0 || t.written != o[option].written) {
				option = i
				found++
			}
		}
		if found > 0 || strict {
			break
		}
	}
	return option, found
}

// withoutAccents returns a text without the marks of its letters.
func withoutAccents(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(s))
}

// named returns the option that an answer names: by its text, by its letter, or by
// its letter with its text or a comment behind it. The text wins over the letter.
// found is the number of options that the answer could mean; only 1 names one.
func (o options) named(answer string, strict bool) (option, found int) {
	all := readings(answer, strict)
	last := strings.TrimSpace(strings.Map(halfWidth, all[len(all)-1]))
	if stated := statement.FindString(last); stated != "" && !strict {
		last = modeltext.Unwrap(last[len(stated):])
		all = append(all, last)
	}
	if item, listed := strings.CutPrefix(last, "- "); listed && !strict {
		all = append(all, item) // a line of a list of options
	}
	for _, reading := range all {
		if option, found := o.withText(reading, strict); found > 0 {
			return option, found
		}
	}
	letter, rest, separated := cutLetter(last)
	switch {
	case letter < 0 || letter >= len(o):
		return 0, 0
	case rest == "":
		return letter, 1
	case strict:
		return 0, 0
	}
	// What looks like a separator may belong to the text: "A - $5", "B) -$5".
	option, found = o.withText(rest, strict)
	if inner := strings.TrimLeft(rest, ".:,;)!-–—−"); inner != rest {
		other, alsoFound := o.withText(inner, strict)
		if alsoFound > 0 && (found == 0 || option != letter && other == letter) {
			option, found = other, alsoFound
		}
		rest, separated = strings.TrimSpace(inner), true
	}
	switch {
	case found > 0:
		return option, found
	case rest == "", separated && o.isComment(letter, rest):
		return letter, 1
	}
	return 0, 0
}

// halfWidth maps the full-width forms of ASCII to ASCII.
func halfWidth(r rune) rune {
	if r >= '！' && r <= '～' {
		return r - '！' + '!'
	}
	return r
}

// statement matches what may stand before the letter of an option.
var statement = regexp.MustCompile(`(?i)^(?:i\s*(?:would|will|['’]d|['’]ll)?\s*(?:pick|choose|select|say|go\s+(?:with|for)|answer)|it(?:\s+is|['’]s)|that(?:\s+is|['’]s))\s+`)

var (
	// doubt matches words that take an answer back or leave it open.
	doubt = regexp.MustCompile(`(?i)\b(?:wait|actually|correction|instead|scratch|mistaken|sorry|unsure|not\s+sure|maybe|perhaps|either|second\s+thought|hmm)\b`)
	// another matches the letter of a second option right behind the first.
	another = regexp.MustCompile(`(?i)^(?:(?:,|/|&|\+|;|or|and|nor|vs\.?|o|u|y|e)\s*\(?[a-z]\)?(?:[\s.,;:)]|$)|\(?[a-z]\)?\s*(?:[.,;:)/&]|(?:or|and)\b|$))`)
)

// isComment reports whether the text behind the letter of an option is a comment
// that names no other option.
func (o options) isComment(letter int, rest string) bool {
	if doubt.MatchString(rest) || another.MatchString(rest) || len(strings.Fields(rest)) < 2 { // "A. Einstein" may be a name
		return false
	}
	words := " " + withoutDecoration(closeForm(rest)) + " "
	for i, t := range o {
		if i != letter && t.loose != "" && strings.Contains(words, " "+t.loose+" ") {
			return false
		}
	}
	return true
}

// letterOption matches the letter of an option and what encloses it: "B", "b.",
// "(B)", "[B]", "B:", "**B**", "Option B".
var letterOption = regexp.MustCompile(`(?i)^(?:(?:option|choice|answer|letter)\s*:?\s*)?[*_"` + "`" + `]*(?:\(([a-z])\)|\[([a-z])\]|([a-z])([).:,\]])?)[*_"` + "`" + `]*`)

// cutLetter splits an answer into the index of the option whose letter it begins
// with and the text behind the letter, and reports whether more than a space
// separates them. The index is -1 for any other answer.
func cutLetter(answer string) (option int, rest string, separated bool) {
	m := letterOption.FindStringSubmatch(answer)
	if m == nil {
		return -1, "", false
	}
	letter := m[1] + m[2] + m[3]
	option = int(letter[0] | 0x20 - 'a')
	rest = answer[len(m[0]):]
	next, _ := utf8.DecodeRuneInString(rest)
	separated = m[3] == "" || m[4] != "" || next == '\n'
	if rest != "" && !unicode.IsSpace(next) && !strings.ContainsRune("–—!", next) && !(separated && !unicode.IsDigit(next)) {
		return -1, "", false // "AB", "A+", "A.5"
	}
	return option, strings.TrimSpace(rest), separated
}
