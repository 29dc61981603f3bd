package record

import (
	"errors"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// Milli is a number of points or Elo in thousandths: sums are exact. On the
// wire it is a plain number, 1500 or 0.333.
type Milli int64

// MarshalJSON writes the number without going through a float.
func (m Milli) MarshalJSON() ([]byte, error) { return arena.Points(m).MarshalJSON() }

// UnmarshalJSON reads a number with at most three decimals.
func (m *Milli) UnmarshalJSON(data []byte) error {
	whole, frac, _ := strings.Cut(string(data), ".")
	if len(frac) > 3 {
		return errors.New("more than three decimals")
	}
	v, err := strconv.ParseInt(whole+frac+"000"[len(frac):], 10, 64)
	if err != nil {
		return errors.New("not a number of thousandths")
	}
	*m = Milli(v)
	return nil
}

func (m Milli) String() string {
	b, _ := m.MarshalJSON() // it never fails
	return string(b)
}
