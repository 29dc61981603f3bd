package store_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

var delayed = regexp.MustCompile(`LIST SUBQUERY \d+\nSCAN matches USING INDEX matches_delayed\n(CREATE BLOOM FILTER\n)?`)

// TestAgentClaims_Plan: neither all answers are read nor all of an agent's.
func TestAgentClaims_Plan(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	for _, league := range []string{"", "trivia"} {
		query, args := store.ClaimQuery("ag_1", league, 10)
		p := planOf(t, s, query, args...)
		// Delayed matches are few, and have an index of their own.
		p = delayed.ReplaceAllString(p, "")
		const steps = "SEARCH seats USING COVERING INDEX seats_by_agent (agent_id=?)\nSCAN s\nSEARCH r USING INDEX sqlite_autoindex_rounds_1 (match_id=?)\n" +
			"SEARCH a USING INDEX sqlite_autoindex_answers_1 (match_id=? AND round=? AND agent_id=?)\n"
		// c are those that were found; the last term is the order of one match's rounds.
		rest := strings.NewReplacer(steps, "", "SCAN c", "", "USE TEMP B-TREE FOR LAST TERM", "").Replace(p)
		if !strings.Contains(p, steps) || strings.Contains(rest, "TEMP") || strings.Contains(rest, "SCAN") {
			t.Errorf("in league %q:\n%s", league, p)
		}
	}
}
