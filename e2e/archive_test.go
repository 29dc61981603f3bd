package e2e

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/store"
)

// A match that ended a while ago is packed: late spectators see what the first
// spectators saw, byte for byte. When its log has been dropped, its
// result stays, and no client waits for events that will not come.
func TestE2E_Archive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir, "ARENA_ARCHIVE_AFTER=1s")
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	id := p.schedule("trivia", p.contestant("Ada", answers(""), "trivia"), p.contestant("Bob", answers("no"), "trivia"))
	first := p.watch(id, 0)
	first.end(nil)
	db, err := sql.Open("sqlite", filepath.Join(dir, "arena.db"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	testwait.Until(t, "the match is packed", func() bool {
		var rows, packed int
		must(t, db.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM event_archives)").Scan(&rows, &packed))
		return rows == 0 && packed == 1
	})
	checkLog(p, id, first)

	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "arena.db"), store.Options{Logger: discard(), Now: time.Now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	n, err := s.Matches.DropEvents(t.Context(), time.Now().Add(time.Hour), 10)
	must(t, err)
	m, err := s.Matches.Match(t.Context(), id)
	must(t, err)
	if n != 1 || m.Status != arena.MatchFinished || m.Seq != 0 {
		t.Errorf("dropped %d logs, the match is %+v", n, m)
	}
	var after bytes.Buffer
	readAll(t, p.url+"/v1/matches/"+id+"/events", &after)
	if !bytes.Contains(after.Bytes(), []byte(`"items":[]`)) {
		t.Errorf("a dropped log reads %s", after.Bytes())
	}
	for _, since := range []int64{0, 5} { // the stream ends at once, with nothing in it
		late := p.watch(id, since)
		if _, data, err := late.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("since %d: got %s (%v)", since, data, err)
		}
	}
}
