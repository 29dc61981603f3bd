package protocol

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// TokenForgeries makes the forgeries of a protocol whose tasks carry a task
// token. All members are needed.
type TokenForgeries struct {
	Clause  string // that requires the token
	Covered string // what the hash in the token is of: "the body as it came"
	Sign    func(arena.TaskClaims) (string, error)
	Unknown func(arena.TaskClaims) (string, error) // signs with a key that the arena does not publish
	Now     func() time.Time
	Signed  func(sign func(arena.TaskClaims) (string, error)) Sender // sends with another signer
	Altered Sender                                                   // changes the task after it was signed
}

// AlterTask changes the text of a task of the conformance kit.
func AlterTask(body []byte) []byte {
	return bytes.Replace(body, []byte("Australia"), []byte("Austria"), 1)
}

// List returns the forgeries.
func (t TokenForgeries) List() []Forgery {
	return []Forgery{
		{
			ID: "token.missing", What: "no token", Clause: t.Clause,
			Cure: "Refuse a task that comes without a token.",
			Send: t.Signed(func(arena.TaskClaims) (string, error) { return "", nil }),
		},
		{
			ID: "token.stranger", What: "a token signed with an unknown key", Clause: t.Clause,
			Cure: "Take only signatures of the keys in the arena's key set.",
			Send: t.Signed(t.Unknown),
		},
		{
			ID: "token.signature", What: "a token with a broken signature", Clause: t.Clause,
			Cure: "Verify the signature before you use anything in the token.",
			Send: t.Signed(func(c arena.TaskClaims) (string, error) { return brokenSignature(t.Sign(c)) }),
		},
		{
			ID: "token.none", What: "a token with alg none", Clause: t.Clause,
			Cure: "List the algorithms that you accept: the key set's, ES256 by default.",
			Send: t.Signed(func(c arena.TaskClaims) (string, error) { return unsigned(t.Sign(c)) }),
		},
		{
			ID: "token.expired", What: "a token that has expired", Clause: t.Clause,
			Cure: "Check exp (the same instant as expires_at) with a leeway of some seconds.",
			Send: t.Signed(func(c arena.TaskClaims) (string, error) {
				c.IssuedAt, c.ExpiresAt = t.Now().Add(-5*time.Minute), t.Now().Add(-4*time.Minute)
				return t.Sign(c)
			}),
		},
		{
			ID: "token.other_agent", What: "a token for another agent", Clause: t.Clause + "; rules, 2",
			Cure: "Configure the agent's id and compare aud with it. Without this check an opponent can send you its own tasks.",
			Send: t.Signed(func(c arena.TaskClaims) (string, error) {
				c.AgentID = "ag_somebody_else"
				return t.Sign(c)
			}),
		},
		{
			ID: "token.other_body", What: "a token for another body", Clause: "rules, 2",
			Cure: "Compare bh with the base64url SHA-256 of " + t.Covered + ". Without this check anyone who has a token can change the task.",
			Send: t.Altered,
		},
	}
}

// brokenSignature changes one bit in the middle of a token's signature.
func brokenSignature(token string, err error) (string, error) {
	dot := strings.LastIndexByte(token, '.')
	if err != nil || dot < 0 {
		return token, err
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[dot+1:])
	if err != nil || len(signature) == 0 {
		return "", fmt.Errorf("the token has no signature: %w", err)
	}
	signature[len(signature)/2] ^= 1
	return token[:dot+1] + base64.RawURLEncoding.EncodeToString(signature), nil
}

// unsigned returns the claims of a token under alg none.
func unsigned(token string, err error) (string, error) {
	parts := strings.Split(token, ".")
	if err != nil || len(parts) != 3 {
		return token, err
	}
	return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"aap-task+jwt"}`)) + "." + parts[1] + ".", nil
}
