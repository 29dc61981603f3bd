package store_test

import (
	"strings"
	"testing"
)

// A URL that asks for the primary of several servers connects, also the connections
// that only read.
func TestOpen_targetSessionAttrs(t *testing.T) {
	t.Parallel()
	url := postgres.get(t).Database(t)
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	for _, attrs := range []string{"read-write", "primary", "any"} {
		s := openPlain(t, url+separator+"target_session_attrs="+attrs)
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s: %v", attrs, err)
		}
		if _, err := s.Reader().ExecContext(t.Context(), "DELETE FROM owners"); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
			t.Errorf("%s: a reader writes: %v", attrs, err)
		}
	}
}
