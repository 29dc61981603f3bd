package registry

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

func (s *Service) protocolNames() string {
	return strings.Join(slices.Sorted(maps.Keys(s.o.Protocols)), ", ")
}

// KeyChallenge returns the text that the owner of an agent must sign to prove
// its key, "" if there is nothing to prove.
func (s *Service) KeyChallenge(g arena.Agent) string {
	if s.o.Protocols[g.Protocol].CheckKey == nil || !g.KeyProvedAt.IsZero() {
		return ""
	}
	return g.KeyChallenge(s.o.PublicURL)
}

// VerifyKey checks the signature of an agent's key challenge, which proves that
// the owner holds the key, and then checks the agent.
func (s *Service) VerifyKey(ctx context.Context, caller arena.Caller, id, signature string) (arena.Agent, error) {
	g, err := s.Own(ctx, caller, id)
	if err != nil {
		return arena.Agent{}, err
	}
	checkKey := s.o.Protocols[g.Protocol].CheckKey
	if checkKey == nil {
		return arena.Agent{}, arena.Errorf(arena.CodeConflict, "an agent of protocol %s has no key to prove", g.Protocol)
	}
	if err := s.o.Checks.Take(ctx, caller.Account()); err != nil {
		return arena.Agent{}, err
	}
	_, key, err := checkKey(g.PublicKey)
	if err != nil {
		return arena.Agent{}, err
	}
	signed, err := decodeSignature(signature)
	if err != nil || !ed25519.Verify(key, []byte(g.KeyChallenge(s.o.PublicURL)), signed) {
		return arena.Agent{}, arena.Invalid("signature", "it is not the signature of key_challenge by the agent's key")
	}
	now := s.now()
	_, after, err := s.o.Store.Agents.UpdateAgent(ctx, g.ID, func(stored *arena.Agent) error {
		if err := stored.NotRetired(); err != nil {
			return err
		}
		switch {
		case stored.PublicKey != g.PublicKey:
			return arena.Errorf(arena.CodeConflict, "the agent's key has changed meanwhile")
		case stored.KeyProvedAt.IsZero():
			stored.KeyProvedAt = now
		}
		return nil
	}, s.act(caller, now, "prove-key", true))
	if err != nil {
		return arena.Agent{}, err
	}
	return s.checkChange(ctx, after)
}

// decodeSignature reads both alphabets of base64, with or without padding.
func decodeSignature(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") { // which the decoder would ignore
		return nil, errors.New("it holds a line break")
	}
	text = strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(text), "=")
	return base64.RawURLEncoding.Strict().DecodeString(text)
}
