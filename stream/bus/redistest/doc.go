// Package redistest starts Redis servers for tests, and a proxy that stands
// between a test and one and can stall or cut the connections.
//
// Every server is its own process on a free port with its own temporary folder; an
// instance of the system is never touched. It leaves speaking to Redis to the
// tests, but for single commands.
package redistest
