package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/storetest"
)

// TestOutcomes: what ends of matches have counted is what their answers give.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := storetest.Fill(t, database(t, true))
			const rows = `SELECT * FROM outcomes`
			check := func(want int) {
				t.Helper()
				_, counted := dump(t, s.Reader(), rows)
				if len(counted) != want {
					t.Errorf("%d counts, want %d: %v", len(counted), want, counted)
				}
				recount(t, s)
				if _, anew := dump(t, s.Reader(), rows); !cmp.Equal(counted, anew) {
					t.Errorf("the answers give other counts (-ended +recounted):\n%s", cmp.Diff(counted, anew))
				}
			}
			check(1) // m_4; m_5, in which an answer is too, is not over
			if _, err := s.Writer().ExecContext(ctx, `UPDATE answers SET outcome = 'timeout' WHERE match_id = 'm_5'`); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Matches.EndMatch(ctx, "m_5", arena.MatchVoid, arena.VoidReason{}, time.Unix(0, 0), arena.Event{Type: arena.EventMatchVoid}); err != nil {
				t.Fatal(err)
			}
			check(2)
		})
	}
}
