package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// TestDodges_Plan: the scheduler asks each second, so that only answers that
// can be dodges may be read.
func TestDodges_Plan(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	for _, league := range []string{"", "trivia"} {
		query, args := store.DodgeQuery(league, []string{"ag_1", "ag_2"})
		if p := planOf(t, s, query, args...); !strings.HasPrefix(p, "SEARCH a USING INDEX answers_dodged (agent_id=?)") || strings.Contains(p, "SCAN") {
			t.Errorf("in league %q:\n%s", league, p)
		}
	}
}
