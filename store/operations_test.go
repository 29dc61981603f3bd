package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// The lists of the lobby and of the admin status read no table whole that
// grows with the matches that were ever played.
func TestOperations_plans(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	for _, c := range []struct {
		name, query string
		args        []any
		want        []string
	}{
		{"movers", store.MoversQuery, []any{1, 2, 3, 4}, []string{"SEARCH s USING INTEGER PRIMARY KEY", "SEARCH c USING PRIMARY KEY"}},
		{"open rounds", store.OpenRounds, []any{9}, []string{"SEARCH m USING INDEX matches_by", "SEARCH r USING INDEX sqlite_autoindex_rounds_1"}},
		{"last seasons", store.LastSeasonsQuery(), nil, []string{"SEARCH s USING INDEX", "SEARCH o USING INDEX"}},
	} {
		plan := planOf(t, s, c.query, c.args...)
		for _, want := range c.want {
			if !strings.Contains(plan, want) {
				t.Errorf("%s: %q is not in the plan:\n%s", c.name, want, plan)
			}
		}
	}
}
