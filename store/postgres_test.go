package store_test

import (
	"database/sql"
	"strings"
	"testing"
)

// A URL that asks for the primary of several servers connects, also the connections
// that only read.
func TestOpen_targetSessionAttrs(t *testing.T) {
	t.Parallel()
	for _, attrs := range []string{"read-write", "primary", "any"} {
		s := openPlain(t, withParameter(postgres.get(t).Database(t), "target_session_attrs="+attrs))
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s: %v", attrs, err)
		}
		if _, err := s.Reader().ExecContext(t.Context(), "DELETE FROM owners"); err == nil || !strings.Contains(err.Error(), "read-only transaction") {
			t.Errorf("%s: a reader writes: %v", attrs, err)
		}
	}
}

// The planner's costs are those of SSDs unless the URL has others.
func TestOpen_randomPageCost(t *testing.T) {
	t.Parallel()
	url := postgres.get(t).Database(t)
	for address, want := range map[string]string{url: "1.1", withParameter(url, "random_page_cost=3"): "3"} {
		s := openPlain(t, address)
		for name, handle := range map[string]*sql.DB{"reader": s.Reader(), "writer": s.Writer()} {
			var got string
			if err := handle.QueryRowContext(t.Context(), "SHOW random_page_cost").Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s (%v), want %s", name, got, err, want)
			}
		}
	}
}

func withParameter(url, parameter string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameter
	}
	return url + "?" + parameter
}
