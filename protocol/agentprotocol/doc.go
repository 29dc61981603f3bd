// Package agentprotocol speaks AgentProtocol v0.1: signed messages between the
// arena and agents over HTTP, over a WebSocket that the agent opens, and over
// files in a folder.
//
// It owns the form of a message and its signature, the forms of an agent id,
// the handshake, the arena's side of the three transports, and the driver that
// asks a round's question as a request and puts what comes back into the words
// of the outcome table (docs/rules.md, section 3). Every message that comes in,
// whatever the way, passes one gate (Server.receive): form, recipient, time,
// sender, signature, rate, replay.
//
// The node that plays a match need not be the one that holds the agent's
// socket: messages to agents without an endpoint, and answers that arrive at
// another node than the one that waits, go through the mailbox. Only Server
// knows who waits; the Driver is made by it.
//
// It leaves connections to strangers to protocol, the bodies of tasks and
// answers to protocol/task, durable messages to protocol/mailbox, the proof of
// keys to registration, events to the stream, and what follows from a failed
// handshake to health. It imports arena, arena/strictjson, protocol and
// protocol/task. Only arena/server imports it.
package agentprotocol
