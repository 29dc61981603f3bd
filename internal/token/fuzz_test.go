package token

import (
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Of all texts only the token that was signed opens anything. Threats E6 and E7.
func FuzzKeys_Verify(f *testing.F) {
	c := newClock()
	k := open(f, &rows{}, c, EdDSA)
	good := sign(f, k, c)
	f.Add(good)
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		claims, err := k.Verify(t.Context(), text)
		if err == nil && text != good {
			t.Fatalf("%q opens %+v", text, claims)
		}
		if err != nil && arena.CodeOf(err) != arena.CodeUnauthorized {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
