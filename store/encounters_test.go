package store_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/migrations"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// TestEncounters: what settlements and new scores have counted is what the
// migration counts from the seats of an arena that had played before it.
func TestEncounters(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := storetest.Fill(t, database(t, true))
			m, err := s.Match(ctx, "m_4") // of four seats
			check(t, err)
			slices.Reverse(m.Seats)
			for i := range m.Seats {
				m.Seats[i].Place = max(1, i) // the first two share a place
			}
			check(t, s.SaveRescore(ctx, arena.Rescore{MatchID: m.ID, Seats: m.Seats}))
			const rows = `SELECT * FROM encounters`
			_, counted := dump(t, s.Reader(), rows)
			if len(counted) != 6 {
				t.Fatalf("of four agents %d pairs met: %v", len(counted), counted)
			}
			countAnew(t, s, engine)
			if _, anew := dump(t, s.Reader(), rows); !cmp.Equal(counted, anew) {
				t.Errorf("the migration counts otherwise (-settled +migrated):\n%s", cmp.Diff(counted, anew))
			}
			if _, err := s.Writer().ExecContext(ctx, `UPDATE seats SET state = 'left' WHERE match_id = 'm_4' AND agent_id = 'ag_d'`); err != nil {
				t.Fatal(err)
			}
			countAnew(t, s, engine)
			if left, err := s.Opponents(ctx, "ag_d"); len(left) > 0 || err != nil {
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
			countAnew(t, s, engine)
			for rows, counted := range filled {
				if _, anew := dump(t, s.Reader(), rows); len(counted) == 0 || !cmp.Equal(counted, anew) {
					t.Errorf("%s: %d rows were filled, the matches give %d:\n%.1000s", rows, len(counted), len(anew), cmp.Diff(counted, anew))
				}
			}
		})
	}
}

// countAnew reverts the migrations that count encounters and outcomes, and applies
// them again.
func countAnew(t *testing.T, s *store.Store, engine string) {
	t.Helper()
	files, err := migrations.For(strings.ToLower(engine))
	check(t, err)
	dialect := map[string]goose.Dialect{"SQLite": goose.DialectSQLite3, "Postgres": goose.DialectPostgres}[engine]
	p, err := goose.NewProvider(dialect, s.Writer(), files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	check(t, err)
	check(t, second(p.DownTo(t.Context(), 11)))
	check(t, second(p.Up(t.Context())))
}
