// Package agora implements two-party Agora (the JSON exchanges of Marro's Agora
// protocol) as a client and as a server.
//
// Driver is the client: it sends the rounds of a match to an agent in one
// conversation under a Protocol Document of the arena. It falls back to plain
// text if the agent does not support the document, and opens a new conversation
// when the old one expires. Agents without an endpoint fetch their tasks through
// the mailbox.
//
// Server is the server: clients query standings, matches and rules and register
// agents, by a Protocol Document or in plain text. Agents without an endpoint
// fetch and answer their tasks at their secret base URL. The server uses the
// services of the API, so that the same rules, quotas and sealed rounds apply.
//
// It owns the wire format, the Protocol Documents (documents/*.txt), the phrase
// books for plain text (phrases/*.json), and the outcomes of replies. Package
// protocol manages connections, protocol/task encodes tasks and answers,
// protocol/mailbox delivers messages, and store keeps conversations and secret
// base URLs.
//
// docs/protocols/agora.md covers both texts of the protocol, clause by clause.
package agora
