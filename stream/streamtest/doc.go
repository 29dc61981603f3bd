// Package streamtest has the other sides of event streams, for tests: Log, an
// event log in memory; Server, an HTTP server with the tokens of agents; and
// Peer and EventStream, the clients of its WebSockets and server-sent events.
//
// It imports neither stream nor stream/ingest, so that the tests inside those
// packages can use it.
package streamtest
