// Package fill stores many finished duels at once, with plain SQL and past the
// store, for benchmarks of what reads cost and for tests of query plans. No
// server links it. It imports the standard library only; the caller opens the
// database.
package fill
