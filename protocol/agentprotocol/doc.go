// Package agentprotocol implements AgentProtocol v0.1: signed messages between
// the arena and agents over HTTP, over a WebSocket that the agent opens, and
// over files in a folder.
//
// It owns the form of a message and its signature, the forms of an agent id,
// the handshake, the arena's side of the three transports, and the driver that
// sends a round's task as a request and maps the reply to the outcome table
// (docs/rules.md, section 3). Every inbound message, over any transport, passes
// the same checks (Server.authenticate): form, recipient, time, sender,
// signature, rate, replay.
//
// New returns the Driver, which sends requests. NewServer returns the inbound
// handler of the same node, which hands the driver the answers of agents. The
// node that runs a match need not be the one that holds the agent's socket:
// messages to agents without an endpoint, and answers that arrive at another
// node, go through the mailbox.
//
// It leaves connections to untrusted endpoints to protocol, the bodies of tasks
// and answers to protocol/task, durable messages to protocol/mailbox, the proof of
// keys to registration, events to the stream, and the consequences of a failed
// handshake to health.
package agentprotocol
