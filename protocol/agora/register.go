package agora

import (
	"context"
	"crypto/rand"
	"crypto/sha256"

	"github.com/agora-arena/arena/arena"
)

// registered answers a registration. When the owner was made and the agent was
// not, the owner's token stands beside the error.
type registered struct {
	Error      string `json:"error,omitempty"`
	AgentID    string `json:"agent_id,omitempty"`
	Base       string `json:"base,omitempty"`
	OwnerToken string `json:"owner_token,omitempty"`
}

// registration registers an agent, and an owner where no token is given, and
// returns the agent's secret base URL. With an agent_id it returns a fresh one.
func (s *Server) registration(ctx context.Context, c *call, body []byte) (any, error) {
	var in struct {
		Name        string   `json:"name"`
		Leagues     []string `json:"leagues"`
		Endpoint    string   `json:"endpoint"`
		Version     string   `json:"version"`
		Description string   `json:"description"`
		OwnerToken  string   `json:"owner_token"`
		OwnerName   string   `json:"owner_name"`
		AgentID     string   `json:"agent_id"`
	}
	err := readBody(body, &in, "name", "leagues", "endpoint", "version", "description", "owner_token", "owner_name", "agent_id")
	if err != nil {
		return nil, err
	}
	if in.AgentID != "" {
		if err := s.checkOwner(ctx, c, in.AgentID, in.OwnerToken); err != nil {
			return nil, err
		}
		base, err := s.freshBase(ctx, in.AgentID)
		return registered{AgentID: in.AgentID, Base: base}, err
	}
	if in.Name == "" {
		return nil, fault("name is missing")
	}
	var out registered
	if in.OwnerToken == "" {
		if in.OwnerName == "" {
			in.OwnerName = in.Name
		}
		if out.OwnerToken, err = s.signUp(ctx, c, in.OwnerName); err != nil {
			return nil, err
		}
		in.OwnerToken = out.OwnerToken
	}
	g, err := s.register(ctx, c, in.OwnerToken, arena.Registration{
		Name: in.Name, Protocol: arena.ProtocolAgora, Endpoint: in.Endpoint, Version: in.Version, Description: in.Description, Leagues: in.Leagues,
	})
	if f, ok := err.(fault); ok && out.OwnerToken != "" { //nolint:errorlint // faultOf returns it unwrapped
		out.Error = string(f)
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	out.AgentID = g.ID
	out.Base, err = s.freshBase(ctx, g.ID)
	return out, err
}

// signUp makes an owner and returns its token.
func (s *Server) signUp(ctx context.Context, c *call, name string) (string, error) {
	caller, err := s.identify(ctx, c, "")
	if err != nil {
		return "", err
	}
	_, secret, err := s.o.Accounts.SignUp(ctx, caller, arena.SignUp{Name: name, Address: c.address})
	return secret, faultOf(err)
}

func (s *Server) register(ctx context.Context, c *call, token string, in arena.Registration) (arena.Agent, error) {
	caller, err := s.identify(ctx, c, token)
	if err != nil {
		return arena.Agent{}, err
	}
	g, _, err := s.o.Agents.Register(ctx, caller, in)
	return g, faultOf(err)
}

// checkOwner checks that the token belongs to an admin or to the owner of the
// agent, and that the agent uses this protocol.
func (s *Server) checkOwner(ctx context.Context, c *call, agentID, token string) error {
	if !isName(agentID) || token == "" {
		return fault("agent_id and owner_token belong together")
	}
	caller, err := s.identify(ctx, c, token)
	if err != nil {
		return err
	}
	g, err := s.o.Agents.Own(ctx, caller, agentID)
	if err == nil && g.Protocol == arena.ProtocolAgora && g.RetiredAt.IsZero() {
		return nil
	}
	if err == nil || arena.CodeOf(err) == arena.CodeNotFound {
		return fault("You have no such agent that speaks two-party Agora")
	}
	return faultOf(err)
}

// freshBase makes an agent's secret base URL. Only the hash of the secret is
// stored.
func (s *Server) freshBase(ctx context.Context, agentID string) (string, error) {
	secret := "arx_" + rand.Text() + rand.Text()
	err := s.o.Store.SetSecretBase(ctx, agentID, sha256.Sum256([]byte(secret)), s.o.Now())
	return s.o.PublicURL + Root + "/x/" + secret, err
}
