package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// TestNoShows_Plan: the scheduler asks each second, so that only answers and
// seats that can be no-shows may be read.
func TestNoShows_Plan(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	for _, league := range []string{"", "trivia"} {
		query, args := store.NoShowQuery(league, []string{"ag_1", "ag_2"})
		p := planOf(t, s, query, args...)
		if !strings.Contains(p, "LEFT\nSEARCH d USING INDEX answers_dodged (agent_id=?)") || !strings.Contains(p, "RIGHT\nSEARCH d USING INDEX seats_withdrawn (agent_id=?)") || strings.Contains(p, "SCAN") {
			t.Errorf("in league %q:\n%s", league, p)
		}
	}
}
