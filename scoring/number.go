package scoring

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxNumberText is the maximum length of a number in bytes. Together with the
// limit of three digits for an exponent it bounds the cost of reading an answer.
const maxNumberText = 200

// anyNumber reports whether the answer is within the tolerance of an accepted
// one.
func anyNumber(accepted []string, answer string, tolerance float64) bool {
	given, ok := parseNumber(read(answer))
	if !ok {
		return false
	}
	allowed := exactly(tolerance)
	return slices.ContainsFunc(accepted, func(a string) bool {
		want, ok := parseNumber(a)
		if !ok {
			return false
		}
		difference := want.Sub(want, given)
		return difference.Abs(difference).Cmp(allowed) <= 0
	})
}

// exactly returns a tolerance as the shortest decimal, as it was written: 0.3
// rather than the nearest binary fraction. NaN and negative tolerances become 0.
func exactly(tolerance float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(tolerance, 'g', -1, 64))
	if !ok || r.Sign() < 0 {
		return new(big.Rat)
	}
	return r
}

// What may stand around a number. It does not change the value: "50%" is 50.
var (
	numberBefore = regexp.MustCompile(`^(?:#+ |(?:[a-z]\w{0,20} ?)?(?:=|≈|≃|~) ?)`)
	currency     = regexp.MustCompile(`^(?:(?:us|ca|au|nz|hk|mx|r|a|c|s)?\p{Sc}|(?:usd|eur|gbp|chf|jpy|cny|inr|mxn|brl|cad|aud) ) ?`)
	unit         = regexp.MustCompile(`^ ?(?:%|°|\p{Sc}|[\p{L}µμΩ°][\p{L}°./²³^0-9-]*(?: [\p{L}°/²³^-]+){0,3}) ?$`)
	// notUnit matches the words that would change the value.
	notUnit = regexp.MustCompile(`\b(?:and|or|to|y|o|a|half|quarter|third|over|point|plus|minus|times|by|per ?cent of|of|out|squared|cubed|factorial|dozens?|scores?|gross|` +
		`hundreds?|one|two|three|four|five|six|seven|eight|nine|ten|twenty|negative|below|less|more|not|x|e|i|π|pi)\b`)
)

// The parts of a number, in a text of lower case with one kind of space, sign and
// apostrophe.
const (
	// Digits in groups of three, or in the Indian groups of three and two.
	grouped = `\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|\d{1,3}(?: \d{3})+|\d{1,3}(?:'\d{3})+|\d{1,3}(?:_\d{3})+`
	power   = `(?:e([-+]?\d{1,3})| ?[×x*·] ?10 ?\^ ?([-+]?\d{1,3}))`
)

var (
	decimalShape  = regexp.MustCompile(`^(` + grouped + `|\d*)(\.\d*)?` + power + `?`)
	europeanShape = regexp.MustCompile(`^(\d{1,3}(?:\.\d{3})+),(\d+)`)
	fractionShape = regexp.MustCompile(`^(?:(\d+) )?(\d+) ?/ ?(-?)(\d+)`)
	latexFraction = regexp.MustCompile(`\\[dt]?frac ?\{(-?\d+)\}\{(-?\d+)\}`)
	scaleShape    = regexp.MustCompile(`^(?: ?(thousand|million|billion|trillion|mn|bn)\b|(k)\b)`)
)

// scale returns the power of ten of a word that follows a number.
func scale(word string) int {
	switch word {
	case "k", "thousand":
		return 3
	case "million", "mn":
		return 6
	case "billion", "bn":
		return 9
	case "trillion":
		return 12
	}
	return 0
}

// parseNumber reads a text that is one number, exactly. A name and an equals sign,
// or a currency, may precede it; a unit of a few words may follow it. A text with
// a second number, or with a word that changes the value, is no number.
func parseNumber(s string) (*big.Rat, bool) {
	if len(s) > maxNumberText {
		return nil, false
	}
	s = plainNumber(s)
	if inner, ok := strings.CutPrefix(s, "("); ok { // bookkeepers write -5 as (5)
		if inner, ok = strings.CutSuffix(inner, ")"); !ok || strings.HasPrefix(inner, "-") {
			return nil, false
		}
		n, ok := parseNumber(inner)
		if !ok || strings.ContainsAny(inner, "()=") {
			return nil, false
		}
		return n.Neg(n), true
	}
	s = s[len(numberBefore.FindString(s)):]
	s, negative := cutSign(s)
	if sign := currency.FindString(s); sign != "" {
		s = s[len(sign):]
		rest, inner := cutSign(s)
		if len(rest) < len(s) && negative != 0 {
			return nil, false // "-$-5"
		}
		s, negative = rest, negative+inner
	}
	n, rest, ok := unsignedNumber(s)
	if !ok {
		return nil, false
	}
	if m := scaleShape.FindStringSubmatch(rest); m != nil {
		exponent := scale(m[1] + m[2])
		n.Mul(n, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)))
		rest = rest[len(m[0]):]
	}
	rest = strings.TrimRight(strings.TrimSpace(rest), ".,;:!")
	if rest != "" && (!unit.MatchString(rest) || notUnit.MatchString(rest)) {
		return nil, false
	}
	if negative > 0 {
		n.Neg(n)
	}
	return n, true
}

// cutSign removes a sign, with the space behind it.
func cutSign(s string) (rest string, negative int) {
	switch {
	case strings.HasPrefix(s, "-"):
		return strings.TrimPrefix(s[1:], " "), 1
	case strings.HasPrefix(s, "+"):
		return strings.TrimPrefix(s[1:], " "), 0
	}
	return s, 0
}

// unsignedNumber reads the number that a text begins with: a fraction, a mixed
// number, or a decimal with an exponent.
func unsignedNumber(s string) (n *big.Rat, rest string, ok bool) {
	if m := fractionShape.FindStringSubmatch(s); m != nil {
		if len(m[2]) > 2 && m[1] != "" {
			return nil, "", false // "1 100/200" may mean 1100/200
		}
		n, ok = new(big.Rat).SetString(m[3] + decimal(m[2]) + "/" + decimal(m[4]))
		if whole, mixed := new(big.Rat).SetString(decimal(m[1])); ok && mixed && m[1] != "" {
			if m[3] != "" || n.Cmp(big.NewRat(1, 1)) >= 0 {
				return nil, "", false
			}
			n.Add(n, whole)
		}
		return n, s[len(m[0]):], ok
	}
	if m := europeanShape.FindStringSubmatch(s); m != nil {
		n, ok = new(big.Rat).SetString(decimal(m[1]) + "." + m[2])
		return n, s[len(m[0]):], ok
	}
	m := decimalShape.FindStringSubmatch(s)
	if m == nil || m[1] == "" && len(m[2]) < 2 {
		return nil, "", false
	}
	rest = s[len(m[0]):]
	if rest != "" && (rest[0] == ',' && len(rest) > 1 || rest[0] >= '0' && rest[0] <= '9') {
		return nil, "", false // "12,00", "1,200 300"
	}
	exponent := m[3] + m[4]
	if exponent != "" {
		exponent = "e" + exponent
	}
	n, ok = new(big.Rat).SetString(decimal(m[1]) + m[2] + exponent)
	return n, rest, ok
}

// decimal removes the separators of groups and the leading zeros that big.Rat
// would read as another base.
func decimal(digits string) string {
	digits = strings.TrimLeft(strings.NewReplacer(",", "", " ", "", "'", "", "_", "", ".", "").Replace(digits), "0")
	if digits == "" {
		return "0"
	}
	return digits
}

// plainNumber returns a text in lower case, with ASCII digits, signs, spaces and
// apostrophes, and with the fractions and powers of Unicode and LaTeX in one form.
func plainNumber(s string) string {
	s = spellOut(norm.NFC.String(s))
	s = strings.NewReplacer(`\times`, "×", `\cdot`, "×", `\%`, "%", `\$`, "$", `\,`, "", `\ `, " ", `\!`, "", "{,}", ",", "⁻", "-", "⁺", "+", "٫", ".", "٬", ",").Replace(s)
	s = latexFraction.ReplaceAllString(s, "$1/$2")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsDigit(r):
			return '0' + digitValue(r)
		case strings.ContainsRune(raised, r):
			return []rune(norm.NFKC.String(string(r)))[0]
		case isDash(r):
			return '-'
		case strings.ContainsRune("’‘ʼ′", r):
			return '\''
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cf, unicode.Cc):
			return -1
		}
		return unicode.ToLower(halfWidth(r))
	}, s)
	return strings.TrimSpace(s)
}

// digitValue returns the value of a decimal digit of any script. The digits of a
// script are ten in a row.
func digitValue(r rune) rune {
	for _, table := range unicode.Nd.R16 {
		if lo, hi := rune(table.Lo), rune(table.Hi); lo <= r && r <= hi {
			return (r - lo) % 10
		}
	}
	for _, table := range unicode.Nd.R32 {
		if lo, hi := rune(table.Lo), rune(table.Hi); lo <= r && r <= hi { //nolint:gosec // G115: code points
			return (r - lo) % 10
		}
	}
	return 0
}
