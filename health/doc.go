// Package health asks agents' endpoints for their health and decides what
// follows from it (docs/rules.md, section 4).
//
// It owns the policy, which is pure (three failures in a row pause, two
// successes resume, the first success lets a new agent play), and the sweep,
// the actor that applies it: every agent once, spread over a while, nothing
// counted when it is the arena that is cut off. Network finds that out, for the
// sweep and for the rounds of matches. It leaves the wire to the drivers, the
// schedule to server, and pauses, rows and events to registry, which
// it calls through an interface.
//
// What it never does: touch a rating, a running match, or a pause that an
// owner or an admin set.
//
// It imports arena. Only server imports it.
package health
