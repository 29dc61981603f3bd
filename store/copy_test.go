package store_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// engines returns a new database of each, with the schema or empty.
func engines() map[string]func(t *testing.T, empty bool) string {
	return map[string]func(*testing.T, bool) string{
		"SQLite": func(t *testing.T, _ bool) string { t.Helper(); return sqliteURL(t) },
		"Postgres": func(t *testing.T, empty bool) string {
			t.Helper()
			if empty {
				return postgres.get(t).EmptyDatabase(t)
			}
			return postgres.get(t).Database(t)
		},
	}
}

// openPlain opens a store without touching its schema.
func openPlain(t *testing.T, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Logger: discard(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// schemaTables returns the tables of a database but for goose's own.
func schemaTables(t *testing.T, s *store.Store) []string {
	t.Helper()
	names, err := column(t, s.Reader(), `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		names, err = column(t, s.Reader(), `SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`)
	}
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "goose") })
	slices.Sort(names)
	return names
}

func column(t *testing.T, db *sql.DB, query string) (values []string, err error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}

// wholeState is what a store shows of everything in it.
func wholeState(t *testing.T, s *store.Store) map[string]any {
	t.Helper()
	ctx := t.Context()
	state := map[string]any{}
	var problems []error
	put := func(name string, v any, err error) {
		state[name] = v
		problems = append(problems, err)
	}
	counts, err := s.Operations.Counts(ctx)
	put("counts", counts, err)
	agents, _, err := s.Agents.Agents(ctx, arena.AgentFilter{Retired: true}, arena.Page{Limit: 100})
	put("agents", agents, err)
	matches, _, err := s.Matches.Matches(ctx, arena.MatchFilter{}, arena.Page{Limit: 100})
	put("matches", matches, err)
	leagues, err := s.Leagues.Leagues(ctx)
	put("leagues", leagues, err)
	packs, _, err := s.Packs.Packs(ctx, arena.Page{Limit: 100})
	put("packs", packs, err)
	keys, err := s.Keys.SigningKeys(ctx)
	put("keys", keys, err)
	admins, err := s.Accounts.AdminTokens(ctx)
	put("admins", admins, err)
	settlements, err := s.Ratings.Settlements(ctx, "", 0, 1000)
	put("settlements", settlements, err)
	for _, l := range leagues {
		table, err := s.Leagues.Standings(ctx, l.Slug, time.Unix(0, 0))
		put("standings "+l.Slug, table, err)
	}
	for _, p := range packs {
		task, err := s.Packs.Task(ctx, p.ID, p.Tasks-1)
		put("task "+p.ID, task, err)
	}
	for _, a := range agents {
		owner, err := s.Accounts.Owner(ctx, a.OwnerID)
		put("owner "+a.OwnerID, owner, err)
		tokens, err := s.Accounts.Tokens(ctx, a.OwnerID)
		put("tokens "+a.OwnerID, tokens, err)
		uptime, err := s.Agents.Uptime(ctx, a.ID, time.Time{})
		put("uptime "+a.ID, uptime, err)
		deliveries, _, err := s.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: a.ID}, arena.Page{Limit: 100})
		for i, d := range deliveries { // drivers differ in how they give no bytes
			if len(d.Response) == 0 {
				deliveries[i].Response = nil
			}
		}
		put("deliveries "+a.ID, deliveries, err)
	}
	for _, m := range matches {
		events, err := s.Matches.EventsAfter(ctx, m.ID, 0, 10_000)
		put("events "+m.ID, events, err)
		rounds, err := s.Matches.Rounds(ctx, m.ID)
		put("rounds "+m.ID, rounds, err)
		answers, err := s.Matches.Answers(ctx, m.ID)
		put("answers "+m.ID, answers, err)
	}
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
	return state
}

func TestCopy(t *testing.T) {
	t.Parallel()
	for from, source := range engines() {
		for to, target := range engines() {
			for _, empty := range []bool{true, false} {
				name := from + "_to_" + to
				if empty {
					name += "_without_schema"
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					a := storetest.Fill(t, source(t, false))
					if got, want := schemaTables(t, a), slices.Sorted(slices.Values(store.Tables())); !cmp.Equal(want, got) {
						t.Fatalf("the schema has tables %v, Copy knows %v", got, want)
					}
					b := openPlain(t, target(t, empty))
					if !empty {
						if err := b.Migrate(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					copyBetween(t, a, b)
				})
			}
		}
	}
}

func copyBetween(t *testing.T, a, b *store.Store) {
	t.Helper()
	ctx := t.Context()
	last := map[string]store.CopyProgress{}
	report, err := store.Copy(ctx, a, b, func(p store.CopyProgress) {
		if was := last[p.Table]; p.Done > p.Total || p.Step == was.Step && p.Done <= was.Done {
			t.Errorf("progress %+v after %+v", p, was)
		}
		last[p.Table] = p
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range report.Tables {
		if p := last[table.Name]; table.Rows == 0 || p.Step != "compare" || p.Done != table.Rows || p.Total != table.Rows {
			t.Errorf("table %s: %d rows, last progress %+v", table.Name, table.Rows, p)
		}
	}
	if len(report.Tables) != len(store.Tables()) {
		t.Errorf("%d tables were copied", len(report.Tables))
	}
	ratings := []arena.RatingsReport{
		{League: "sums", Agents: 4, Settlements: 1, Sum: 6_000_000},
		{League: "trivia", Agents: 3, Settlements: 3, Sum: 4_500_000},
	}
	if diff := cmp.Diff(ratings, report.Leagues); diff != "" {
		t.Errorf("ratings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wholeState(t, a), wholeState(t, b)); diff != "" {
		t.Errorf("the copy differs (-source +target):\n%s", diff)
	}
	from, want, err1 := a.Indexes(ctx)
	to, got, err2 := b.Indexes(ctx)
	if diff := cmp.Diff(want, got); len(want) < 50 || from == to && diff != "" {
		t.Errorf("%d indexes (-source +target):\n%s (%v, %v)", len(want), diff, err1, err2)
	}
	// The copy is alive: a node goes on in the open round.
	claimed, err := b.Matches.ClaimMatches(ctx, "nd_2", time.Hour, 1, nil)
	if err != nil || len(claimed) != 1 || claimed[0].ID != "m_5" || !claimed[0].RoundOpen {
		t.Errorf("claimed %+v (%v)", claimed, err)
	}
	// It is not empty any more, and a node is at work on it.
	if _, err := store.Copy(ctx, a, b, func(store.CopyProgress) {}); arena.CodeOf(err) != arena.CodeConflict || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a second copy: %v", err)
	}
	if _, err := a.Writer().ExecContext(ctx, "UPDATE ticks SET tick = 1"); err != nil {
		t.Fatal(err)
	}
	if err := a.CheckStopped(ctx); err != nil {
		t.Errorf("without a node: %v", err)
	}
	if err := b.CheckStopped(ctx); arena.CodeOf(err) != arena.CodeConflict || !strings.Contains(err.Error(), "stop all nodes") {
		t.Errorf("from under a node: %v", err)
	}
}

// TestCopy_Schema refuses a source or target of another version.
func TestCopy_Schema(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	whole := storetest.Fill(t, sqliteURL(t))
	none := openPlain(t, sqliteURL(t))
	if _, err := store.Copy(ctx, none, openStore(t, sqliteURL(t)), nil); !strings.Contains(errText(err), "the source has schema 0") {
		t.Errorf("source without schema: %v", err)
	}
	newer := openStore(t, sqliteURL(t))
	_, err := newer.Writer().ExecContext(ctx, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000, '1')")
	check(t, err)
	if _, err := store.Copy(ctx, whole, newer, nil); !strings.Contains(errText(err), "the target has schema 1000") {
		t.Errorf("target with a newer schema: %v", err)
	}
}

// TestCopy_Verifies: what changes in the target between the copy and the
// comparison is noticed.
func TestCopy_Verifies(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"UPDATE leagues SET note = 'x' WHERE slug = 'sums'": "compare table leagues: the rows of the target are not those",
		"DELETE FROM met WHERE a = 'ag_a'":                  "compare table met: the target has",
		"INSERT INTO ticks (job, tick) VALUES ('x', 1)":     "compare table ticks: the target has 2 rows, the source 1",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			target := openPlain(t, sqliteURL(t))
			_, err := store.Copy(t.Context(), storetest.Fill(t, sqliteURL(t)), target, func(p store.CopyProgress) {
				if strings.Contains(statement, " "+p.Table+" ") && p.Step == "copy" {
					if _, err := target.Writer().ExecContext(t.Context(), statement); err != nil {
						t.Error(err)
					}
				}
			})
			if !strings.Contains(errText(err), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		})
	}
}

// TestCheckRatings finds every way in which ratings and settlements can
// disagree.
func TestCheckRatings(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"UPDATE ratings SET melo = melo + 1 WHERE agent_id = 'ag_a' AND league = 'sums'":                                                           "settlements give",
		"UPDATE ratings SET matches = 9 WHERE agent_id = 'ag_a' AND league = 'sums'":                                                               "after 9 matches",
		"DELETE FROM ratings WHERE agent_id = 'ag_d' AND league = 'sums'":                                                                          "are stored",
		"UPDATE leagues SET drift = 5 WHERE slug = 'sums'":                                                                                         "with a drift of 5",
		"UPDATE settlements SET drift = 5 WHERE seq = 2":                                                                                           "settlement 2 leaves a drift",
		"UPDATE settlements SET seq = 9 WHERE seq = 4":                                                                                             "settlement 4 is missing",
		"UPDATE rating_changes SET melo_before = 1 WHERE settlement = 2 AND no = 0":                                                                "settlement 2 finds agent",
		"UPDATE rating_changes SET melo_after = melo_after + 1 WHERE settlement = 1 AND no = 0":                                                    "check ratings",
		"INSERT INTO rating_changes SELECT 1, 9, 'ag_x', league, 1500000, 1500001, 1, 1, 1, 1 FROM rating_changes WHERE settlement = 1 AND no = 0": "check ratings",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			s := storetest.Fill(t, sqliteURL(t))
			if _, err := s.Ratings.CheckRatings(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Writer().ExecContext(t.Context(), "PRAGMA foreign_keys = 0"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Writer().ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Ratings.CheckRatings(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q in it", err, want)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
