package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store/internal/db"
	"github.com/agora-arena/arena/store/internal/writer"
)

// claimLock is the key of claims, and the name of their lock in the cluster.
const claimLock = "claim"

// blocked holds for a match m when one of its agents has as many running
// seats as it allows (docs/rules.md, section 1).
const blocked = `EXISTS (SELECT 1 FROM seats b JOIN agents ba ON ba.id = b.agent_id WHERE b.match_id = m.id AND ba.max_concurrent <=
	(SELECT count(*) FROM seats p WHERE p.agent_id = b.agent_id AND p.playing = 1))`

// freeToPlay is 1 for an agent a that has a free seat which no match that is
// due waits for, else 0. Those matches are few, and are read first: an agent
// may have played very many.
func (s *Matches) freeToPlay() string {
	return `CASE WHEN a.max_concurrent > (SELECT count(*) FROM seats p WHERE p.agent_id = a.id AND p.playing = 1)
		AND NOT EXISTS (SELECT 1 FROM matches w CROSS JOIN seats ws WHERE w.status IN ('scheduled', 'ready') AND w.starts_at <= ` + s.d.Clock + `
		AND ws.match_id = w.id AND ws.agent_id = a.id) THEN 1 ELSE 0 END`
}

// ClaimMatches leases up to limit matches to node, for ttl by the database's
// clock: first running ones whose lease has ended, then due ones, the longest
// waiting first. Each claim raises the epoch, however
// high it is. A due match is passed over, and becomes ready, while one of its
// agents has no free seat; matches claimed in the same call count.
//
// A node never takes over a match that it plays (plays, or nil for none): a lease
// that has ended because the node could not renew it in time is renewed instead.
func (s *Matches) ClaimMatches(ctx context.Context, node string, ttl time.Duration, limit int, plays func(arena.Lease) bool) ([]arena.Match, error) {
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	// Without the lock first: what is due is mostly claimed as it is created.
	if due, err := s.anyDue(ctx); err != nil || !due {
		return nil, s.wrap(err, "look for due matches")
	}
	var claimed []arena.Match
	var ended []endedLease
	// One claim at a time in the cluster: two nodes that count an agent's
	// seats side by side would both find one free.
	err := s.writeAlone(ctx, claimLock, func(ctx context.Context, tx *db.Tx) error {
		claimed = nil
		if err := s.d.LockInCluster(ctx, tx, claimLock); err != nil {
			return err
		}
		var err error
		if ended, err = s.endedLeases(ctx, tx, limit); err != nil {
			return err
		}
		var ids, own []string
		ended = slices.DeleteFunc(ended, func(l endedLease) bool {
			kept := plays != nil && plays(arena.Lease{MatchID: l.match, Node: l.node, Epoch: l.epoch})
			if kept {
				own = append(own, l.match)
			}
			return kept
		})
		if len(own) > 0 {
			if _, err := s.renew(ctx, tx, node, own, ttl); err != nil {
				return err
			}
		}
		for _, l := range ended {
			if _, err := s.claim(ctx, tx, l.match, node, ttl, ""); err != nil {
				return err
			}
			ids = append(ids, l.match)
		}
		for len(ids) < limit {
			free, err := db.All(ctx, tx, db.ScanText, `SELECT m.id FROM matches m WHERE m.status IN ('scheduled', 'ready')
				AND m.starts_at <= `+s.d.Clock+` AND NOT `+blocked+` ORDER BY m.starts_at, m.id LIMIT $1`+s.d.LockFree(), limit-len(ids))
			if err != nil {
				return err
			}
			if len(free) == 0 {
				if err := s.markReady(ctx, tx); err != nil {
					return err
				}
				break
			}
			for _, id := range free { // those before may have taken the last free seat of an agent
				taken, err := s.claim(ctx, tx, id, node, ttl, " AND NOT "+blocked)
				if err != nil {
					return err
				}
				if taken {
					ids = append(ids, id)
				}
			}
		}
		if len(ids) == 0 {
			return nil
		}
		for part := range slices.Chunk(ids, db.MaxIDs) {
			var c db.Clauses
			db.In(&c, "m.id", part)
			matches, err := loadMatches(ctx, tx, c.Where(), c.Args...)
			if err != nil {
				return err
			}
			claimed = append(claimed, matches...)
		}
		order := make(map[string]int, len(ids))
		for i, id := range ids {
			order[id] = i
		}
		slices.SortFunc(claimed, func(a, b arena.Match) int { return order[a.ID] - order[b.ID] })
		return nil
	})
	for _, l := range ended {
		if err == nil && l.until > 0 { // not given back
			s.log.Info("match taken over", "match_id", l.match, "epoch", l.epoch+1, "from", l.node, "overdue_ms", l.overdue)
		}
	}
	return claimed, s.wrap(err, "claim matches for node %s", node)
}

// endedLease is a lease of a running match that does not hold any more.
type endedLease struct {
	match, node           string
	epoch, until, overdue int64 // until is 0 when it was given back; overdue in milliseconds
}

// endedLeases locks the matches that may be taken over, the longest overdue
// first.
func (s *Matches) endedLeases(ctx context.Context, tx *db.Tx, limit int) ([]endedLease, error) {
	return db.All(ctx, tx, func(r db.Row) (l endedLease, err error) {
		return l, r.Scan(&l.match, &l.node, &l.epoch, &l.until, &l.overdue)
	}, `SELECT m.id, m.node, m.epoch, m.leased_until, `+s.d.Clock+` - m.leased_until FROM matches m WHERE m.status = 'running'
		AND m.leased_until <= `+s.d.Clock+` ORDER BY m.leased_until, m.id LIMIT $1`+s.d.LockFree(), limit)
}

// anyDue reports whether a running match has lost its node, or a match that is
// due waits.
func (s *Matches) anyDue(ctx context.Context) (bool, error) {
	found, err := db.All(ctx, s.reader, db.ScanInt, `SELECT CAST($1 AS BIGINT) WHERE EXISTS (SELECT 1 FROM matches m WHERE m.status = 'running' AND m.leased_until <= `+s.d.Clock+`)
		OR EXISTS (SELECT 1 FROM matches m WHERE m.status IN ('scheduled', 'ready') AND m.starts_at <= `+s.d.Clock+`)`, 1) // with a value to bind: see markReady
	return len(found) > 0, err
}

// claim leases a match m for which the rest of the condition holds, and reports
// whether it does.
func (s *Matches) claim(ctx context.Context, tx *db.Tx, id, node string, ttl time.Duration, condition string) (bool, error) {
	// A lease that expired while the match was being judged is an interruption:
	// judging may have crashed or stalled its node. That node can revert it later
	// (RevertInterruption). A released lease is no interruption, nor is one that
	// its own node claims again.
	n, err := db.Exec(ctx, tx, `UPDATE matches AS m SET status = 'running', node = $1, epoch = epoch + 1,
		interruptions = interruptions + CASE WHEN status = 'running' AND leased_until > 0 AND node <> $1 AND judging = 1 THEN 1 ELSE 0 END, judging = 0,
		leased_until = `+s.d.Clock+` + $2, started_at = CASE started_at WHEN 0 THEN `+s.d.Clock+` ELSE started_at END
		WHERE m.id = $3`+condition, node, ttl.Milliseconds(), id)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = db.Exec(ctx, tx, `UPDATE seats SET playing = 1 WHERE match_id = $1 AND state = 'active' AND playing = 0`, id)
	return err == nil, err
}

// lockedOnce returns a query of locked rows for use inside another one. Planned
// together, PostgreSQL may lock all of them again for each row of the other one.
func lockedOnce(query string) string {
	return "WITH locked AS MATERIALIZED (" + query + ") SELECT * FROM locked"
}

// markReady marks the due matches that wait for their agents.
func (s *Matches) markReady(ctx context.Context, tx *db.Tx) error {
	// With a value to bind, or the driver of PostgreSQL would not prepare it.
	_, err := db.Exec(ctx, tx, `UPDATE matches SET status = $1 WHERE id IN (`+lockedOnce(`SELECT m.id FROM matches m
		WHERE m.status = 'scheduled' AND m.starts_at <= `+s.d.Clock+`
		AND `+blocked+s.d.LockFree())+`)`, string(arena.MatchReady))
	return err
}

// UntilStart returns how long it is, by the database's clock, until the earliest
// start that is still to come; 0 when there is none.
func (s *Matches) UntilStart(ctx context.Context) (time.Duration, error) {
	wait, err := db.One(ctx, s.reader, db.ScanInt, `SELECT COALESCE(min(m.starts_at) - `+s.d.Clock+`, 0) FROM matches m
		WHERE m.status IN ('scheduled', 'ready') AND m.starts_at > `+s.d.Clock)
	return millis(wait), s.wrap(err, "read next start")
}

// UntilLeaseEnd returns how long it is, by the database's clock, until the first
// lease runs out that holds now; 0 when there is none.
func (s *Matches) UntilLeaseEnd(ctx context.Context) (time.Duration, error) {
	wait, err := db.One(ctx, s.reader, db.ScanInt, `SELECT COALESCE(min(m.leased_until) - `+s.d.Clock+`, 0) FROM matches m
		WHERE m.status = 'running' AND m.leased_until > `+s.d.Clock)
	return millis(wait), s.wrap(err, "read next end of a lease")
}

// millis returns so many milliseconds, as far as a Duration goes.
func millis(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// RenewLeases extends the leases that node holds on these matches to ttl from
// now and returns them, including ended ones whose match no other node has
// claimed. It renews no other leases: the lease of an abandoned match must run
// out.
func (s *Matches) RenewLeases(ctx context.Context, node string, matchIDs []string, ttl time.Duration) (held []arena.Lease, err error) {
	// Alone, since it locks many rows, and before the writes that wait: behind them
	// the leases would run out.
	err = s.pool.Do(ctx, writer.Write[*matchWrite]{Key: node, Alone: true, First: true, Run: func(ctx context.Context, tx *db.Tx) (err error) {
		held, err = s.renew(ctx, tx, node, matchIDs, ttl)
		return err
	}})
	return held, s.wrap(err, "renew leases of node %s", node)
}

// renew locks the matches in the order of their ids.
func (s *Matches) renew(ctx context.Context, tx *db.Tx, node string, matchIDs []string, ttl time.Duration) (held []arena.Lease, err error) {
	for part := range slices.Chunk(slices.Sorted(slices.Values(matchIDs)), db.MaxIDs) {
		c := db.Clauses{Args: []any{ttl.Milliseconds(), node}}
		db.In(&c, "m.id", part)
		renewed, err := db.All(ctx, tx, func(r db.Row) (arena.Lease, error) {
			l := arena.Lease{Node: node}
			return l, r.Scan(&l.MatchID, &l.Epoch)
		}, `UPDATE matches SET leased_until = `+s.d.Clock+` + $1 WHERE id IN (`+lockedOnce(`SELECT m.id FROM matches m`+c.Where()+`
			AND m.node = $2 AND m.status = 'running' ORDER BY m.id`+s.d.Lock("m"))+`)
			AND node = $2 AND status = 'running' RETURNING id, epoch`, c.Args...)
		if err != nil {
			return nil, err
		}
		held = append(held, renewed...)
	}
	return held, nil
}

// LastSeqs returns the number of the last event in the log of each of these matches. It
// asks the primary. A match that does not exist is missing.
func (s *Matches) LastSeqs(ctx context.Context, matchIDs []string) (map[string]int64, error) {
	type last struct {
		id  string
		seq int64
	}
	seqs := make(map[string]int64, len(matchIDs))
	for part := range slices.Chunk(matchIDs, db.MaxIDs) {
		var c db.Clauses
		db.In(&c, "m.id", part)
		found, err := db.All(ctx, s.writer, func(r db.Row) (l last, err error) { return l, r.Scan(&l.id, &l.seq) }, `SELECT m.id, m.seq FROM matches m`+c.Where(), c.Args...)
		if err != nil {
			return nil, s.wrap(err, "read the ends of logs")
		}
		for _, l := range found {
			seqs[l.id] = l.seq
		}
	}
	return seqs, nil
}

// ReleaseLease ends a lease: any node may claim the match at once.
func (s *Matches) ReleaseLease(ctx context.Context, l arena.Lease) error {
	err := s.write(ctx, l.MatchID, func(ctx context.Context, tx *db.Tx) error {
		if _, err := s.fence(ctx, tx, l); err != nil {
			return err
		}
		_, err := db.Exec(ctx, tx, `UPDATE matches SET leased_until = 0, node = '' WHERE id = $1`, l.MatchID)
		return err
	})
	return s.wrap(err, "release match %s", l.MatchID)
}

// RevertInterruption reverts the interruption that the claim after l counted,
// because the node that held l is alive and only lost its connection to the
// database. A second call for a lease could revert the interruption of another
// one, so a call whose outcome is unknown must not be repeated.
func (s *Matches) RevertInterruption(ctx context.Context, l arena.Lease) error {
	err := s.write(ctx, l.MatchID, func(ctx context.Context, tx *db.Tx) error {
		_, err := db.Exec(ctx, tx, `UPDATE matches SET interruptions = interruptions - 1 WHERE id = $1 AND epoch > $2 AND node <> $3
			AND status = 'running' AND interruptions > 0`, l.MatchID, l.Epoch, l.Node)
		return err
	})
	return s.wrap(err, "revert interruption of match %s", l.MatchID)
}

// fenced is what a runner's write needs to know of its match.
type fenced struct {
	league    string
	round     int
	roundOpen bool
}

// fence locks a match's row for a runner. lease_lost: the match is not
// running, or a later claim has a higher epoch (threat C2).
func (s *Matches) fence(ctx context.Context, tx *db.Tx, l arena.Lease) (fenced, error) {
	f, err := db.One(ctx, tx, func(r db.Row) (f fenced, err error) {
		return f, r.Scan(&f.league, &f.round, &f.roundOpen)
	}, `SELECT m.league, m.round, m.round_open FROM matches m WHERE m.id = $1 AND m.epoch = $2 AND m.status = 'running'`+
		s.d.Lock("m"), l.MatchID, l.Epoch)
	if errors.Is(err, sql.ErrNoRows) {
		err = leaseLost(l)
	}
	return f, err
}

func leaseLost(l arena.Lease) error {
	return arena.Errorf(arena.CodeLeaseLost, "node %q no longer plays match %q under epoch %d", l.Node, l.MatchID, l.Epoch)
}
