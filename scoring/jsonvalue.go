package scoring

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/agora-arena/agora-go/modeltext"
	"github.com/agora-arena/arena/internal/strictjson"
)

// maxDigits is the largest number of digits, and the largest exponent, of a
// number that is compared with a tolerance. Other numbers must be equal.
const maxDigits = 400

// anyJSON reports whether the answer is equal to an accepted value.
func anyJSON(accepted []string, answer string, tolerance float64) bool {
	given, ok := parseJSON(answer)
	if !ok {
		given, ok = parseJSON(modeltext.Clean(answer))
	}
	if !ok {
		return false
	}
	return slices.ContainsFunc(accepted, func(a string) bool {
		want, ok := parseJSON(a)
		return ok && sameJSON(want, given, exactly(tolerance))
	})
}

// parseJSON reads one strict JSON value and keeps numbers as written. It rejects
// objects with duplicate names.
func parseJSON(s string) (any, bool) {
	var raw json.RawMessage
	if err := strictjson.Unmarshal([]byte(s), &raw); err != nil {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	return v, d.Decode(&v) == nil
}

// sameJSON compares two values: members of objects in any order, elements of
// arrays in theirs, numbers by their exact decimal value.
func sameJSON(a, b any, tolerance *big.Rat) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			other, ok := b[name]
			if !ok || !sameJSON(v, other, tolerance) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return sameJSON(x, y, tolerance) })
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(b), tolerance)
	default: // string, bool, nil
		return a == b
	}
}

func sameNumber(a, b string, tolerance *big.Rat) bool {
	x, y := newScientific(a), newScientific(b)
	if x.negative == y.negative && x.digits == y.digits && x.exponent.Cmp(y.exponent) == 0 {
		return true
	}
	if tolerance.Sign() == 0 || !x.small() || !y.small() {
		return false
	}
	p, ok := new(big.Rat).SetString(a)
	q, also := new(big.Rat).SetString(b)
	if !ok || !also {
		return false
	}
	difference := p.Sub(p, q)
	return difference.Abs(difference).Cmp(tolerance) <= 0
}

// scientific is a number of JSON in the one form that equal numbers share:
// ±digits · 10^exponent, without zeros at either end; 0 has no digits.
type scientific struct {
	negative bool
	digits   string
	exponent *big.Int
}

func newScientific(s string) scientific {
	mantissa, e, _ := strings.Cut(strings.ToLower(s), "e")
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, decimals, _ := strings.Cut(digits, ".")
	digits = whole + decimals
	n := scientific{exponent: new(big.Int)}
	if len(e) <= maxDigits {
		n.exponent.SetString(strings.TrimPrefix(e, "+"), 10) // fails on "", and leaves 0 then
	} else {
		n.exponent.SetInt64(int64(len(e))) // only to bound the cost: no real number has such an exponent
	}
	significant := strings.TrimRight(digits, "0")
	if n.digits = strings.TrimLeft(significant, "0"); n.digits == "" {
		return scientific{exponent: new(big.Int)}
	}
	n.negative = negative
	n.exponent.Add(n.exponent, big.NewInt(int64(len(digits)-len(significant)-len(decimals))))
	return n
}

// small reports whether it is cheap to convert to a fraction.
func (n scientific) small() bool {
	limit := big.NewInt(maxDigits)
	return len(n.digits) <= maxDigits && n.exponent.CmpAbs(limit) <= 0
}
