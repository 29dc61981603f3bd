// Package stream carries stored events to spectators. It serves /v1/stream.
//
// It owns the hub (topics, order, viewers), the spectators of topics over
// WebSocket and server-sent events, and the handler, which passes agents on to
// stream/ingest (threats V1 to V4). The truth is the log: rows are committed
// before they are published, and events that the hub has not received are read
// there. It leaves sockets to stream/ws, the events of agents to stream/ingest,
// other nodes to stream/bus, rows to store, and routing to api.
//
// # How an event reaches a spectator
//
//	Publish ──> topic ──> tail (one per form in use, shared) ──> writer pool ──> sockets
//	              │ gap                                             │ slow readers
//	              └──────────> log (Source.Events) <── slow-path writer ──┘
//
// An event is encoded once as JSON, then once per form in use: ready
// WebSocket frames, lines for batch=1, or server-sent events. A spectator is
// a cursor on that tail: no queue and no copy of its own.
//
// A flush cycle serves the readers of all topics that changed: at once for a
// single event, and at most every five milliseconds under load. The writer pool
// has one writer per processor. A writer sends to each socket what lies between
// its cursor and the end, in one write that does not block: without a timer, a
// context, a goroutine or an allocation per write.
//
// A spectator that has to wait gets a goroutine, the slow-path writer, until the
// wait is over, and the pool skips it. It waits if its socket is full, if it is
// behind the tail, or if it ends.
//
// A spectator is closed with 4408 if its cursor falls off the bounded tail or its
// peer reads no byte in time. It reconnects with since. Spectators that read the
// log at the same time share its pages, which are read and encoded once, and wait
// while a flush cycle runs.
//
// Events that all readers of a league or the lobby have received are dropped
// every second. The tail of a match also serves spectators that reconnect, and
// is dropped with its last reader.
//
// An event stream (SSE) keeps the goroutine of its request, which writes.
//
// A match topic emits strictly in the order of seq, whatever the order of
// Publish calls; duplicates are dropped and gaps are read from the log. League
// and lobby topics carry the match-level events as they are published; their
// counters restart with the hub, which the epoch in hello shows.
//
// The events of a delayed match (docs/rules.md, section 5) are published when
// spectators may see them, by the node that plays it. All reads go through
// visibility, so a topic does not find them in the log before.
//
// # Several nodes
//
// With a Bus, events published on one node reach the spectators of all nodes. A
// node subscribes to the topics that have spectators here. Messages carry
// ready text, a batch for each Publish call, and are handled like events
// published here.
//
// The bus may lose messages; the log has them. A match topic reads the log from
// its last seq:
//
//   - when a subscription begins or resumes,
//   - twice per second while the connection is lost,
//   - once when nothing arrived for ten seconds, since a node that is killed
//     between commit and publishing publishes nothing.
//
// League and lobby topics have no log: when events may be missing, their
// spectators are closed with 1012 and reconnect. Numbers of viewers count all
// reachable nodes.
//
// # Ends
//
// A spectator of a match is closed with 1000 "match over" after the last event
// of the match is delivered. One that connects later gets the rest of the log and
// the same end. An event stream simply ends. A request with nothing left to send
// is answered with 204, on which an EventSource stops.
package stream
