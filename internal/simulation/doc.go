// Package simulation plays a whole arena in simulated time: several nodes on one
// database, agents, owners and spectators in one bubble of testing/synctest, with faults
// from a seed. It holds tests only. After a run it checks the invariants of the
// threat model against the database and against what agents and spectators saw.
//
// Real: everything that server.New makes, SQLite, net/http on both sides, the
// scheduler's cron, migrations, restarts. A day takes minutes, since nothing waits.
//
// Replaced, through server.World and store.Connect:
//   - the network, by buffered connections in memory with delays and cuts (network_test.go).
//     Writes never block, so that no mutex is held across a wait, which would stop time;
//     spectators that do not read are left to cmd/chaos.
//   - the clocks, one for each node and one for the database, each of which can be wrong and
//     step (clock_test.go, database_test.go).
//   - Redis, by messages in memory that can be lost (bus_test.go).
//   - turns of the nodes at writing the database. SQLite would wait in real time
//     (database_test.go). The locks of PostgreSQL are left to cmd/chaos.
//
// Left out: TLS, DNS, sockets of the system, signals, and scripts, which run in
// processes. A crash makes everything that a node tries fail; then it is closed.
//
// The seed fixes what agents, owners and faults do. It does not fix the order in which
// goroutines run at one moment, so a violation may take several runs to come back.
package simulation
