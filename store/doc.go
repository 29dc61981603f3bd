// Package store stores the arena's rows: accounts, agents, leagues, packs,
// matches with their logs, ratings and settlements. One SQL text serves SQLite
// (one file, the default) and PostgreSQL (several nodes).
//
// It owns every SQL statement, the transactions, and the invariants that only
// a transaction can keep:
//
//   - a match's log is numbered 1, 2, 3 … without gaps in commit order, and
//     nothing follows match_finished or match_void;
//   - every write of a runner carries the epoch of its lease, and a stale
//     epoch changes nothing (lease_lost);
//   - one answer per match, round and agent; one settlement per match;
//   - a settlement changes seats, ratings, the league's drift and the log
//     together or not at all;
//   - the hidden part of a sealed event leaves only through CloseRound.
//
// It decides nothing about matches, points or ratings: those are arguments, or
// functions that it calls inside the transaction. Such a function may be called
// again, must be quick, and must not call the store.
//
// Store has a value for each subject: Agents, Leagues, Matches and so on. Subjects
// whose transactions touch no other subject are packages of their own (mailbox,
// outbox, people), built on internal/base. A table is described once, by its
// columns and the fields of its row (db.NewTable), and reads and writes follow
// the description: to add a column, add a migration and a line there. Statements
// that compute, such as counts and joins, are written out.
//
// Writes have four layers:
//
//   - internal/base is what every group of rows needs: reads, queued writes, errors;
//   - internal/db runs statements for many rows on either engine;
//   - internal/writer puts the writes that wait into one transaction, so that
//     many writes share one sync to disk; a write may therefore run again;
//   - match_writes.go combines the writes of runners to open matches, so that
//     one statement serves many matches.
//
// The log of a finished match moves from rows of events to compressed rows of
// event_archives (archive.go). Readers see no difference.
//
// Times are unix milliseconds in UTC. Leases and due times are compared with
// the database's clock.
//
// Failures are *arena.Error with the codes not_found, conflict, name_taken,
// invalid, lease_lost, round_closed and unavailable. A done context returns its
// own error.
//
// server opens it; services take it, or the subjects that they need.
package store
