// Package token makes and checks task tokens: the signed JWTs that travel
// with every task (AAP, "Authentication"; docs/rules.md, section 2) and open the
// agent's side of the stream.
//
// It owns the signing keys (made at first start, rotated with an overlap,
// published as a JWK set), the claims and their check, the making and hashing
// of bearer secrets for owners and admins, and the check of tokens of an
// outside issuer, whose keys it finds by OpenID Connect Discovery. It leaves
// the keys' rows to store, who may do what to arena/api, and the life of an
// open stream to stream. Agents check tokens with agora-go or any JWT library.
//
// It imports arena, arena/strictjson, golang-jwt, jwkset and keyfunc; only
// arena/server imports it.
package token
