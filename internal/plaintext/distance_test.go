package plaintext_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/plaintext"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 2, 0},
		{"answer", "answer", 2, 0},
		{"anwser", "answer", 2, 2},
		{"kitten", "sitting", 3, 3},
		{"a", "abcd", 2, 3},
		{strings.Repeat("a", 65), "a", 99, 100},
	} {
		if got := plaintext.Distance(c.a, c.b, c.limit); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := plaintext.Distance(c.b, c.a, c.limit); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
