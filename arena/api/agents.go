package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

// checkTimeout bounds the endpoint test of a request: the probe's own limit
// of 5 s and what storing it takes.
const checkTimeout = 6 * time.Second

type createAgentInput struct {
	Body struct {
		Name        string   `json:"name" minLength:"1" maxLength:"40" doc:"One of a kind among the owner's agents, in any case."`
		Endpoint    string   `json:"endpoint,omitempty" maxLength:"2048" doc:"The URL that tasks are posted to; of an aap agent, {endpoint}/health answers checks. Only agents of other protocols may leave it out, and ask for their tasks instead."`
		Protocol    string   `json:"protocol,omitempty" maxLength:"32" default:"aap" doc:"How the arena speaks to it: aap, agora, envelope or agentprotocol."`
		Leagues     []string `json:"leagues,omitempty" maxItems:"20" uniqueItems:"true" maxLength:"40" doc:"Slugs of leagues to enter."`
		Version     string   `json:"version,omitempty" maxLength:"32" doc:"Declaring a new one makes the next rated matches count more."`
		Description string   `json:"description,omitempty" maxLength:"500"`
		PublicKey   string   `json:"public_key,omitempty" maxLength:"2000" doc:"Needed by envelope (a did:key) and agentprotocol (Ed25519, base64). It must be proved before the agent plays: see key_challenge in the answer."`
	} `nameHint:"CreateAgentBody"`
}

func (a *API) createAgent(ctx context.Context, in *createAgentInput) (*output[agentView], error) {
	b := &in.Body
	if err := checkAgentTexts(b.Name, b.Version, b.Description); err != nil {
		return nil, err
	}
	if err := plaintext.CheckLine("public_key", b.PublicKey); err != nil {
		return nil, err
	}
	spoken, publicKey, err := a.spoken(b.Protocol, b.Endpoint, b.PublicKey)
	if err != nil {
		return nil, err
	}
	if err := a.limitChecks(ctx); err != nil {
		return nil, err
	}
	owner := callerOf(ctx).OwnerID
	if err := a.roomForAgent(ctx, owner); err != nil {
		return nil, err
	}
	endpoint := b.Endpoint
	if endpoint != "" {
		if endpoint, err = a.CheckEndpoint(ctx, "endpoint", endpoint); err != nil {
			return nil, err
		}
	}
	now := a.now()
	agent := arena.Agent{
		ID: arena.NewID(arena.AgentPrefix, now), OwnerID: owner, Name: b.Name, Protocol: spoken,
		Endpoint: endpoint, PublicKey: publicKey, Version: b.Version, Description: b.Description,
		Leagues: b.Leagues, CreatedAt: now,
	}
	for i, slug := range b.Leagues {
		if err := a.Entries.MayEnter(ctx, slug, agent, ""); err != nil {
			return nil, atField(fmt.Sprintf("leagues[%d]", i), err)
		}
	}
	if err := a.Store.CreateAgent(ctx, agent); err != nil {
		return nil, err
	}
	did(ctx, agent.ID, nil, auditedAgent(agent))
	checked, err := a.checkNow(ctx, agent.ID)
	if err != nil {
		// It is registered; the sweep will check it again.
		a.Logger.WarnContext(ctx, "first check failed", "agent_id", agent.ID, "error", err)
		if checked, err = a.Store.Agent(context.WithoutCancel(ctx), agent.ID); err != nil {
			return nil, err
		}
	}
	return a.oneAgent(ctx, checked)
}

// roomForAgent holds an owner to its number of agents.
func (a *API) roomForAgent(ctx context.Context, owner string) error {
	most := a.Quotas.Limits.AgentsPerOwner
	if most <= 0 {
		return nil
	}
	for count, page := 0, (arena.Page{Limit: 100}); ; {
		mine, next, err := a.Store.Agents(ctx, arena.AgentFilter{OwnerID: owner}, page)
		if err != nil {
			return err
		}
		switch count += len(mine); {
		case count >= most:
			return arena.Errorf(arena.CodeConflict, "an owner may have %d agents; retire one first", most)
		case next == "":
			return nil
		}
		page.Cursor = next
	}
}

func (a *API) checkNow(ctx context.Context, id string) (arena.Agent, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return a.CheckAgent(ctx, id)
}

func checkAgentTexts(name, version, description string) error {
	if err := plaintext.CheckLine("name", name); err != nil {
		return err
	}
	if err := plaintext.CheckLine("version", version); err != nil {
		return err
	}
	return plaintext.CheckText("description", description)
}

// atField makes a refusal about one field of the request.
func atField(field string, err error) error {
	var e *arena.Error
	if !errors.As(err, &e) {
		return err
	}
	if _, known := statusOf(e.Code); !known || e.Code == arena.CodeUnavailable {
		return err
	}
	return arena.Invalid(field, "%s", e.Message)
}

// ownAgent gives an agent that the caller may act for; another's is not found.
func (a *API) ownAgent(ctx context.Context, id string) (arena.Agent, error) {
	g, err := a.Store.Agent(ctx, id)
	if err != nil {
		return arena.Agent{}, err
	}
	if !callerOf(ctx).Owns(g.OwnerID) {
		return arena.Agent{}, arena.Errorf(arena.CodeNotFound, "you have no agent %s", id)
	}
	return g, nil
}

type updateAgentInput struct {
	IDParam
	Body struct {
		Name        *string `json:"name,omitempty" minLength:"1" maxLength:"40"`
		Endpoint    *string `json:"endpoint,omitempty" maxLength:"2048" doc:"A new one must pass a check before the agent plays again."`
		Version     *string `json:"version,omitempty" maxLength:"32"`
		Description *string `json:"description,omitempty" maxLength:"500"`
	} `nameHint:"UpdateAgentBody"`
}

func (a *API) updateAgent(ctx context.Context, in *updateAgentInput) (*output[agentView], error) {
	g, err := a.ownAgent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	if err := checkAgentTexts(orElse(b.Name, ""), orElse(b.Version, ""), orElse(b.Description, "")); err != nil {
		return nil, err
	}
	endpoint := orElse(b.Endpoint, g.Endpoint)
	if b.Endpoint != nil {
		if _, _, err := a.spoken(g.Protocol, endpoint, g.PublicKey); err != nil {
			return nil, err
		}
		if err := a.limitChecks(ctx); err != nil {
			return nil, err
		}
	}
	if b.Endpoint != nil && endpoint != "" {
		if endpoint, err = a.CheckEndpoint(ctx, "endpoint", endpoint); err != nil {
			return nil, err
		}
	}
	before, after, err := a.Store.UpdateAgent(ctx, g.ID, func(g *arena.Agent) error {
		if !g.RetiredAt.IsZero() {
			return errRetired(g.ID)
		}
		g.Name = orElse(b.Name, g.Name)
		g.Version = orElse(b.Version, g.Version)
		g.Description = orElse(b.Description, g.Description)
		if b.Endpoint != nil && endpoint != g.Endpoint {
			g.Endpoint, g.PassedAt, g.Health = endpoint, time.Time{}, arena.Health{}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	did(ctx, g.ID, auditedAgent(before), auditedAgent(after))
	if before.Endpoint != after.Endpoint {
		if after, err = a.checkNow(ctx, g.ID); err != nil {
			return nil, err
		}
	}
	return a.oneAgent(ctx, after)
}

func orElse[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// auditedAgent is what an owner may change in an agent.
func auditedAgent(g arena.Agent) map[string]string {
	return map[string]string{"name": g.Name, "endpoint": g.Endpoint, "version": g.Version, "description": g.Description}
}

func errRetired(id string) error {
	return arena.Errorf(arena.CodeConflict, "agent %s is retired", id)
}

func (a *API) retireAgent(ctx context.Context, in *IDParam) (*empty, error) {
	g, err := a.ownAgent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	now := a.now()
	_, _, err = a.Store.UpdateAgent(ctx, g.ID, func(g *arena.Agent) error {
		if g.RetiredAt.IsZero() {
			g.RetiredAt = now
		}
		return nil
	})
	return &empty{}, err
}

// pauseAgent adds the pause of whoever asks: an owner's ends by the owner, an
// admin's by an admin.
func (a *API) pauseAgent(ctx context.Context, in *IDParam) (*output[agentView], error) {
	if _, err := a.ownAgent(ctx, in.ID); err != nil {
		return nil, err
	}
	now, reason := a.now(), arena.PauseOwner
	if callerOf(ctx).IsAdmin() {
		reason = arena.PauseAdmin
	}
	before, after, err := a.Store.UpdateAgent(ctx, in.ID, func(g *arena.Agent) error {
		if !g.RetiredAt.IsZero() {
			return errRetired(g.ID)
		}
		if !hasPause(*g, reason) {
			g.Pauses = append(slices.Clone(g.Pauses), arena.Pause{Reason: reason, Since: now})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !hasPause(before, reason) {
		err := a.announce(after, now, arena.EventAgentPaused, arena.AgentPausedBody{Name: after.Name, Reason: reason})
		if err != nil {
			return nil, err
		}
	}
	return a.oneAgent(ctx, after)
}

// resumeAgent lifts what the caller may lift. A pause that ends in another
// way stays, and is the answer when nothing could be lifted.
func (a *API) resumeAgent(ctx context.Context, in *IDParam) (*output[agentView], error) {
	if _, err := a.ownAgent(ctx, in.ID); err != nil {
		return nil, err
	}
	now, mayLift := a.now(), []arena.PauseReason{arena.PauseOwner}
	if callerOf(ctx).IsAdmin() {
		mayLift = append(mayLift, arena.PauseAdmin)
	}
	before, after, err := a.Store.UpdateAgent(ctx, in.ID, func(g *arena.Agent) error {
		if !g.RetiredAt.IsZero() {
			return errRetired(g.ID)
		}
		kept := slices.DeleteFunc(slices.Clone(g.Pauses), func(p arena.Pause) bool { return slices.Contains(mayLift, p.Reason) })
		if p, paused := g.PauseAt(now); paused && len(kept) == len(g.Pauses) {
			return arena.Errorf(arena.CodeConflict, "the agent is paused (%s): %s", p.Reason, endOf(p))
		}
		g.Pauses = kept
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, reason := range mayLift {
		if hasPause(before, reason) && !hasPause(after, reason) {
			err := a.announce(after, now, arena.EventAgentResumed, arena.AgentResumedBody{Name: after.Name, Reason: reason})
			if err != nil {
				return nil, err
			}
		}
	}
	return a.oneAgent(ctx, after)
}

func hasPause(g arena.Agent, reason arena.PauseReason) bool {
	return slices.ContainsFunc(g.Pauses, func(p arena.Pause) bool { return p.Reason == reason })
}

// endOf says in words how a pause ends.
func endOf(p arena.Pause) string {
	switch p.Reason {
	case arena.PauseAdmin:
		return "an admin has to resume it"
	case arena.PauseOwner:
		return "its owner has to resume it"
	case arena.PauseHealth:
		return "two health checks in a row have to succeed"
	case arena.PauseRateLimit:
		return "it ends at " + p.Until.UTC().Format(arena.TimeFormat)
	}
	return "it has to be lifted"
}

// announce tells spectators about an agent's state.
func (a *API) announce(g arena.Agent, at time.Time, t arena.EventType, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", t, err)
	}
	a.Publisher.PublishAgent(g.Leagues, arena.Event{AgentID: g.ID, At: at, Type: t, Body: data})
	return nil
}
