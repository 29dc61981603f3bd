package scoring

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxNumberText is the maximum length of a number in bytes. Together with the
// limit of three digits for an exponent it bounds the cost of reading an answer.
const maxNumberText = 200

// numberShape matches a text that is one number. Its groups are: sign, sign
// behind a currency sign, whole digits (plain, or in groups of three separated
// by commas or by spaces), decimals, exponent, denominator.
//
// A currency sign may precede the number. A currency sign or word, a percent
// sign or word, and a full stop may follow it. They do not change the value:
// "50%" is 50. Other words ("5 apples") and a second number do not match.
var numberShape = regexp.MustCompile(`^` +
	`([-+]?) ?(?:(?:us|a|c|mx)?\p{Sc} ?([-+]?))?` +
	`(\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d*)` +
	`(?:(\.\d*)?(e[-+]?\d{1,3})?| ?/ ?(\d+))` +
	` ?(?:\p{Sc}|%|percent|per cent|usd|dollars?|cents?|eur|euros?|gbp|pounds?|pesos?|mxn|yen|jpy)?\.?$`)

// anyNumber reports whether the answer is within the tolerance of an accepted
// one.
func anyNumber(accepted []string, answer string, tolerance float64) bool {
	given, ok := parseNumber(answer)
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

// parseNumber reads a text that is one number, exactly.
func parseNumber(s string) (*big.Rat, bool) {
	if len(s) > maxNumberText {
		return nil, false
	}
	s = strings.TrimSpace(strings.Map(plainRune, strings.ToLower(s)))
	parts := numberShape.FindStringSubmatch(s)
	if parts == nil {
		return nil, false
	}
	sign, inner, whole, decimals, exponent, denominator := parts[1], parts[2], parts[3], parts[4], parts[5], parts[6]
	if denominator != "" {
		if whole == "" || strings.Contains(whole, " ") {
			return nil, false // "1 100/200" may mean one and a half
		}
		decimals = "/" + decimal(denominator)
	} else if whole == "" && len(decimals) < 2 {
		return nil, false
	}
	return new(big.Rat).SetString(sign + inner + decimal(whole) + decimals + exponent)
}

// decimal removes the separators and leading zeros that big.Rat would read as
// digit groups or as another base.
func decimal(digits string) string {
	digits = strings.TrimLeft(strings.NewReplacer(",", "", " ", "").Replace(digits), "0")
	if digits == "" {
		return "0"
	}
	return digits
}

// plainRune converts full-width forms, special spaces and the minus sign to
// ASCII. Full compatibility normalization would read 10² as 102 and 1½ as 11/2.
func plainRune(r rune) rune {
	switch {
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	case r == '−':
		return '-'
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}
