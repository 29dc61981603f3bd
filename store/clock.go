package store

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
)

// timeColumn is a column of times that something waits for.
type timeColumn struct {
	table, column string
	ahead         time.Duration // how far after now a right clock sets it at most
	only          string        // condition on the rows; "" all
}

// timeColumns returns the columns whose times, once they were written under a clock
// that was ahead, would stop something until that time has come. Times that only say
// when something happened stay as they are: who reads them leaves out what lies ahead
// (arena.Ahead). Expiries stay as well: docs/operations.md lists them.
func timeColumns() []timeColumn {
	return []timeColumn{
		{"agents", "checked_at", 0, ""},
		{"agents", "endpoint_since", 0, ""},
		{"agents", "passed_at", 0, ""},
		{"conformance", "checked_at", 0, ""},
		{"counters", "value", 0, "name = 'backup'"},
		{"matches", "starts_at", 0, "status IN ('scheduled', 'ready') AND starts_at = created_at"}, // at once, when it was created
		{"nodes", "seen_at", 0, ""},
		{"outbox", "created_at", 0, ""},
		{"outbox", "next_at", 4 * time.Hour, "ended_at = 0"},
		{"pairings", "created_at", 0, "season_id IN (SELECT id FROM seasons WHERE status = 'running') AND result = ''"},
		{"peers", "hello_at", 0, ""},
		{"peers", "seen_at", 0, ""},
		{"presence", "until", time.Hour, ""},
		{"secret_bases", "alive_until", 25 * time.Hour, ""}, // the longest time limit, and a little
		{"sessions", "created_at", 0, ""},
		{"sessions", "last_used_at", 0, ""},
	}
}

// MendTimes ends what waits for a time that was written under a clock which was ahead
// and has been set back (threat C7): such times become now, by the database's clock.
// It returns how many it changed, by table.
func (s *Store) MendTimes(ctx context.Context) (mended map[string]int, err error) {
	mended = map[string]int{}
	for _, c := range timeColumns() {
		where := ` WHERE ` + c.column + ` > ` + s.d.Clock + ` + $1`
		if c.only != "" {
			where += ` AND ` + c.only
		}
		most := (c.ahead + arena.ClockSlack).Milliseconds()
		found, err := db.All(ctx, s.reader, db.ScanInt, `SELECT 1 FROM `+c.table+where+` LIMIT 1`, most)
		if err == nil && len(found) > 0 {
			err = s.write(ctx, c.table, func(ctx context.Context, tx *db.Tx) error {
				n, err := db.Exec(ctx, tx, `UPDATE `+c.table+` SET `+c.column+` = `+s.d.Clock+where, most)
				mended[c.table] += int(n)
				return err
			})
		}
		if err != nil {
			return nil, s.wrap(err, "mend times of %s", c.table)
		}
	}
	if n, err := s.mendLeases(ctx); err != nil {
		return nil, s.wrap(err, "mend leases")
	} else if n > 0 {
		mended["leases"] = n
	}
	if n, err := s.mendPauses(ctx); err != nil {
		return nil, s.wrap(err, "mend pauses")
	} else if n > 0 {
		mended["pauses"] = n
	}
	return mended, nil
}

// mendLeases shortens leases of matches to their full length from now. A node that is
// alive renews its own before that has passed.
func (s *Store) mendLeases(ctx context.Context) (n int, err error) {
	full, most := arena.MatchLease.Milliseconds(), (arena.MatchLease + arena.ClockSlack).Milliseconds()
	where := ` WHERE m.status = 'running' AND m.leased_until > ` + s.d.Clock + ` + $1`
	found, err := db.All(ctx, s.reader, db.ScanInt, `SELECT 1 FROM matches m`+where+` LIMIT 1`, most)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	err = s.writeAlone(ctx, claimLock, func(ctx context.Context, tx *db.Tx) error {
		changed, err := db.Exec(ctx, tx, `UPDATE matches SET leased_until = `+s.d.Clock+` + $2 WHERE id IN (`+
			lockedOnce(`SELECT m.id FROM matches m`+where+` ORDER BY m.id`+s.d.LockFree())+`)`, most, full)
		n = int(changed)
		return err
	})
	return n, err
}

// mendPauses ends pauses until a time that began later than now.
func (s *Store) mendPauses(ctx context.Context) (n int, err error) {
	now, err := s.clock(ctx)
	if err != nil {
		return 0, err
	}
	late := func(p arena.Pause) bool { return !p.Until.IsZero() && arena.Ahead(p.Since, now) }
	agents, err := db.All(ctx, s.reader, func(r db.Row) (a arena.Agent, err error) {
		return a, r.Scan(&a.ID, pausesInto{&a.Pauses})
	}, `SELECT id, pauses FROM agents WHERE paused_until > $1 AND pauses LIKE '%"`+string(arena.PauseRateLimit)+`"%'`, db.Millis(now.Add(arena.ClockSlack)))
	if err != nil {
		return 0, err
	}
	for _, a := range agents {
		if !slices.ContainsFunc(a.Pauses, late) {
			continue
		}
		before, after, err := s.Agents.UpdateAgent(ctx, a.ID, func(a *arena.Agent) error {
			a.Pauses = slices.DeleteFunc(slices.Clone(a.Pauses), late)
			return nil
		})
		if err != nil {
			return n, err
		}
		n += len(before.Pauses) - len(after.Pauses)
	}
	return n, nil
}

// clock returns the time of the database.
func (s *core) clock(ctx context.Context) (time.Time, error) {
	at, err := db.One(ctx, s.reader, db.ScanInt, `SELECT `+s.d.Clock)
	return db.FromMillis(at), err
}
