// Package token signs and verifies task tokens: the signed JWTs that are sent
// with every task (AAP, "Authentication"; docs/rules.md, section 2) and
// authenticate an agent on the stream. MatchTokens signs one for all tasks of an
// agent in a match.
//
// It owns the signing keys (created at the first start, rotated with an overlap,
// published as a JWK set), the claims and their verification, the creation and
// hashing of bearer secrets for owners and admins, and the verification of
// tokens of an OIDC issuer, whose keys it finds by OpenID Connect Discovery.
// Package store keeps the keys, api authorizes requests, and stream manages
// open streams. Agents verify tokens with agora-go or any JWT library.
package token
