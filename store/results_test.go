package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// TestAgentResults_Plan: of a match with many seats only the agent's own
// answers are read, and of many matches only the newest.
func TestAgentResults_Plan(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	query, args := store.ResultQuery("ag_1", 10)
	p := planOf(t, s, query, args...)
	for _, step := range []string{
		"SEARCH seats USING COVERING INDEX seats_by_agent (agent_id=?)",
		"SEARCH a USING INDEX sqlite_autoindex_answers_1 (match_id=? AND round=? AND agent_id=?)",
	} {
		if !strings.Contains(p, step) {
			t.Errorf("no step %q in\n%s", step, p)
		}
	}
	if strings.Contains(p, "SCAN a") || strings.Contains(p, "SCAN r") {
		t.Errorf("a whole table is read:\n%s", p)
	}
}
