package store_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// TestEncounters: what settlements and new scores have counted is what the seats
// of the matches give.
func TestEncounters(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := storetest.Fill(t, database(t, true))
			m, err := s.Matches.Match(ctx, "m_4") // of four seats
			check(t, err)
			slices.Reverse(m.Seats)
			for i := range m.Seats {
				m.Seats[i].Place = max(1, i) // the first two share a place
			}
			check(t, s.Matches.SaveRescore(ctx, arena.Rescore{MatchID: m.ID, Seats: m.Seats}))
			const rows = `SELECT * FROM encounters`
			_, counted := dump(t, s.Reader(), rows)
			if len(counted) != 6 {
				t.Fatalf("of four agents %d pairs met: %v", len(counted), counted)
			}
			recount(t, s)
			if _, anew := dump(t, s.Reader(), rows); !cmp.Equal(counted, anew) {
				t.Errorf("the seats give other counts (-settled +recounted):\n%s", cmp.Diff(counted, anew))
			}
			if _, err := s.Writer().ExecContext(ctx, `UPDATE seats SET state = 'left' WHERE match_id = 'm_4' AND agent_id = 'ag_d'`); err != nil {
				t.Fatal(err)
			}
			recount(t, s)
			if left, err := s.Ratings.Opponents(ctx, "ag_d"); len(left) > 0 || err != nil {
				t.Errorf("who left its only match has met %+v (%v)", left, err)
			}
		})
	}
}

// TestFill_counts: a filled arena has the counts that its matches give.
func TestFill_counts(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, database(t, false))
			fillDuels(t, s)
			const pairs, outcomes = `SELECT * FROM encounters`, `SELECT * FROM outcomes`
			filled := map[string][]string{}
			for _, rows := range []string{pairs, outcomes} {
				_, filled[rows] = dump(t, s.Reader(), rows)
			}
			recount(t, s)
			for rows, counted := range filled {
				if _, anew := dump(t, s.Reader(), rows); len(counted) == 0 || !cmp.Equal(counted, anew) {
					t.Errorf("%s: %d rows were filled, the matches give %d:\n%.1000s", rows, len(counted), len(anew), cmp.Diff(counted, anew))
				}
			}
		})
	}
}

// recount fills encounters and outcomes with what the seats and answers of the
// matches give.
func recount(t *testing.T, s *store.Store) {
	t.Helper()
	for _, statement := range []string{
		`DELETE FROM encounters`,
		`INSERT INTO encounters (a, b, a_wins, draws, b_wins)
		SELECT x.agent_id, y.agent_id, sum(CASE WHEN x.place < y.place THEN 1 ELSE 0 END), sum(CASE WHEN x.place = y.place THEN 1 ELSE 0 END),
			sum(CASE WHEN x.place > y.place THEN 1 ELSE 0 END)
		FROM matches m JOIN seats x ON x.match_id = m.id JOIN seats y ON y.match_id = m.id AND x.agent_id < y.agent_id
		WHERE m.status = 'finished' AND x.state <> 'left' AND y.state <> 'left'
		GROUP BY x.agent_id, y.agent_id`,
		`DELETE FROM outcomes`,
		`INSERT INTO outcomes (agent_id, outcome, rounds)
		SELECT a.agent_id, a.outcome, count(*) FROM matches m JOIN answers a ON a.match_id = m.id
		WHERE m.status IN ('finished', 'void') GROUP BY a.agent_id, a.outcome`,
	} {
		_, err := s.Writer().ExecContext(t.Context(), statement)
		check(t, err)
	}
}
