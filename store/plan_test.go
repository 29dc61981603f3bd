package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
)

// planOf returns SQLite's plan of a query, one step on each line.
func planOf(t *testing.T, s *store.Store, query string, args ...any) string {
	t.Helper()
	var plan strings.Builder
	err := s.View(t.Context(), func(q *store.Tx) error {
		rows, err := q.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			plan.WriteString(detail + "\n")
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
