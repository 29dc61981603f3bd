package api

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// Protocol is what registration asks of agents of one protocol.
type Protocol struct {
	// CheckKey gives the canonical form of a public key and the key itself. nil:
	// the protocol knows no keys, and the text is kept as it is.
	CheckKey func(text string) (canonical string, key ed25519.PublicKey, err error)
	// Polls says that an agent may ask for its tasks and needs no endpoint.
	Polls bool
}

// spoken checks what a protocol asks of an agent's endpoint and key, and gives
// the key's canonical form.
func (a *API) spoken(protocol, endpoint, publicKey string) (name, canonical string, err error) {
	p, known := a.Protocols[protocol]
	switch {
	case !known:
		return "", "", arena.Invalid("protocol", "must be one of: %s", strings.Join(slices.Sorted(maps.Keys(a.Protocols)), ", "))
	case endpoint == "" && !p.Polls:
		return "", "", arena.Invalid("endpoint", "an agent of protocol %s needs one", protocol)
	case p.CheckKey == nil:
		return protocol, publicKey, nil
	case publicKey == "":
		return "", "", arena.Invalid("public_key", "an agent of protocol %s needs one", protocol)
	}
	canonical, _, err = p.CheckKey(publicKey)
	if err != nil {
		return "", "", arena.Invalid("public_key", "%s", err)
	}
	return protocol, canonical, nil
}

// keyed says whether an agent has a key that must be proved.
func (a *API) keyed(g arena.Agent) bool { return a.Protocols[g.Protocol].CheckKey != nil }

type proveKeyInput struct {
	IDParam
	Body struct {
		Signature string `json:"signature" minLength:"86" maxLength:"88" doc:"Ed25519 over the UTF-8 bytes of key_challenge, in base64 or base64url."`
	} `nameHint:"ProveKeyBody"`
}

// proveKey takes the signature of the agent's challenge, and checks the agent
// at once.
func (a *API) proveKey(ctx context.Context, in *proveKeyInput) (*output[agentView], error) {
	g, err := a.ownAgent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !a.keyed(g) {
		return nil, arena.Errorf(arena.CodeConflict, "an agent of protocol %s has no key to prove", g.Protocol)
	}
	if err := a.limitChecks(ctx); err != nil {
		return nil, err
	}
	_, key, err := a.Protocols[g.Protocol].CheckKey(g.PublicKey)
	if err != nil {
		return nil, err
	}
	signature, err := decodeSignature(in.Body.Signature)
	if err != nil || !ed25519.Verify(key, []byte(g.KeyChallenge(a.PublicURL)), signature) {
		return nil, arena.Invalid("signature", "it is not the signature of key_challenge by the agent's key")
	}
	now := a.now()
	before, after, err := a.Store.UpdateAgent(ctx, g.ID, func(stored *arena.Agent) error {
		switch {
		case !stored.RetiredAt.IsZero():
			return errRetired(g.ID)
		case stored.PublicKey != g.PublicKey:
			return arena.Errorf(arena.CodeConflict, "the agent's key has changed meanwhile")
		case stored.KeyProvedAt.IsZero():
			stored.KeyProvedAt = now
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	did(ctx, g.ID, auditedAgent(before), auditedAgent(after))
	checked, err := a.checkNow(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	return a.oneAgent(ctx, checked)
}

// decodeSignature takes both alphabets of base64, with padding or without.
func decodeSignature(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") { // which the decoder would pass over
		return nil, errors.New("it holds a line break")
	}
	text = strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(text), "=")
	return base64.RawURLEncoding.Strict().DecodeString(text)
}
