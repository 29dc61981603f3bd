// Package store keeps the arena's rows: accounts, agents, leagues, packs,
// matches with their logs, ratings and settlements. One SQL text serves
// SQLite (one file, the default) and PostgreSQL (several nodes); dialect.go
// holds what differs.
//
// It owns every SQL statement, the transactions, and the invariants that only
// a transaction can keep:
//
//   - a match's log is numbered 1, 2, 3 … without gaps in commit order, and
//     nothing follows match_finished or match_void;
//   - every write of a runner carries the epoch of its lease, and a stale
//     epoch changes nothing (lease_lost);
//   - one answer per match, round and agent; one settlement per match;
//   - a settlement moves seats, ratings, the league's drift and the log
//     together or not at all;
//   - the hidden part of a sealed event leaves only through CloseRound.
//
// It decides nothing about play, points or ratings: those come in as values
// or as functions that it calls inside the transaction. Such a function may
// be called again, must be quick, and must not call the store.
//
// The log of a match that is over moves from rows of events to compressed rows
// of event_archives (archive.go); readers do not notice.
//
// Writes go through a committer (commit.go) that puts what waits into one
// transaction, so that many small writes share one sync to disk; the function
// of a write may therefore run again. Statements are prepared once
// (statements.go). Times are unix milliseconds in UTC; leases and due times are
// compared with the database's clock.
//
// Failures are *arena.Error with the codes not_found, conflict, name_taken,
// invalid, lease_lost, round_closed and unavailable; a done context comes
// back as its own error.
//
// arena/server opens it; every other room declares the few methods that it
// calls. It imports arena and migrations.
package store
