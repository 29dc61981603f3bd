package server

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/agora-arena/arena/internal/testwait"
)

// Threat L6: an arena with many kept envelopes answers everyone while a
// stranger's polls wait for what never comes.
func TestRelay_pollsOfAStranger(t *testing.T) {
	t.Parallel()
	const polls = 20
	path := filepath.Join(t.TempDir(), "arena.db")
	node := newTestServerOn(t, "sqlite:"+path)
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	must(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO envelopes (no, seq, id, sender, recipient, type, thread, request_id, ts, received_at, shown_at, expires_at, digest, body, match_id, round, agent_id)
		WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 13000)
		SELECT n, n, 'e' || n, 'did:key:a', 'did:key:b', 'REQUEST', 't' || n, 'r' || n, n, n, n, 9000000000000, zeroblob(32), CAST('{"x":"' || hex(zeroblob(500)) || '"}' AS BLOB), '', 0, '' FROM n`)
	must(t, err)
	must(t, db.Close())

	var waiting sync.WaitGroup
	for range polls {
		waiting.Go(func() {
			if a := request(t, node, http.MethodGet, "/relay/events?type=CANCEL&timeout=60", "", ""); a.Code != http.StatusOK {
				t.Errorf("%d %s", a.Code, a.Body)
			}
		})
	}
	testwait.Until(t, "all polls wait", func() bool { return node.relay.Parked() == polls })
	for _, path := range []string{"/v1/lobby", "/readyz", "/relay/events?type=REQUEST&timeout=60"} {
		if a := request(t, node, http.MethodGet, path, "", ""); a.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.Code, a.Body)
		}
	}
	node.relay.Close()
	waiting.Wait()
}
