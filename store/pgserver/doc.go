// Package pgserver runs the programs of a PostgreSQL server in a folder of its
// own. It owns where they are found and as whom they run, and leaves settings,
// databases and what a server is for to its callers: store/storetest, the
// benchmarks of cmd/arena-bench, and cmd/chaos. It imports only the standard library.
package pgserver
