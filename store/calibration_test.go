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
		p := planOf(t, s, query, args...)
		if !strings.Contains(p, "SEARCH a USING INDEX answers_by_agent (agent_id=? AND outcome=?)") || strings.Contains(p, "TEMP") ||
			strings.Contains(strings.ReplaceAll(p, "SCAN c", ""), "SCAN") { // c are those that were found
			t.Errorf("in league %q:\n%s", league, p)
		}
	}
}
