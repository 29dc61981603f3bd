// Package conformance shows the author of an agent how an arena will judge it. It
// sends the agent good, hard and forged tasks, and reports each finding with the
// request, the response and what to do.
//
// It owns the list of checks with their levels. An agent that fails a MUST loses
// rounds or accepts forgeries: these are the requirements of the protocol and the
// arena's rules. A careful agent also meets every SHOULD. An agent that
// checks no credentials at all breaks no rule, so then all checks of
// credentials are SHOULD; one that checks them must do it right. A check that
// has no meaning in a protocol, or for an agent without an endpoint, is
// reported as not applicable.
//
// It leaves messages and forgeries to the drivers and profiles of the
// protocols, connections to protocol, and keys to the caller. It stores
// nothing and has no branch on the name of a protocol.
package conformance
