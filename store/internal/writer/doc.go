// Package writer commits writes in groups. A Pool has one shard, with a queue
// and a goroutine, per transaction that may be open at once. The writes that
// were queued during one commit share the next: under load many writes share
// one sync to disk, and a single write does not wait for others.
//
// It owns the order of writes (one shard per key; renewals of leases overtake the
// others), the isolation of failures (a
// failed write does not undo the others in its transaction), retries, and the
// combination of writes that share their statements (Combined). It has no
// statements of its own beyond savepoints.
package writer
