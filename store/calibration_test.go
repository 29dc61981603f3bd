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
		// c and d are those that were found; the last term is the order of one match's rounds.
		rest := strings.NewReplacer(steps, "", "SCAN c", "", "SCAN d", "", "SCAN (subquery-", "", "USE TEMP B-TREE FOR LAST TERM", "").Replace(p)
		if !strings.Contains(p, steps) || strings.Contains(rest, "TEMP") || strings.Contains(rest, "SCAN") {
			t.Errorf("in league %q:\n%s", league, p)
		}
	}
}

// TestAgentClaims_bytes: of an agent whose replies are long only the newest are
// read. Threat V7.
func TestAgentClaims_bytes(t *testing.T) {
	t.Parallel()
	s := openStore(t, storetest.SQLite(t))
	fillDuels(t, s)
	const size = 60 << 10
	count := func() int {
		t.Helper()
		claims, err := s.Ratings.AgentClaims(t.Context(), "ag_7", "trivia", 500)
		check(t, err)
		return len(claims)
	}
	if n := count(); n != 40 {
		t.Errorf("%d claims of short replies, want 40", n)
	}
	reply := `{"answer":"` + strings.Repeat("é", size/2) + `","confidence":0.5}`
	_, err := s.Writer().ExecContext(t.Context(), `UPDATE answers SET body = $1 WHERE agent_id = 'ag_7'`, reply)
	check(t, err)
	if n := count(); n != 1<<20/len(reply) {
		t.Errorf("%d claims of replies of %d bytes", n, len(reply))
	}
}
