// Package record makes and checks the record of a match: everything that was
// played, in one JSON document that anyone can verify without the arena.
//
// It owns the document's form, the hash chain over the match's log, the
// receipts, and the rules by which the parts must agree. It leaves reading
// the rows to api, keys and signatures to internal/token, and files to
// server. It does no I/O.
//
// The file is {"record":{…},"signature":{"alg","kid","value"}} in the form of
// RFC 8785 (JCS), with at most one line break after it. value is a JWS in
// compact form with a detached payload (RFC 7515, Appendix F). The chain is
//
//	h(0) = SHA-256(match id)
//	h(n) = SHA-256(h(n-1) ‖ event n in the form of RFC 8785)
//
// Every value that a person wrote or chose is a Text: an object with
// a salt, the text and a commitment to both. Chain and signature cover the
// commitments alone, so a text and its salt can be erased together. Texts are
// bound when their events are published, sealed ones by the commitment in the
// event. The salts follow from keys that are stored with the match before its
// first event, so every record of a match has the same chain.
package record
