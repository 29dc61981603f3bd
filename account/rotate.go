package account

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

// live removes the tokens that have ended.
func (s *Service) live(tokens []arena.Token, err error) ([]arena.Token, error) {
	now := s.now()
	return slices.DeleteFunc(tokens, func(t arena.Token) bool { return !t.LiveAt(now) }), err
}

// RotateToken replaces one of the calling owner's tokens by a new one of the same
// name. The old one ends after grace, which is one of arena.RotationGraces.
func (s *Service) RotateToken(ctx context.Context, caller arena.Caller, id string, grace time.Duration) (t arena.Token, secret string, err error) {
	if err := needOwner(caller); err != nil {
		return t, "", err
	}
	old, err := s.o.Store.Accounts.Token(ctx, id)
	if err != nil {
		return t, "", err
	}
	if old.OwnerID != caller.OwnerID || old.AgentID != "" {
		return t, "", arena.Errorf(arena.CodeNotFound, "there is no token %q", id)
	}
	now := s.now()
	secret, t = s.newToken(caller.OwnerID, old.Name, now)
	return t, secret, s.rotate(ctx, caller, "rotate-token", old, t, grace)
}

// RotateAgentKey replaces a key of an agent as RotateToken does. The caller may
// act for the agent.
func (s *Service) RotateAgentKey(ctx context.Context, caller arena.Caller, g arena.Agent, id string, grace time.Duration) (t arena.Token, secret string, err error) {
	old, err := s.o.Store.Accounts.Token(ctx, id)
	if err != nil {
		return t, "", err
	}
	if old.AgentID != g.ID {
		return t, "", arena.Errorf(arena.CodeNotFound, "agent %s has no key %s", g.ID, id)
	}
	if err := g.NotRetired(); err != nil {
		return t, "", err
	}
	t, secret = token.NewAgentKey(g, old.Name, s.now())
	return t, secret, s.rotate(ctx, caller, "rotate-agent-key", old, t, grace)
}

func (s *Service) rotate(ctx context.Context, caller arena.Caller, action string, old, fresh arena.Token, grace time.Duration) error {
	if !slices.Contains(arena.RotationGraces(), grace) {
		return arena.Invalid("grace_seconds", "must be 0, 3600 or 86400")
	}
	e, err := caller.Audit(fresh.CreatedAt, action, old.ID, nil, map[string]any{"token_id": fresh.ID, "grace_seconds": int(grace.Seconds())})
	if err != nil {
		return err
	}
	return s.o.Store.Accounts.RotateToken(ctx, old.ID, fresh, fresh.CreatedAt.Add(grace), e)
}

// usedEvery is how exactly a token's last use is known.
const usedEvery = time.Minute

// uses are the uses of tokens that are not stored yet, so that no request waits
// for a write. The zero value is ready.
type uses struct {
	mu   sync.Mutex
	last map[string]arena.TokenUse // by token id
}

// note records a use of a token, unless one is stored for this minute.
func (u *uses) note(t arena.Token, address string, at time.Time) {
	if at.Sub(t.LastUsedAt) < usedEvery {
		return
	}
	network, _ := arena.AddressKeys(address)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[string]arena.TokenUse{}
	}
	u.last[t.ID] = arena.TokenUse{TokenID: t.ID, At: at, Network: network}
}

// take empties the uses.
func (u *uses) take() []arena.TokenUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []arena.TokenUse
	for _, use := range u.last {
		all = append(all, use)
	}
	u.last = nil
	return all
}

// StoreUses stores the uses of tokens since the last call in one write. Uses are
// lost when it fails: the next ones are noted again.
func (s *Service) StoreUses(ctx context.Context) error {
	return s.o.Store.Accounts.NoteTokenUses(ctx, s.uses.take())
}
