// Package ingest receives the events of agents and appends them to the logs of
// their matches.
//
// It owns the rules for what an agent may send: shape, identity, text, rate and
// totals (docs/rules.md, section 3; threats E1 to E10). Receiver accepts events
// over a WebSocket (ServeSocket), as lines of a POST (ServePost), and one by one
// from other protocols (Accept). Seats counts them. An accepted event is sealed
// if its match is, stored by Log, and published by the hub.
//
// # Sockets
//
// A socket that names no match in its request, or has no Authorization header,
// has five seconds for its auth message. A newer token of the same match and
// agent, sent as an auth message, extends an open socket. The newest socket of a
// seat replaces the older one. One goroutine reads and checks messages; another
// appends what was accepted, as many events at once as are queued.
//
// # Limits
//
// Events are counted per match and agent, over all its sockets and posts, in the
// memory of this process. The counts end when this node receives the end of the
// match, or after an hour without events.
//
// # Answers
//
// An agent sends its answer over another connection than its events. Flush lets
// the answer wait until the events that have reached this node are in the log, so
// that none arrives after the round that the answer closes.
//
// It leaves sockets to stream/ws, tokens to internal/token, rows to store, and
// spectators to stream.
package ingest
