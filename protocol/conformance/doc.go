// Package conformance is the kit that shows the author of an agent how an
// arena will judge it. It sends the agent good tasks, hard tasks and forged
// ones, and reports each finding with what was sent, what came back and what
// to do.
//
// It owns the list of checks with their levels. MUST is what loses rounds or
// accepts forgeries: the text of the protocol and the arena's rules as far as
// they bind an agent. SHOULD is what a careful agent does beside. An agent that
// checks no credentials at all breaks no rule, so then all checks of
// credentials are SHOULD; one that checks them must do it right. A check that
// has no meaning in a protocol, or for an agent without an endpoint, is
// reported as not applicable.
//
// It leaves messages and forgeries to the drivers and profiles of the
// protocols, connections to protocol, and keys to the caller. It stores
// nothing and has no branch on the name of a protocol.
//
// It imports arena and protocol; only server and cmd/arena import it.
package conformance
