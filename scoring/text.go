package scoring

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/agora-arena/agora-go/modeltext"
)

// text is an answer in the forms that are compared, from the strictest to the
// loosest. docs/rules/judging.md states the relation in words.
type text struct {
	written string // composed, single spaces
	close   string // and with one form for width, case, dashes and invisible characters
	loose   string // and without punctuation that is decoration
}

func newText(s string) text {
	t := text{written: strings.Join(strings.Fields(norm.NFC.String(s)), " ")}
	t.close = closeForm(s)
	t.loose = withoutDecoration(t.close)
	return t
}

// same reports whether two texts are equivalent. It ignores one leading article
// of either: "The A Team" is "A Team", but "La La Land" is not "Land".
func (t text) same(other text) bool {
	if t.close == "" || other.close == "" {
		return false
	}
	if t.loose == other.loose {
		return true
	}
	a, b := dropArticle(t.loose), dropArticle(other.loose)
	return a == b || a == other.loose || t.loose == b
}

// anyText reports whether the answer is an accepted one, in one of the readings of
// either. A strict comparison is one of the texts as they are written.
func anyText(accepted []string, answer string, strict bool) bool {
	var given []text
	for _, reading := range readings(answer, strict) {
		given = append(given, newText(reading))
	}
	for _, a := range accepted {
		for _, reading := range readings(a, strict) {
			want := newText(reading)
			if slices.ContainsFunc(given, func(g text) bool {
				if strict {
					return g.written != "" && g.written == want.written
				}
				return g.same(want)
			}) {
				return true
			}
		}
	}
	return false
}

// readings returns an answer as it is and, unless strict, without what models
// write around their answers.
func readings(answer string, strict bool) []string {
	if strict {
		return []string{answer}
	}
	if r := read(answer); r != answer {
		return []string{answer, r}
	}
	return []string{answer}
}

// read returns an answer without what models write around their answers.
func read(answer string) string {
	if marked, ok := modeltext.Answer(answer); ok {
		return marked
	}
	return modeltext.Unwrap(modeltext.Clean(answer))
}

// closeForm returns a text in compatibility composition, in one case, with one
// kind of dash, quotation mark and apostrophe, single spaces and no invisible
// characters. Raised digits keep their meaning: 10² is 10^2, and 1½ is 1 1/2.
func closeForm(s string) string {
	s = norm.NFKC.String(spellOut(norm.NFC.String(s)))
	s = norm.NFKC.String(foldCase(s)) // folding may leave a sequence that composes again
	return strings.Join(strings.Fields(s), " ")
}

const (
	raised  = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ"
	lowered = "₀₁₂₃₄₅₆₇₈₉₊₋"
)

// spellOut writes raised characters as ^…, lowered ones between digits as _…, and
// fractions with the slash, because compatibility composition would let them run
// into their neighbors. It drops the braces of a simple exponent or index: x^{2}.
func spellOut(s string) string {
	runes := []rune(s)
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		before, after := runeAt(runes, i-1), runeAt(runes, i+1)
		switch {
		case strings.ContainsRune(raised, r):
			if !strings.ContainsRune(raised, before) {
				b.WriteByte('^')
			}
			b.WriteRune(r)
		case strings.ContainsRune(lowered, r):
			if unicode.IsDigit(before) || !strings.ContainsRune(lowered, before) && nextAfter(runes, i, lowered) {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		case unicode.Is(unicode.No, r) && strings.ContainsRune(norm.NFKC.String(string(r)), '⁄'):
			if unicode.IsDigit(before) {
				b.WriteByte(' ')
			}
			b.WriteString(strings.ReplaceAll(norm.NFKC.String(string(r)), "⁄", "/"))
		case r == '⁄':
			b.WriteByte('/')
		case (r == '^' || r == '_') && after == '{':
			b.WriteRune(r)
			if end := simpleGroup(runes[i+2:]); end > 0 {
				b.WriteString(string(runes[i+2 : i+2+end]))
				i += end + 2
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// nextAfter reports whether a digit follows the run of characters of a set that
// begins at i.
func nextAfter(runes []rune, i int, set string) bool {
	for i < len(runes) && strings.ContainsRune(set, runes[i]) {
		i++
	}
	return unicode.IsDigit(runeAt(runes, i))
}

// simpleGroup returns the length of a sign and digits, or of one letter, in front
// of a closing brace with no letter or digit behind it, or 0.
func simpleGroup(runes []rune) int {
	n := 0
	for n < len(runes) && runes[n] != '}' {
		n++
	}
	if n == len(runes) || n == 0 || isWordRune(runeAt(runes, n+1)) {
		return 0
	}
	digits := runes[:n]
	if isDash(digits[0]) || digits[0] == '+' {
		digits = digits[1:]
	}
	if n == 1 && unicode.IsLetter(runes[0]) || len(digits) > 0 && !slices.ContainsFunc(digits, func(r rune) bool { return !unicode.IsDigit(r) }) {
		return n
	}
	return 0
}

// foldCase maps every letter to one of its case forms, every dash to the hyphen
// and every quotation mark and apostrophe to one of its kind, and drops invisible
// characters (format and control characters that are not space, variation
// selectors).
func foldCase(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.In(r, unicode.Cf, unicode.Cc, unicode.Variation_Selector):
		case r == 'ß' || r == 'ẞ':
			b.WriteString("ss")
		case isDash(r):
			b.WriteByte('-')
		case strings.ContainsRune("’‘ʼ‛′", r):
			b.WriteByte('\'')
		case strings.ContainsRune("“”„‟«»″", r):
			b.WriteByte('"')
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

func isDash(r rune) bool { return r == '−' || unicode.Is(unicode.Pd, r) }

func isLetter(r rune) bool { return unicode.In(r, unicode.L, unicode.M) }

func isWordRune(r rune) bool { return isLetter(r) || unicode.IsDigit(r) }

func runeAt(runes []rune, i int) rune {
	if i < 0 || i >= len(runes) {
		return ' '
	}
	return runes[i]
}

// sentenceMarks are decoration at the end of a word.
const sentenceMarks = ".。…,、،;:!?؟।"

// withoutDecoration removes the punctuation of a close form that is decoration. In
// prose that is what surrounds and structures words. Elsewhere, as in "n!", "f'",
// "a-b" and ".5", every mark counts but one at the very end. In both, the commas
// of a number in groups of three, the full stops of initials, and the spaces
// beside marks that count do not matter.
func withoutDecoration(s string) string {
	runes := []rune(s)
	prose := isProse(runes)
	out := make([]rune, 0, len(runes))
	for i, r := range runes {
		before, after := runeAt(runes, i-1), runeAt(runes, i+1)
		switch {
		case r == ',' && isGroupComma(runes, i), r == '.' && isInitial(runes, i):
		case prose && (r == '"' || r == '\'') && (isLetter(before) || isLetter(after)):
		case strings.ContainsRune(sentenceMarks, r) && endsWord(runes, i, prose),
			prose && (r == '…' || r == '.' && (before == '.' || after == '.')), // wait...what
			prose && (r == '¿' || r == '¡'),
			prose && r == '-' && isLetter(before) && isLetter(after): // Spider-Man
			out = append(out, ' ')
		default:
			out = append(out, r)
		}
	}
	return tighten(out)
}

// isProse reports whether a text has a word of two letters or more, and neither
// brackets nor operators.
func isProse(runes []rune) bool {
	word := false
	for i, r := range runes {
		if unicode.Is(unicode.Sm, r) || strings.ContainsRune(`*/^_\()[]{}`, r) {
			return false
		}
		word = word || isLetter(r) && isLetter(runeAt(runes, i+1))
	}
	return word
}

// endsWord reports whether the sentence mark at i ends a word: a letter or a digit
// stands before it, and nothing but other marks up to the next space. In a text
// that is not prose only the end of the text counts, and "!" never does.
func endsWord(runes []rune, i int, prose bool) bool {
	first, last := i, i
	for strings.ContainsRune(sentenceMarks+`"'`, runeAt(runes, first-1)) {
		first--
	}
	for strings.ContainsRune(sentenceMarks+`"'`, runeAt(runes, last+1)) {
		last++
	}
	before := runeAt(runes, first-1)
	if runes[i] == '!' && (!prose || !isLetter(before)) || runeAt(runes, last+1) != ' ' {
		return false
	}
	if prose {
		return isWordRune(before) || strings.ContainsRune("%°", before)
	}
	return before != ' ' && first == last && last == len(runes)-1
}

// isGroupComma reports whether the comma at i separates the digits of a number
// into groups of three. Inside brackets and in lists it separates numbers.
func isGroupComma(runes []rune, i int) bool {
	isPart := func(r rune) bool { return r >= '0' && r <= '9' || r == ',' || r == '.' }
	first, last := i, i
	for isPart(runeAt(runes, first-1)) {
		first--
	}
	for isPart(runeAt(runes, last+1)) {
		last++
	}
	if strings.ContainsAny(string(runes[:first]), "([{") {
		return false
	}
	whole, _, _ := strings.Cut(strings.TrimRight(string(runes[first:last+1]), ".,"), ".")
	groups := strings.Split(whole, ",")
	return len(groups[0]) >= 1 && len(groups[0]) <= 3 && i < first+len(whole) &&
		!slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 3 })
}

// isInitial reports whether the full stop at i belongs to initials: letters that
// have a full stop each, U.S.A. or E.T.
func isInitial(runes []rune, i int) bool {
	first, last := i, i
	isPart := func(r rune) bool { return isLetter(r) || r == '.' }
	for isPart(runeAt(runes, first-1)) {
		first--
	}
	for isPart(runeAt(runes, last+1)) {
		last++
	}
	if isWordRune(runeAt(runes, first-1)) || runes[last] != '.' || unicode.In(runeAt(runes, last+1), unicode.Nd, unicode.Sm) ||
		strings.ContainsRune(`/\`, runeAt(runes, last+1)) {
		return false
	}
	letters := strings.Split(string(runes[first:last]), ".")
	return len(letters) > 1 && !slices.ContainsFunc(letters, func(l string) bool { return utf8.RuneCountInString(l) != 1 })
}

// tighten removes the spaces beside marks that count, except in front of a sign
// that begins a new term: "2 -3" is not "2 - 3".
func tighten(runes []rune) string {
	runes = []rune(strings.Join(strings.Fields(string(runes)), " "))
	var b strings.Builder
	b.Grow(len(runes))
	for i, r := range runes {
		before, after := runeAt(runes, i-1), runeAt(runes, i+1)
		newTerm := after == '-' && (isWordRune(before) || strings.ContainsRune(")]}", before)) && runeAt(runes, i+2) != ' '
		if r == ' ' && (isTight(before) || isTight(after)) && !newTerm {
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isTight reports whether spaces beside a mark do not matter.
func isTight(r rune) bool {
	return unicode.In(r, unicode.P, unicode.Sm, unicode.Sc, unicode.Sk) && !strings.ContainsRune("\"'#@&", r) || r == '°'
}

// dropArticle removes one leading English or Spanish article in front of a word.
func dropArticle(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	switch first {
	case "a", "an", "the", "el", "la", "los", "las", "un", "una":
		if next := []rune(rest); isLetter(runeAt(next, 0)) && isLetter(runeAt(next, 1)) || dropArticle(rest) != rest {
			return rest
		}
	}
	return s
}
