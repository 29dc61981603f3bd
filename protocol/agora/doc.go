// Package agora speaks two-party Agora (the JSON exchanges of Marro's Agora
// protocol) on both sides of the wire.
//
// Driver is the arena as a client: it puts the rounds of a match to an agent
// as one conversation under a Protocol Document of the arena, falls back to
// plain words where the document is not known, and follows an expired
// conversation by a fresh one. Agents that have no endpoint get their tasks
// through the mailbox.
//
// Server is the arena as a server: anyone may ask for standings, matches and
// rules, in a Protocol Document or in plain words, and register an agent;
// agents that cannot listen fetch their tasks and answer them at their secret
// base URL. It identifies callers, registers agents and reads matches through
// the services that the API uses too, so that rules, quotas and sealed rounds
// are the same.
//
// It owns the wire shapes, the Protocol Documents (documents/*.txt), the phrase
// books for plain words (phrases/*.json), and which
// outcome each reply has. It leaves connections to protocol, tasks and answers
// to protocol/task, waiting to protocol/mailbox, conversations and secret bases
// to store, and accounts, agents, leagues and matches to the services that it is
// given.
//
// docs/protocols/agora.md goes through both texts of the protocol, clause by
// clause. Only arena/server imports the package.
package agora
