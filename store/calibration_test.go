package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
)

// TestAgentClaims_Plan: neither all answers are read nor all of an agent's.
func TestAgentClaims_Plan(t *testing.T) {
	t.Parallel()
	s := openStore(t, sqliteURL(t))
	for _, league := range []string{"", "trivia"} {
		query, args := store.ClaimQuery("ag_1", league, 10)
		if p := planOf(t, s, query, args...); !strings.HasPrefix(p, "SEARCH a USING INDEX answers_by_agent") || strings.Contains(p, "SCAN") || strings.Contains(p, "SORT") || strings.Contains(p, "TEMP") {
			t.Errorf("in league %q:\n%s", league, p)
		}
	}
}
