// Package stream carries events: from the log to spectators, and from agents
// to the log. It serves /v1/stream.
//
// It owns the hub (topics, order, viewers), the sockets (WebSocket and
// server-sent events), and the rules for what an agent may send: shape,
// identity, text, rate and totals (docs/rules.md, section 3; threats E1 to E10 and
// V1 to V4). It leaves the truth to the log: rows are committed before they
// are published, and whatever the hub did not see it reads there. It leaves
// tokens to arena/token, rows to store, and routing to arena/api.
//
// # How an event reaches a spectator
//
//	Publish ──> topic ──> tail (one per form in use, shared) ──> workers ──> sockets
//	              │ gap                                             │ slow readers
//	              └──────────> log (Source.Events) <── slow writer ──┘
//
// An event is encoded once as JSON, then once per form in use: ready
// WebSocket frames, lines for batch=1, or server-sent events. A spectator is
// a cursor on that tail: no queue and no copy of its own.
//
// A flush cycle serves the readers of all topics that changed: at once for a
// lone event, and at most every five milliseconds under load. The writer pool, one writer per
// processor, write to each socket, in one write that does not wait, what lies
// between its cursor and the end: no timer, context or goroutine per write, and
// no allocation. A spectator that has to wait, because its socket is full, because it is behind the tail, or because it says goodbye, is given
// a goroutine until that is past; the pool skips it. One lock per
// connection keeps frames whole: the library, which does the handshake, the
// reading, pongs and the peer's goodbye, writes through it too.
//
// A cursor that falls off the bounded tail, or a socket that takes no byte in
// time, is closed with 4408; it comes back with since. Those who read the log
// at the same time share its pages, read and encoded once, and stand back
// while a flush cycle runs.
//
// What all readers of a league or the lobby have had is let go every second;
// the tail of a match, which those who come back are served from, when its last
// reader leaves.
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
// arena/visibility, so a topic does not find them in the log before.
//
// # Several nodes
//
// With a Bus, what is published on one node reaches the spectators of all. A
// node subscribes to the topics that have spectators here. Messages carry
// ready text, a batch for each Publish call, and take the same way as those
// published here.
//
// The bus may lose messages; the log has them. When a subscription begins or
// comes back, a match topic reads the log from its last seq; while the
// connection is lost, twice per second; and when nothing arrived for ten
// seconds, once, since a node that is killed between commit and publishing
// publishes nothing. League and lobby topics have no log: their spectators are
// closed with 1012 when something may be missing, and come back. Numbers of
// viewers are those of all reachable nodes.
//
// # Ends
//
// A spectator of a match is closed with 1000 "match over" after the last event
// of the match is delivered; one that comes later gets the rest of the log and
// the same end. An event stream simply ends, and asking again with nothing
// left to send is answered with 204, on which an EventSource stops.
//
// # Limits of an agent
//
// They are counted per match and agent, over all its sockets and posts, in the
// memory of this process, until this node receives the end of the match, or for
// an hour after the last one. A socket that names no topic and brings no
// Authorization header has five seconds for its auth message. A newer token of
// the same match and agent, sent as an auth message, extends an open socket.
//
// An answer comes over another connection than the events before it. Flush lets
// it wait until those that have come to this node are in the log, so that none
// is of a round that its own answer closed.
//
// Only arena/server imports it.
package stream
