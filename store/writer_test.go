package store_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// openStore opens a migrated store.
func openStore(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Now:    func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// batch holds up the writer pool, lets ops queue in this order, and lets them
// run as one batch. All have one key, so that they share a shard.
func batch(t *testing.T, s *store.Store, ops ...func(context.Context, *store.Tx) error) []error {
	t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Write(t.Context(), "k", func(context.Context, *store.Tx) error { close(entered); <-release; return nil })
	})
	<-entered
	errs := make([]error, len(ops))
	for i, op := range ops {
		wg.Go(func() { errs[i] = s.Write(t.Context(), "k", op) })
		waitQueued(s, i+1)
	}
	close(release)
	wg.Wait()
	return errs
}

func waitQueued(s *store.Store, n int) {
	for s.Queued() < n {
		runtime.Gosched()
	}
}

// tick inserts a row that readTicks sees once it is committed.
func tick(n int) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO ticks (job, tick) VALUES ($1, $2)", strconv.Itoa(n), n)
		return err
	}
}

func readTicks(t *testing.T, s *store.Store) string {
	t.Helper()
	rows, err := s.Reader().QueryContext(t.Context(), "SELECT tick FROM ticks ORDER BY tick")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var ticks []string
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		ticks = append(ticks, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(ticks, " ")
}

func TestWriter(t *testing.T) {
	t.Parallel()
	urls := map[string]func(t *testing.T) string{
		"SQLite":   func(t *testing.T) string { t.Helper(); return storetest.SQLite(t) },
		"Postgres": func(t *testing.T) string { t.Helper(); return postgres.get(t).Database(t) },
	}
	tests := map[string]func(*testing.T, *store.Store){
		"a_failure_is_its_own":     writerFailure,
		"what_runs_again":          writerRunsAgain,
		"failed_commit_tells_all":  writerFailedCommit,
		"lost_transaction":         writerLostTransaction,
		"abandoned_never_runs":     writerAbandoned,
		"started_is_waited_for":    writerStarted,
		"close_runs_what_is_there": writerClose,
	}
	for engine, url := range urls {
		for name, test := range tests {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, openStore(t, url(t)))
			})
		}
	}
}

func writerFailure(t *testing.T, s *store.Store) {
	t.Helper()
	before := s.CommitStats()
	boom := errors.New("boom")
	errs := batch(t, s,
		tick(1),
		func(ctx context.Context, tx *store.Tx) error { // fails of its own accord
			return errors.Join(tick(2)(ctx, tx), boom)
		},
		tick(3),
		func(ctx context.Context, tx *store.Tx) error { return tick(3)(ctx, tx) }, // fails in the engine
		func(context.Context, *store.Tx) error { panic("oh no") },
		tick(6),
	)
	for i, want := range []bool{true, false, true, false, false, true} {
		if (errs[i] == nil) != want {
			t.Errorf("operation %d: %v", i+1, errs[i])
		}
	}
	if !errors.Is(errs[1], boom) {
		t.Errorf("operation 2 got %v", errs[1])
	}
	if !strings.Contains(fmt.Sprint(errs[4]), "oh no") {
		t.Errorf("operation 5 got %v", errs[4])
	}
	if got := readTicks(t, s); got != "1 3 6" {
		t.Errorf("ticks are %q", got)
	}
	// The one that held up the pool, then all six in one commit.
	after := s.CommitStats()
	if commits, ops := after.Commits-before.Commits, after.Operations-before.Operations; commits != 2 || ops != 7 {
		t.Errorf("%d commits for %d operations, want 2 for 7", commits, ops)
	}
}

func writerFailedCommit(t *testing.T, s *store.Store) {
	t.Helper()
	// A constraint that is checked at the commit is how a commit fails here.
	deferred := func(ctx context.Context, tx *store.Tx) error {
		for _, statement := range []string{
			"PRAGMA defer_foreign_keys = 1",
			"INSERT INTO tokens (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at) VALUES ('to_1', 'ow_none', 'owner', '', x'00', 0, 0, 0)",
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := s.Writer().ExecContext(t.Context(), "PRAGMA user_version"); err != nil { // PostgreSQL
		ddl := "ALTER TABLE tokens ALTER CONSTRAINT tokens_owner DEFERRABLE INITIALLY DEFERRED"
		if _, err := s.Writer().ExecContext(t.Context(), ddl); err != nil {
			t.Fatal(err)
		}
		deferred = func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO tokens (id, owner_id, scope, name, hash, created_at, last_used_at, revoked_at) VALUES ('to_1', 'ow_none', 'owner', '', '\\x00', 0, 0, 0)")
			return err
		}
	}
	for i, err := range batch(t, s, tick(1), deferred, tick(3)) {
		if arena.CodeOf(err) != arena.CodeUnavailable {
			t.Errorf("operation %d got %v, want unavailable", i+1, err)
		}
	}
	if got := readTicks(t, s); got != "" {
		t.Errorf("ticks are %q", got)
	}
	if err := s.Write(t.Context(), "k", tick(9)); err != nil {
		t.Errorf("the writer is stuck: %v", err)
	}
}

// writerLostTransaction: some failures end the whole transaction, as a full
// disk may. Then no write is reported as stored.
func writerLostTransaction(t *testing.T, s *store.Store) {
	t.Helper()
	errs := batch(t, s, tick(1), func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, "ROLLBACK") // as an engine does by itself, which then says so
		return errors.Join(err, errors.New("the engine has rolled back"))
	}, tick(3))
	for i, err := range errs {
		if arena.CodeOf(err) != arena.CodeUnavailable {
			t.Errorf("operation %d got %v, want unavailable", i+1, err)
		}
	}
	if err := s.Write(t.Context(), "k", tick(4)); err != nil {
		t.Errorf("the writer is stuck: %v", err)
	}
	if got := readTicks(t, s); got != "4" {
		t.Errorf("ticks are %q", got)
	}
}

// look reads all rows of a query.
func look(ctx context.Context, tx *store.Tx, query string) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for more := true; more; {
		more = rows.Next()
	}
	return rows.Err()
}

// Only a failure that may have written makes its batch run again: anybody can
// have writes refused.
func writerRunsAgain(t *testing.T, s *store.Store) {
	t.Helper()
	refused := arena.Errorf(arena.CodeRoundClosed, "not now")
	next := 0
	for name, c := range map[string]struct {
		fails func(context.Context, *store.Tx) error
		runs  int
	}{
		"refused after a look": {func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(refused, look(ctx, tx, "SELECT 1"))
		}, 1},
		"refused after a write": {func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(refused, tick(1_000)(ctx, tx))
		}, 2},
		"refused after a write that gives rows": {func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(refused, look(ctx, tx, "INSERT INTO ticks (job, tick) VALUES ('test', 1000) RETURNING tick"))
		}, 2},
		"failed at a look": {func(ctx context.Context, tx *store.Tx) error {
			return look(ctx, tx, "SELECT nothing FROM nowhere")
		}, 2},
	} {
		runs := 0
		next++
		write := tick(next)
		errs := batch(t, s, func(ctx context.Context, tx *store.Tx) error { runs++; return write(ctx, tx) }, c.fails)
		if errs[0] != nil || errs[1] == nil || runs != c.runs {
			t.Errorf("%s: %v, the other ran %d times, want %d", name, errs, runs, c.runs)
		}
	}
	if got := readTicks(t, s); got != "1 2 3 4" {
		t.Errorf("ticks are %q", got)
	}
}

func writerAbandoned(t *testing.T, s *store.Store) {
	t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Write(t.Context(), "k", func(context.Context, *store.Tx) error { close(entered); <-release; return nil })
	})
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- s.Write(ctx, "k", tick(1)) }()
	waitQueued(s, 1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wg.Go(func() {
		if err := s.Write(t.Context(), "k", tick(2)); err != nil {
			t.Error(err)
		}
	})
	waitQueued(s, 2)
	close(release)
	wg.Wait()
	if err := s.Write(ctx, "k", tick(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := readTicks(t, s); got != "2" {
		t.Errorf("ticks are %q", got)
	}
}

func writerStarted(t *testing.T, s *store.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Write(ctx, "k", func(inner context.Context, tx *store.Tx) error {
		cancel() // the caller goes away while its operation runs
		return tick(1)(inner, tx)
	})
	if err != nil {
		t.Errorf("a committed write came back as %v", err)
	}
	if got := readTicks(t, s); got != "1" {
		t.Errorf("ticks are %q", got)
	}
}

func writerClose(t *testing.T, s *store.Store) {
	t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Write(t.Context(), "k", func(context.Context, *store.Tx) error { close(entered); <-release; return nil })
	})
	<-entered
	errs := make([]error, 3)
	for i := range errs {
		wg.Go(func() { errs[i] = s.Write(t.Context(), "k", tick(i)) })
		waitQueued(s, i+1)
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for { // until it refuses
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Write(ctx, "k", tick(9)) }()
		runtime.Gosched()
		cancel()
		if err := <-done; arena.CodeOf(err) == arena.CodeUnavailable {
			break
		}
	}
	close(release)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("operation %d got %v", i, err)
		}
	}
}

// TestWriter_Deadlock makes two shards wait for each other: the one that
// loses is run again without an error. Threat C5.
func TestWriter_Deadlock(t *testing.T) {
	t.Parallel()
	s := openStore(t, postgres.get(t).Database(t))
	for _, name := range []string{"a", "b"} {
		if _, err := s.Writer().ExecContext(t.Context(), "INSERT INTO counters (name, value) VALUES ($1, 0)", name); err != nil {
			t.Fatal(err)
		}
	}
	var both sync.WaitGroup // each holds its first row before it asks for the second
	both.Add(2)
	var wg sync.WaitGroup
	var runs [2]int
	errs := make([]error, 2)
	for i, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			errs[i] = s.WriteInShard(t.Context(), i, func(ctx context.Context, tx *store.Tx) error {
				runs[i]++
				for n, name := range order {
					if _, err := tx.ExecContext(ctx, "UPDATE counters SET value = value + 1 WHERE name = $1", name); err != nil {
						return err
					}
					if n == 0 && runs[i] == 1 {
						both.Done()
						both.Wait()
					}
				}
				return nil
			})
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if runs[0]+runs[1] < 3 {
		t.Errorf("ran %v times: there was no deadlock", runs)
	}
	var sum int
	if err := s.Reader().QueryRowContext(t.Context(), "SELECT CAST(sum(value) AS BIGINT) FROM counters").Scan(&sum); err != nil || sum != 4 {
		t.Errorf("sum is %d (%v), want 4", sum, err)
	}
}

// TestMigrate_Together starts two nodes on an empty database.
func TestMigrate_Together(t *testing.T) {
	t.Parallel()
	url := postgres.get(t).EmptyDatabase(t)
	errs := make([]error, 3)
	var wg sync.WaitGroup
	for i := range errs {
		s, err := store.Open(t.Context(), url, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { errs[i] = errors.Join(s.Migrate(t.Context()), s.Close()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	openStore(t, url)
}
