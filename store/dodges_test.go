package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
)

// TestDodges_Plan: the scheduler asks each second, so that only answers that
// can be dodges may be read.
func TestDodges_Plan(t *testing.T) {
	t.Parallel()
	s := openStore(t, sqliteURL(t))
	for _, league := range []string{"", "trivia"} {
		query, args := store.DodgeQuery(league, []string{"ag_1", "ag_2"})
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
		if p := plan.String(); !strings.HasPrefix(p, "SEARCH a USING INDEX answers_by_agent (agent_id=? AND outcome=?)") || strings.Contains(p, "SCAN") {
			t.Errorf("in league %q:\n%s", league, p)
		}
	}
}
