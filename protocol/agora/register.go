package agora

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"

	"github.com/agora-arena/arena/arena"
)

// registration makes an agent by the API, as any owner would, and gives it its
// secret base URL.
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
	var out struct {
		AgentID    string `json:"agent_id"`
		Base       string `json:"base"`
		OwnerToken string `json:"owner_token,omitempty"`
	}
	type half struct { // the owner is there, the agent is not
		Error      string `json:"error"`
		OwnerToken string `json:"owner_token"`
	}
	if in.AgentID != "" {
		out.AgentID = in.AgentID
		if err := s.owns(ctx, c, in.AgentID, in.OwnerToken); err != nil {
			return nil, err
		}
		out.Base, err = s.freshBase(ctx, in.AgentID)
		return out, err
	}
	if in.Name == "" {
		return nil, fault("name is missing")
	}
	if in.OwnerToken == "" {
		if in.OwnerName == "" {
			in.OwnerName = in.Name
		}
		var owner struct{ Token string }
		if err := s.fetch(ctx, c, http.MethodPost, "/v1/owners", "", map[string]string{"name": in.OwnerName}, &owner); err != nil {
			return nil, err
		}
		in.OwnerToken, out.OwnerToken = owner.Token, owner.Token
	}
	agent := map[string]any{
		"name": in.Name, "protocol": arena.ProtocolAgora, "leagues": append([]string{}, in.Leagues...),
		"version": in.Version, "description": in.Description,
	}
	if in.Endpoint != "" {
		agent["endpoint"] = in.Endpoint
	}
	var made struct {
		AgentID string `json:"agent_id"`
	}
	err = s.fetch(ctx, c, http.MethodPost, "/v1/agents", in.OwnerToken, agent, &made)
	if f, ok := errors.AsType[fault](err); ok && out.OwnerToken != "" {
		return half{string(f), out.OwnerToken}, nil
	}
	if err != nil {
		return nil, err
	}
	out.AgentID = made.AgentID
	out.Base, err = s.freshBase(ctx, made.AgentID)
	return out, err
}

// owns checks that the token is that of the owner of an agent that speaks this
// protocol, or an admin's.
func (s *Server) owns(ctx context.Context, c *call, agentID, token string) error {
	if !isName(agentID) || token == "" {
		return fault("agent_id and owner_token belong together")
	}
	var me struct {
		Scope   arena.Scope `json:"scope"`
		OwnerID string      `json:"owner_id"`
	}
	if err := s.fetch(ctx, c, http.MethodGet, "/v1/me", token, nil, &me); err != nil {
		return err
	}
	var agent struct {
		OwnerID  string `json:"owner_id"`
		Protocol string `json:"protocol"`
		Status   string `json:"status"`
	}
	if err := s.fetch(ctx, c, http.MethodGet, "/v1/agents/"+agentID, token, nil, &agent); err != nil {
		return err
	}
	owns := me.Scope == arena.ScopeAdmin || me.OwnerID != "" && agent.OwnerID == me.OwnerID
	if !owns || agent.Protocol != arena.ProtocolAgora || agent.Status == string(arena.AgentRetired) {
		return fault("You have no such agent that speaks two-party Agora")
	}
	return nil
}

// freshBase makes an agent's secret base URL. Only the hash of the secret is
// kept.
func (s *Server) freshBase(ctx context.Context, agentID string) (string, error) {
	secret := "arx_" + rand.Text() + rand.Text()
	err := s.o.Store.SetSecretBase(ctx, agentID, sha256.Sum256([]byte(secret)), s.o.Now())
	return s.o.PublicURL + Root + "/x/" + secret, err
}
