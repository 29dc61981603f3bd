// Package ws holds the sockets of /v1/stream.
//
// Clients is the set of open sockets and event streams of a node: it limits
// them, pings them, ends those that are silent or have expired, and closes all
// of them when the server stops. Conn is one WebSocket. The library does the
// handshake, reads messages, and answers pings and close frames. Frames to the
// peer bypass it: they are made once for all spectators and written with one
// system call that does not block, or, for a peer that does not keep up, with
// writes that do. A lock per connection keeps frames whole.
//
// A peer that reads no byte within a write timeout is slow: it gets a close
// frame and nothing else.
//
// Which messages are sent and what messages mean is left to stream and
// stream/ingest.
package ws
