// Package mailbox delivers messages to their readers: agents that only
// poll, and drivers whose agent answered at another node.
//
// It owns waiting: a Notifier wakes the waiters of a key, on any node, and an Inbox
// keeps what is there until it is fetched. It leaves rows to store, the way
// between nodes to the bus, and the meaning of a message to its protocol.
//
// It imports arena. Protocol packages import it, and server.
package mailbox
