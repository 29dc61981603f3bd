package account

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

// maxAgentKeys is how many keys an agent may have at once: enough to rotate.
const maxAgentKeys = 10

// The keys of agents are tokens of the scope agent. The caller of these methods
// may act for the agent; see registry.Service.Own.

// AgentKeys returns the keys of an agent that are valid, oldest first.
func (s *Service) AgentKeys(ctx context.Context, g arena.Agent) ([]arena.Token, error) {
	return s.live(s.o.Store.Accounts.AgentKeys(ctx, g.ID))
}

// CreateAgentKey makes a key with which an agent fetches and answers its tasks.
func (s *Service) CreateAgentKey(ctx context.Context, caller arena.Caller, g arena.Agent, name string) (t arena.Token, secret string, err error) {
	if err := checkName(name); err != nil {
		return t, "", err
	}
	if err := g.NotRetired(); err != nil {
		return t, "", err
	}
	if g.Protocol != arena.ProtocolAAP {
		return t, "", arena.Errorf(arena.CodeConflict, "an agent of protocol %s has no keys of this kind", g.Protocol)
	}
	held, err := s.AgentKeys(ctx, g)
	if err != nil {
		return t, "", err
	}
	if len(held) >= maxAgentKeys {
		return t, "", arena.Errorf(arena.CodeConflict, "an agent may have %d keys; revoke one first", maxAgentKeys)
	}
	t, secret = token.NewAgentKey(g, name, s.now())
	e, err := caller.Audit(t.CreatedAt, "create-agent-key", t.ID, nil, map[string]any{"agent_id": g.ID, "name": name})
	if err != nil {
		return t, "", err
	}
	return t, secret, s.o.Store.Accounts.CreateToken(ctx, t, e)
}

// RevokeAgentKey ends a key of an agent.
func (s *Service) RevokeAgentKey(ctx context.Context, caller arena.Caller, g arena.Agent, id string) error {
	t, err := s.o.Store.Accounts.Token(ctx, id)
	if err != nil {
		return err
	}
	if t.AgentID != g.ID {
		return arena.Errorf(arena.CodeNotFound, "agent %s has no key %s", g.ID, id)
	}
	e, err := caller.Audit(s.now(), "revoke-agent-key", id, nil, map[string]any{"agent_id": g.ID})
	if err != nil {
		return err
	}
	return s.o.Store.Accounts.RevokeToken(ctx, t.OwnerID, id, e)
}
