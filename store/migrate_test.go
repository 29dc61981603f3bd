package store_test

import (
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

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
// every table, to the present one: nothing is lost or changed, and all of it can
// be read. A release that adds a migration adds a file with the arena that its own
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
				if has, wanted, err := s.SchemaVersion(t.Context()); err != nil || has != wanted {
					t.Fatalf("schema %d, want %d (%v)", has, wanted, err)
				}
				for table, query := range queries {
					query = strings.ReplaceAll(query, " lease_until,", " leased_until,") // renamed by 52
					if table == "counters" {
						query += " WHERE name NOT LIKE 'matches %' AND name <> 'log events'" // added by 66
					}
					if _, lines := dump(t, s.Reader(), query); !cmp.Equal(before[table], lines) {
						t.Errorf("%s changed:\n%s", table, cmp.Diff(before[table], lines))
					}
				}
				if state := wholeState(t, s); len(state["matches"].([]arena.Match)) < 6 {
					t.Errorf("matches: %+v", state["matches"])
				}
				if _, err := s.Ratings.CheckRatings(t.Context()); err != nil {
					t.Error(err)
				}
				// It has no tiers, and the next refit replaces it.
				fit, err := s.Leagues.Fit(t.Context(), "trivia")
				if err != nil || len(fit.Lines) != 1 || fit.Lines[0].Tier != 0 || fit.Settlement != 0 {
					t.Errorf("the fit of an earlier version: %+v (%v)", fit, err)
				}
			})
		}
	}
}

// An edited migration keeps its number, so a program that knows its earlier text would
// accept the schema as its own and misread its rows (threat O4).
// A change is a new file; its sum is added here.
func TestMigrations_frozen(t *testing.T) {
	t.Parallel()
	sums := map[string]string{
		"postgres/00001_baseline.sql":         "3f12cee962f0acfb115544d8c82a5e7123562614ca371c87e051c8f83a931797",
		"sqlite/00001_baseline.sql":           "160fc6b6ff1ffd9acd1a7062ba6d7c3a6134316d61fab487884907fe5ac10f26",
		"postgres/00052_fence.sql":            "9f175393b4aca5957b91a0f5a8c4586653905e0c629e121390e4e25e42ae2728",
		"sqlite/00052_fence.sql":              "9f175393b4aca5957b91a0f5a8c4586653905e0c629e121390e4e25e42ae2728",
		"postgres/00053_season_corrected.sql": "121f319b8cf521a157c74f36feb8c4a0223b5647569ca6749d3334619a315cc3",
		"sqlite/00053_season_corrected.sql":   "34d0a3fd47bd29cca8588c758a99000126e7b1d985d6f11f32ff5e7c3e1854a8",
		"postgres/00054_withdrawals.sql":      "b8ec9133f4d8aee332e787d6ef8d280cf53fbef6bd50a58c363f8a636a329c8c",
		"sqlite/00054_withdrawals.sql":        "5be4c910d02b06c9cc4f9e17b5fcff28deb0b4a4ce377821dab6ab6dac4339b4",
		"postgres/00055_agent_model.sql":      "7196d89f5804777e71a3816ae673df8baf21a9a155b52a07de5964da5f705625",
		"sqlite/00055_agent_model.sql":        "2163087659c7559e1bf982b2bf0aa8ce55243ed5388e9ec0234d431e0c5abfe1",
		"postgres/00056_agent_mark.sql":       "668fbf559e12d011b7c29d1e4e0447587e4cfc1811de4d853aef14ac84f7c665",
		"sqlite/00056_agent_mark.sql":         "0bca24db6c6f92f8d94a0e2397e0b8e9242a61ddeb8a5519861885e71438088a",
		"postgres/00057_guesses.sql":          "562bde456826722cf5350a5b5bd7bd9f62ef64bb0f3edfc779ca68296fe2c0fc",
		"sqlite/00057_guesses.sql":            "1e9b0be10cbb7542c70fc6f4df306a88d9583cad5b7d6aec149d2d32a9b2e8de",
		"sqlite/00058_fit_board.sql":          "48a3fbdc9de91396987a3b500fe5c2cfb44d83fcf210bdf362afee5dc10502d2",
		"postgres/00058_fit_board.sql":        "1fe0fbee78a2f06a258052bc41471e39c41a2d49a53ce3bb3bf961ac01bee30d",
		"postgres/00060_league_audit.sql":     "dde036fe7b884befc5b5455ba813628432115e2eb174b3957ebdf90257bb86a7",
		"sqlite/00060_league_audit.sql":       "4a4f8643811da26e196d628729ab5b407ae1cb5c6afb1cf84afc53925583bc45",
		"postgres/00062_judge_since.sql":      "84a7de5ee57fc78780c67b19b8be1aa36986aa69edf63e68de90570fbead460d",
		"sqlite/00062_judge_since.sql":        "68505acac9e2d381cf35449e287136198beb662371311696973791214c10ebb4",
		"postgres/00066_match_counters.sql":   "13754c15285fd0fc6c6afcae88d15475f05802128d1d18608cbf3033854dde1d",
		"sqlite/00066_match_counters.sql":     "6e3ec5f8b92b339dc8dfdd32de189365a115c54dac58bdc322db0fc5113f8c46",
		"postgres/00063_gold.sql":             "3213340082b00e1c53b1abfd02fd922c4a152659f398cb1f55d65aee3a2adca7",
		"postgres/00067_lookups.sql":          "882be1836f27e480d1cc22349153356e155c7b816a83864f2ac8830a1f588c1f",
		"sqlite/00067_lookups.sql":            "882be1836f27e480d1cc22349153356e155c7b816a83864f2ac8830a1f588c1f",
		"postgres/00068_bounded_reads.sql":    "2a4869bbae42b6e05f346c89d74083c4061354b68aa9c5f90206d6d66a117922",
		"sqlite/00068_bounded_reads.sql":      "c016955e7a8c04f1d7321408f092dd8b8f735935409d16bb6c3d68af2c38039d",
		"sqlite/00063_gold.sql":               "9f178fec795b8f29562df08aeec53158ac819d423e6425df7cf4beff841b093a",
	}
	for _, engine := range []string{"postgres", "sqlite"} {
		files, err := migrations.For(engine)
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.Glob(files, "*.sql")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", engine, names, err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(text)); sum != sums[engine+"/"+name] {
				t.Errorf("%s/%s has the sum %s: edited, or not listed", engine, name, sum)
			}
		}
	}
}

// Threat O4: a program that is older than the schema is stopped by the schema itself. It
// finds a number that it does not know, and a program that was running claims and
// renews no match.
func TestMigrate_stopsOlderPrograms(t *testing.T) {
	t.Parallel()
	for engine, database := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := openPlain(t, database(t, true))
			migrateTo(t, s, engine, 1)
			loadSQL(t, s, engine, "testdata/schema_1.sql")
			older := func() error { // as programs of schema 1 renew a lease
				_, err := s.Writer().ExecContext(t.Context(), "UPDATE matches SET lease_until = lease_until WHERE status = 'running'")
				return err
			}
			if err := older(); err != nil {
				t.Fatal(err)
			}
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := older(); err == nil || !strings.Contains(err.Error(), "lease_until") {
				t.Errorf("an older program renews a lease: %v", err)
			}
			// Before the baseline there were the numbers 1 to 51.
			before := fstest.MapFS{}
			for n := range 51 {
				before[fmt.Sprintf("%05d_x.sql", n+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE spoiled (n INTEGER);\n")}
			}
			dialect := map[string]goose.Dialect{"SQLite": goose.DialectSQLite3, "Postgres": goose.DialectPostgres}[engine]
			p, err := goose.NewProvider(dialect, s.Writer(), before, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Up(t.Context()); err == nil || slices.Contains(schemaTables(t, s), "spoiled") {
				t.Errorf("a program from before the baseline migrates the schema: %v", err)
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
