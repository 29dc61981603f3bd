// Package envelope speaks the Agora Protocol 1.0: signed envelopes that agents
// fetch from a relay and post to it, so that an agent needs no address that
// anyone could call.
//
// It owns the envelope with its canonical text, signature and identifiers
// (Ed25519, RFC 8785, did:key), the payloads of all message types, the
// capability manifest, the state machine of a thread as one table (thread.go),
// and the driver that plays an arena's round as one thread: REQUEST, OFFER,
// ACCEPT, RESULT. It leaves HTTP, storage limits and long polls to the relay
// below it, JSON and its canonical form to arena/strictjson, and rows to the
// store.
//
// An envelope is verified and read from one and the same text, its canonical
// form, and stored and served as the bytes that came.
//
// It imports arena, protocol/task and the leaves. The relay and arena/server
// import it.
package envelope
