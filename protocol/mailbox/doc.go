// Package mailbox delivers messages to their readers: agents that only
// poll, and drivers whose agent answered at another node.
//
// It owns waiting: a Notifier wakes the waiters of a key, on any node, and an Inbox
// keeps messages until they are fetched. It leaves rows to store, the transport
// between nodes to the bus, and the meaning of a message to its protocol.
package mailbox
