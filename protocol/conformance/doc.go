// Package conformance is the kit that shows the author of an agent how an
// arena will judge it: it sends an endpoint good tasks, hard tasks and
// forged ones, and reports each finding with what was sent, what came back
// and what to do.
//
// It owns the list of checks with their levels. MUST is what loses rounds or
// lets forgers in: AAP and the arena's rules as far as they bind an agent.
// SHOULD is what a careful agent does beside. An agent that checks no tokens
// at all breaks no rule of AAP, so then all checks of tokens are SHOULD; one
// that checks them must do it right.
//
// It leaves the words of the protocol to protocol/aap, connections to
// protocol, and keys to whoever runs it: signers are handed in. It keeps
// nothing.
//
// It imports arena, protocol and protocol/aap; only arena/server imports it.
package conformance
