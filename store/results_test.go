package store_test

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
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

// TestLostRounds_Plan: losses and topics are read as results are.
func TestLostRounds_Plan(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	plan := func(query string, args []any) string { return planOf(t, s, query, args...) }
	for name, p := range map[string]string{
		"losses":          plan(store.LossQuery(arena.LossFilter{AgentID: "ag_1"}, "", 0)),
		"filtered losses": plan(store.LossQuery(arena.LossFilter{AgentID: "ag_1", League: "trivia", Topic: "maths", Version: "1"}, "m_1", 2)),
		"topics":          plan(store.TopicQuery(arena.LossFilter{AgentID: "ag_1"}, true)),
		"visible topics":  plan(store.TopicQuery(arena.LossFilter{AgentID: "ag_1", League: "trivia", Version: "1"}, false)),
	} {
		for _, step := range []string{
			"INDEX seats_by_agent (agent_id=?)", "SEARCH m USING INDEX sqlite_autoindex_matches_1 (id=?)", "SEARCH r USING INDEX sqlite_autoindex_rounds_1 (match_id=?",
			"SEARCH a USING INDEX sqlite_autoindex_answers_1 (match_id=? AND round=? AND agent_id=?)",
		} {
			if !strings.Contains(p, step) {
				t.Errorf("%s: no step %q in\n%s", name, step, p)
			}
		}
	}
}
