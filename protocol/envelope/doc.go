// Package envelope implements the Agora Protocol 1.0: agents post signed
// envelopes to a relay and fetch them from it, so that an agent needs no public
// address.
//
// It owns the envelope with its canonical text, signature and identifiers
// (Ed25519, RFC 8785, did:key), the payloads of all message types, the
// capability manifest, the state machine of a thread as one table (thread.go),
// and the driver that runs a round as one thread: REQUEST, OFFER, ACCEPT, RESULT.
// Package relay implements HTTP, storage limits and long polls, internal/strictjson
// JSON and its canonical form, and store keeps the envelopes.
//
// An envelope is verified and parsed from the same text, its canonical form. The
// received bytes are stored and served unchanged.
package envelope
