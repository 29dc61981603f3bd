// Package mailbox brings messages to those who ask for them: agents that only
// poll, and drivers whose agent answered at another node.
//
// It owns waiting: a Bell wakes whoever waits for a key, on any node, and a Box
// keeps what is there until it is fetched. It leaves rows to store, the way
// between nodes to the bus, and the meaning of a message to its protocol.
//
// It imports arena. Rooms of protocols import it, and arena/server.
package mailbox
