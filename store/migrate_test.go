package store_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/migrations"
	"github.com/agora-arena/arena/store"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// migrateTo brings a database to one version of the schema.
func migrateTo(t *testing.T, s *store.Store, engine string, version int64) {
	t.Helper()
	files, err := migrations.For(strings.ToLower(engine))
	if err != nil {
		t.Fatal(err)
	}
	dialect := map[string]goose.Dialect{"SQLite": goose.DialectSQLite3, "Postgres": goose.DialectPostgres}[engine]
	p, err := goose.NewProvider(dialect, s.Writer(), files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
}

// loadSQL runs a file of testdata.
func loadSQL(t *testing.T, s *store.Store, engine, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	literal := map[string]string{"SQLite": "x'$1'", "Postgres": `'\x$1'`}[engine]
	script := regexp.MustCompile(`\{hex ([0-9a-f]*)\}`).ReplaceAllString(string(text), literal)
	for statement := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := s.Writer().ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// dump returns the rows of a query, in the order of their texts.
func dump(t *testing.T, db *sql.DB, query string) (columns, lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	if columns, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%q", row))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return columns, lines
}

// TestMigrate_Forward brings an arena of each released schema, with rows in
// every table, to the present one: nothing is lost or changed, and it plays
// on. A release that adds a migration adds a file with the arena that its own
// schema can hold.
func TestMigrate_Forward(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/schema_*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no released schemas: %v", err)
	}
	for engine, database := range engines() {
		for _, file := range files {
			t.Run(engine+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				var version int64
				if _, err := fmt.Sscanf(filepath.Base(file), "schema_%d.sql", &version); err != nil {
					t.Fatal(err)
				}
				s := openPlain(t, database(t, true))
				migrateTo(t, s, engine, version)
				loadSQL(t, s, engine, file)
				queries, before := map[string]string{}, map[string][]string{}
				for _, table := range schemaTables(t, s) {
					columns, lines := dump(t, s.Reader(), "SELECT * FROM "+table)
					if len(lines) == 0 {
						t.Errorf("%s puts nothing into %s", file, table)
					}
					queries[table], before[table] = "SELECT "+strings.Join(columns, ", ")+" FROM "+table, lines
				}
				if err := s.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if has, wanted, err := s.SchemaVersion(t.Context()); err != nil || has != wanted || has <= version {
					t.Fatalf("schema %d, want %d (%v)", has, wanted, err)
				}
				for table, query := range queries {
					if _, lines := dump(t, s.Reader(), query); !cmp.Equal(before[table], lines) {
						t.Errorf("%s changed:\n%s", table, cmp.Diff(before[table], lines))
					}
				}
				checkFirstArena(t, s)
			})
		}
	}
}

// checkFirstArena reads the arena of schema_1.sql, and goes on with it. The
// arenas of later schemas hold the same matches.
func checkFirstArena(t *testing.T, s *store.Store) {
	t.Helper()
	ctx := t.Context()
	at := func(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
	equal := func(want, got any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("differs (-want +got):\n%s", diff)
		}
	}
	state := wholeState(t, s)
	equal(arena.Counts{
		Agents: map[arena.AgentStatus]int{arena.AgentActive: 2, arena.AgentRetired: 1}, Events: 17, Settlements: 1,
		Matches: map[arena.MatchStatus]int{
			arena.MatchFinished: 1, arena.MatchVoid: 1, arena.MatchCancelled: 1, arena.MatchRunning: 1, arena.MatchReady: 1, arena.MatchScheduled: 1,
		},
	}, state["counts"])
	owner, err := s.TokenByHash(ctx, [32]byte([]byte(strings.Repeat("\x01", 32))))
	if err != nil || owner.OwnerID != "ow_1" {
		t.Errorf("the owner's token opens %+v (%v)", owner, err)
	}
	bee, err := s.Agent(ctx, "ag_2")
	if err != nil {
		t.Fatal(err)
	}
	equal([]arena.Pause{{Reason: arena.PauseRateLimit, Since: at(1700000000000), Until: at(1700000300000)}}, bee.Pauses)
	equal(arena.Health{CheckedAt: at(1700000000030), Reason: "status_500", Detail: "body: oh", Capabilities: []string{"trivia", "sums"}, MaxConcurrent: 1, Failures: 2}, bee.Health)
	equal(1, bee.Running)
	m, err := s.Match(ctx, "m_1")
	if err != nil {
		t.Fatal(err)
	}
	equal(uint64(1<<63+7), m.Seed)
	equal(int64(6), m.Seq)
	equal("Ant (then)", m.Seats[0].Name)
	equal(new(arena.MilliElo(-10_000)), m.Seats[1].Delta)
	answers := state["answers m_1"].([]arena.Answer)
	equal(arena.Answer{
		MatchID: "m_1", Round: 1, AgentID: "ag_1", Outcome: arena.OutcomeAnswered, Elapsed: 4_200_000_001, Attempts: 2, Points: 1000, Judged: true,
		Body: &arena.AnswerBody{
			Answer: "4", Confidence: new(0.5), Reasoning: "easy", SubagentsUsed: []string{}, ToolsUsed: []string{"calc"}, Tokens: new(int64(12)), LatencyMS: new(3.25),
		},
	}, answers[0])
	if _, err := s.CheckRatings(ctx); err != nil {
		t.Error(err)
	}
	met, err := s.Opponents(ctx, "ag_2")
	if err != nil {
		t.Fatal(err)
	}
	equal([]arena.OpponentRecord{{AgentID: "ag_1", Name: "Ant", Matches: 1, Losses: 1}}, met)

	// Logs can be packed.
	before := state["events m_1"].([]arena.Event)
	if n, err := s.ArchiveMatches(ctx, time.Now(), 10); n != 3 || err != nil {
		t.Errorf("archived %d matches (%v)", n, err)
	}
	after, err := s.EventsAfter(ctx, "m_1", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	equal(before, after)

	// The running match goes on where it was left: its sealed answer comes out.
	claimed, err := s.ClaimMatches(ctx, "nd_9", time.Hour, 1)
	if err != nil || len(claimed) != 1 || claimed[0].ID != "m_4" || claimed[0].Lease.Epoch != 4 {
		t.Fatalf("claimed %+v (%v)", claimed, err)
	}
	if _, err := s.CloseRound(ctx, claimed[0].Lease, arena.RoundClose{Round: 1, Seats: claimed[0].Seats}, func(hidden []arena.Event) ([]arena.Event, error) {
		if len(hidden) != 1 || string(hidden[0].Hidden) != `{"answer":"Lima"}` {
			t.Errorf("hidden parts are %+v", hidden)
		}
		return nil, nil
	}); err != nil {
		t.Error(err)
	}
}

// Threat N2: the seven days of agents that have never passed a check begin with
// the migration that counts them.
func TestMigrate_endpointSince(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := openPlain(t, database(t, true))
			migrateTo(t, s, engine, 1)
			loadSQL(t, s, engine, "testdata/schema_1.sql")
			migrateTo(t, s, engine, 22)
			_, before := dump(t, s.Writer(), `SELECT count(*) FROM agents WHERE passed_at > 0`)
			if before[0] == `["0"]` {
				t.Fatal("the arena has no agent that passed")
			}
			if _, err := s.Writer().ExecContext(t.Context(), `UPDATE agents SET passed_at = 0, retired_at = 0 WHERE id = (SELECT min(id) FROM agents)`); err != nil {
				t.Fatal(err)
			}
			migrateTo(t, s, engine, 23)
			var since, others int64
			if err := s.Writer().QueryRowContext(t.Context(), `SELECT max(endpoint_since), sum(CASE WHEN endpoint_since > 0 AND passed_at > 0 THEN 1 ELSE 0 END) FROM agents`).Scan(&since, &others); err != nil {
				t.Fatal(err)
			}
			if age := time.Since(time.UnixMilli(since)); age < -time.Minute || age > time.Minute || others != 0 {
				t.Errorf("since %s ago, and %d that have passed", age, others)
			}
		})
	}
}

// Threat O4: a program that is older than the database stops before it misreads
// a row.
func TestStore_Migrate_newerSchema(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, database(t, false))
			current, wanted, err := s.SchemaVersion(t.Context())
			if err != nil || current != wanted {
				t.Fatalf("schema %d, wants %d: %v", current, wanted, err)
			}
			newer := fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, '1')", wanted+1)
			if _, err := s.Writer().ExecContext(t.Context(), newer); err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("the database has schema %d and this binary knows %d: use the newer binary", wanted+1, wanted)
			if err := s.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}
