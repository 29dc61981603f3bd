// Command chaos proves the arena's promises under fire. It runs the real
// binary as several nodes on PostgreSQL and Redis (or one node on SQLite),
// lets agents play and spectators watch, breaks what servers break — kill -9,
// frozen processes, rolling restarts, database restarts, a full disk, cut and
// slow networks — heals everything, and then checks the invariants from the database and
// from what agents, spectators and nodes wrote down.
//
// It owns the cluster it starts (cluster.go, postgres.go, redis.go, link.go),
// the small disk of the database (disk.go; only root may mount it, and without
// it the disk is never full),
// the load (agents.go, pull.go, load.go), the witnesses (spectators.go, the agents'
// journals, the nodes' logs), the nemesis that picks the faults from a seed
// (nemesis.go), and the checker, which is pure: it compares the facts with the
// journals (check*.go, ownership.go, takeover.go). It shares no code with the arena's
// wiring: the nodes are other processes, reached over their sockets. The
// database is read through store, only when all nodes have stopped, so that
// the checker sees what the next start would see.
//
// It is a Go module of its own, so that its libraries stay out of the go.mod of
// the server.
package main
