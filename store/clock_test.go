package store_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

// steps are how far a clock is set back, or ahead where they are negative.
func steps() []time.Duration {
	return []time.Duration{10 * time.Minute, 72 * time.Hour, -10 * time.Minute, -72 * time.Hour}
}

// setBack sets the clock of the arena back: to every row that was stored before, the
// present has moved. The clock of a PostgreSQL server cannot be set by a test, and it
// is differences alone that count.
func setBack(t *testing.T, s *store.Store, by time.Duration, columns ...string) {
	t.Helper()
	for _, column := range columns {
		table, column, _ := strings.Cut(column, ".")
		if _, err := s.Writer().ExecContext(t.Context(), fmt.Sprintf("UPDATE %s SET %s = %[2]s + %d WHERE %[2]s <> 0", table, column, by.Milliseconds())); err != nil {
			t.Fatal(err)
		}
	}
}

// eachStep runs a test for each engine and each step of the clock.
func eachStep(t *testing.T, test func(t *testing.T, s *store.Store, by time.Duration)) {
	t.Helper()
	for engine, source := range engines() {
		for _, by := range steps() {
			t.Run(fmt.Sprintf("%s/back_%s", engine, by), func(t *testing.T) {
				t.Parallel()
				s := openPlain(t, source(t, false))
				if err := s.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				test(t, s, by)
			})
		}
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Threat C7: a job goes on within one interval of a step of the database's clock, and
// is still run by one node alone.
func TestStore_ClaimTick_clockSteps(t *testing.T) {
	t.Parallel()
	eachStep(t, func(t *testing.T, s *store.Store, by time.Duration) {
		t.Helper()
		for _, every := range []time.Duration{time.Second, 30 * time.Second, 10 * time.Minute} {
			job := every.String()
			for _, want := range []bool{true, false} {
				if won := must(s.Operations.ClaimTick(t.Context(), job, every))(t); won != want {
					t.Fatalf("before: claimed %t, want %t", won, want)
				}
			}
		}
		setBack(t, s, by, "ticks.tick")
		for _, every := range []time.Duration{time.Second, 30 * time.Second, 10 * time.Minute} {
			for _, want := range []bool{true, false} {
				if won := must(s.Operations.ClaimTick(t.Context(), every.String(), every))(t); won != want {
					t.Errorf("every %s: claimed %t, want %t", every, won, want)
				}
			}
			if age := time.Since(must(s.Operations.LastTick(t.Context(), every.String()))(t)); age < -time.Second || age > every {
				t.Errorf("every %s: the interval began %s ago", every, age)
			}
		}
	})
}

// A tick that is claimed late does not put off the ones after it: intervals count
// from the first.
func TestStore_ClaimTick_late(t *testing.T) {
	t.Parallel()
	for engine, source := range engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := openPlain(t, source(t, false))
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			must(s.Operations.ClaimTick(t.Context(), "job", time.Hour))(t)
			first := must(s.Operations.LastTick(t.Context(), "job"))(t)
			setBack(t, s, -150*time.Minute, "ticks.tick")
			if !must(s.Operations.ClaimTick(t.Context(), "job", time.Hour))(t) {
				t.Error("not claimed after two intervals and a half")
			}
			if got, want := must(s.Operations.LastTick(t.Context(), "job"))(t), first.Add(-30*time.Minute); !got.Equal(want) {
				t.Errorf("the interval began at %s, want %s", got, want)
			}
		})
	}
}

// Threat C7: the lock of a node that is gone is free after its time at most.
func TestStore_HoldTLSLock_clockSteps(t *testing.T) {
	t.Parallel()
	eachStep(t, func(t *testing.T, s *store.Store, by time.Duration) {
		t.Helper()
		must(s.Certificates.HoldTLSLock(t.Context(), "a", "1", time.Minute))(t)
		setBack(t, s, by, "tls_locks.expires_at")
		if !must(s.Certificates.HoldTLSLock(t.Context(), "a", "2", time.Minute))(t) {
			t.Error("the lock of a node that is gone is held")
		}
		if must(s.Certificates.HoldTLSLock(t.Context(), "a", "1", time.Minute))(t) {
			t.Error("two nodes hold the lock")
		}
	})
}

// Threat C7: a time that something waits for and that was written under a clock which
// was ahead becomes now, whatever table it is in. So does the lease of a match whose
// node is gone, but for its length.
func TestStore_MendTimes(t *testing.T) {
	t.Parallel()
	for engine, source := range engines() {
		for _, by := range steps() {
			t.Run(fmt.Sprintf("%s/back_%s", engine, by), func(t *testing.T) {
				t.Parallel()
				mendTimes(t, storetest.Fill(t, source(t, false)), by)
			})
		}
	}
}

func mendTimes(t *testing.T, s *store.Store, by time.Duration) {
	t.Helper()
	ctx, written := t.Context(), time.Now().Add(by)
	set := func(statement string, args ...any) {
		t.Helper()
		r, err := s.Writer().ExecContext(ctx, statement, args...)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s: %d rows (%v)", statement, n, err)
		}
	}
	if err := errors.Join(s.RecordBackup(ctx, written), s.Outbox.QueueMail(ctx, arena.QueuedMail{
		ID: "ml_clock", Kind: arena.MailReset, Address: "clock@example.org", CreatedAt: written, NextAt: written, GiveUpAt: written.Add(time.Hour),
	}, arena.MailLimits{PerHour: 1, Waiting: 9})); err != nil {
		t.Fatal(err)
	}
	set(`UPDATE matches SET created_at = $1, starts_at = $1 WHERE status = 'scheduled'`, written.UnixMilli())
	set(`UPDATE matches SET leased_until = $1 WHERE status = 'running'`, written.Add(arena.MatchLease).UnixMilli())
	set(`UPDATE agents SET paused_until = $1, pauses = '[{"reason":"rate_limit","since":`+strconv.FormatInt(written.UnixMilli(), 10)+`,"until":`+
		strconv.FormatInt(written.Add(5*time.Minute).UnixMilli(), 10)+`}]' WHERE id = 'ag_a'`, written.Add(5*time.Minute).UnixMilli())
	for _, c := range store.TimeColumns() {
		set(`UPDATE `+c.Table+` SET `+c.Column+` = $1 WHERE `+c.Only, written.Add(c.Ahead).UnixMilli())
	}

	mended := must(s.MendTimes(ctx))(t)
	for _, c := range store.TimeColumns() {
		var latest int64
		if err := s.Reader().QueryRowContext(ctx, "SELECT COALESCE(max("+c.Column+"), 0) FROM "+c.Table+" WHERE "+c.Only).Scan(&latest); err != nil {
			t.Fatal(err)
		}
		if ahead := time.Until(time.UnixMilli(latest)); ahead > c.Ahead {
			t.Errorf("%s.%s is %s ahead", c.Table, c.Column, ahead)
		}
	}
	var start int64
	if err := s.Reader().QueryRowContext(ctx, `SELECT max(starts_at) FROM matches WHERE status = 'scheduled'`).Scan(&start); err != nil || by > 0 && time.UnixMilli(start).After(time.Now()) {
		t.Errorf("a match starts at %s (%v)", time.UnixMilli(start), err)
	}
	if by < 0 && len(mended) > 0 {
		t.Errorf("mended %v", mended)
	}
	if wait := must(s.Matches.UntilLeaseEnd(ctx))(t); wait > arena.MatchLease {
		t.Errorf("the lease ends in %s", wait)
	}
	if p, paused := must(s.Agents.Agent(ctx, "ag_a"))(t).PauseAt(time.Now().Add(arena.ClockSlack)); paused && by > 0 {
		t.Errorf("the agent is still paused: %+v", p)
	}
	if again := must(s.MendTimes(ctx))(t); len(again) > 0 {
		t.Errorf("mended %v again", again)
	}
}
