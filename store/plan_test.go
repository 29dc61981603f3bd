package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
)

// planOf is how SQLite would run a query, a step on each line.
func planOf(t *testing.T, s *store.Store, query string, args ...any) string {
	t.Helper()
	query, args = store.Positional(query, args...)
	rows, err := s.Reader().QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan.WriteString(detail + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
