package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/api/mcp"
	"github.com/agora-arena/arena/arena"
)

const checkPath = "/v1/agents/{id}/check"

// Agents is the service for agents.
type Agents interface {
	Own(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error)
	Register(ctx context.Context, caller arena.Caller, in arena.Registration) (g arena.Agent, key string, err error)
	Update(ctx context.Context, caller arena.Caller, id string, in arena.AgentUpdate) (arena.Agent, error)
	Retire(ctx context.Context, caller arena.Caller, id string) error
	Check(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error)
	FullCheck(ctx context.Context, caller arena.Caller, id string) (arena.Agent, arena.Conformance, error)
	VerifyKey(ctx context.Context, caller arena.Caller, id, signature string) (arena.Agent, error)
	KeyChallenge(g arena.Agent) string
	Pause(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error)
	Resume(ctx context.Context, caller arena.Caller, id string) (arena.Agent, error)
	Cooldowns(ctx context.Context, agents []arena.Agent) (map[string]arena.BudgetCooldown, error)
	BudgetUse(ctx context.Context, caller arena.Caller, id string) (arena.BudgetUse, error)
	Rehearse(ctx context.Context, caller arena.Caller, id string, in arena.RehearsalRequest) (arena.Rehearsal, arena.RehearsalReport, error)
}

// agentHandlers serve the routes that register, change and show agents.
type agentHandlers struct {
	agents Agents
	keys   agentKeys
	rows   Rows
	views  *agentViews
}

type createAgentInput struct {
	IdempotencyKey string `header:"Idempotency-Key" minLength:"16" maxLength:"128" doc:"A random text, such as a UUID. A repeated request with it returns the same agent and agent_key. Only for agents that fetch their tasks with a key."`
	Body           struct {
		Name          string   `json:"name" minLength:"1" maxLength:"40" doc:"Unique in the arena, in any case; names that look the same count as one."`
		Endpoint      string   `json:"endpoint,omitempty" maxLength:"2048" doc:"The URL that tasks are posted to; of an aap agent, {endpoint}/health answers checks. Left out: the agent fetches its tasks, an aap agent from GET /v1/agents/{id}/tasks."`
		Protocol      string   `json:"protocol,omitempty" maxLength:"32" default:"aap" doc:"How the arena speaks to it: aap, agora, envelope, agentprotocol or a2a."`
		Leagues       []string `json:"leagues,omitempty" maxItems:"20" uniqueItems:"true" maxLength:"40" doc:"Slugs of leagues to enter."`
		Version       string   `json:"version,omitempty" maxLength:"32" doc:"Declaring a new one makes the next rated matches count more."`
		Model         string   `json:"model,omitempty" maxLength:"80" example:"gpt-4.1-mini" doc:"The language model or framework that answers. It is public; the arena does not check it."`
		Mark          string   `json:"mark,omitempty" maxLength:"40" example:"star-teal" doc:"The shape and color of its avatar, such as star-teal: GET /v1/catalog lists them. Empty: they are made from its id."`
		Description   string   `json:"description,omitempty" maxLength:"500"`
		MaxConcurrent int      `json:"max_concurrent,omitempty" minimum:"1" maximum:"1000" doc:"How many matches an aap agent without an endpoint plays at once; default 1. Others declare it in their health checks."`
		PublicKey     string   `json:"public_key,omitempty" maxLength:"2000" doc:"Needed by envelope (a did:key) and agentprotocol (Ed25519, base64). It must be proved before the agent plays: see key_challenge in the answer."`
	} `nameHint:"CreateAgentBody"`
}

// createdAgentView is an agent with the key that it was given.
type createdAgentView struct {
	AgentView
	Key string `json:"agent_key,omitempty" doc:"The bearer token with which an aap agent without an endpoint fetches its tasks. It is shown once."`
}

func (h *agentHandlers) create(ctx context.Context, in *createAgentInput) (*output[createdAgentView], error) {
	b := &in.Body
	g, key, err := h.agents.Register(ctx, callerOf(ctx), arena.Registration{
		Name: b.Name, Protocol: b.Protocol, Endpoint: b.Endpoint, PublicKey: b.PublicKey,
		Version: b.Version, Model: b.Model, Mark: b.Mark, Description: b.Description, Leagues: b.Leagues, PullConcurrent: b.MaxConcurrent, IdempotencyKey: in.IdempotencyKey,
	})
	view, err := h.show(ctx, g, err)
	if err != nil {
		return nil, err
	}
	return answer(createdAgentView{AgentView: view.Body, Key: key})
}

// show answers with an agent that an operation returned.
func (h *agentHandlers) show(ctx context.Context, g arena.Agent, err error) (*output[agentView], error) {
	if err != nil {
		return nil, err
	}
	return h.views.answer(ctx, g)
}

type listAgentsInput struct {
	PageParams
	Owner   string `query:"owner" maxLength:"64" doc:"Only this owner's; me for the caller's own."`
	League  string `query:"league" maxLength:"40" doc:"Only those that have entered it."`
	Query   string `query:"q" maxLength:"40" doc:"Only those with this in their name, in any case."`
	Retired bool   `query:"retired" doc:"Retired ones too."`
}

func (h *agentHandlers) list(ctx context.Context, in *listAgentsInput) (*output[listOf[agentView]], error) {
	f := arena.AgentFilter{OwnerID: in.Owner, League: in.League, Query: in.Query, Retired: in.Retired}
	if in.Owner == "me" {
		caller := callerOf(ctx)
		if !caller.Known() {
			return nil, arena.Errorf(arena.CodeUnauthorized, "this needs a token")
		}
		if caller.OwnerID == "" {
			return nil, arena.Invalid("owner", "an admin owns no agents")
		}
		f.OwnerID = caller.OwnerID
	}
	found, next, err := h.rows.Agents.Agents(ctx, f, in.page())
	if err != nil {
		return nil, err
	}
	views, err := h.views.of(ctx, found)
	if err != nil {
		return nil, err
	}
	return answerList(views, next)
}

func (h *agentHandlers) get(ctx context.Context, in *IDParam) (*output[agentView], error) {
	g, err := h.rows.Agents.Agent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := h.views.answer(ctx, g)
	if err != nil {
		return nil, err
	}
	if out.Body.Outcomes, err = h.rows.Ratings.AgentCauses(ctx, g.ID); err != nil {
		return nil, err
	}
	noShows, err := h.rows.Ratings.SeenNoShows(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	out.Body.NoShows = noShowViews(noShows, h.views.now())
	if g.Protocol == arena.ProtocolEnvelope {
		key, err := h.rows.Relay.RelayKey(ctx, g.PublicKey)
		if err != nil {
			return nil, err
		}
		out.Body.Manifest = key.Manifest
	}
	return out, nil
}

type chosenMarksView struct {
	Marks map[string]string `json:"marks" doc:"By agent. At most 5000; beyond that, retired agents are left out first, then those registered first."`
}

type marksOutput struct {
	CacheControl string `header:"Cache-Control"`
	Body         chosenMarksView
}

// marks returns the marks that owners have chosen, for whoever draws avatars.
func (h *agentHandlers) marks(ctx context.Context, _ *struct{}) (*marksOutput, error) {
	out := &marksOutput{CacheControl: "public, max-age=60"}
	var err error
	out.Body.Marks, err = h.rows.Agents.Marks(ctx)
	return out, err
}

type updateAgentInput struct {
	IDParam
	Body struct {
		Name        *string `json:"name,omitempty" minLength:"1" maxLength:"40"`
		Endpoint    *string `json:"endpoint,omitempty" maxLength:"2048" doc:"A new one must pass a check before the agent plays again. Empty: the agent fetches its tasks."`
		Version     *string `json:"version,omitempty" maxLength:"32"`
		Model       *string `json:"model,omitempty" maxLength:"80" doc:"The language model or framework that answers. It is public."`
		Mark        *string `json:"mark,omitempty" maxLength:"40" doc:"The shape and color of its avatar, such as star-teal: GET /v1/catalog lists them. Empty: they are made from its id."`
		Description *string `json:"description,omitempty" maxLength:"500"`
		PauseAfter  *int    `json:"pause_after,omitempty" minimum:"0" maximum:"100" doc:"Failed rounds in a row that pause the agent (default 10); 0: none do."`

		MaxConcurrent *int        `json:"max_concurrent,omitempty" minimum:"1" maximum:"1000" doc:"How many matches an aap agent without an endpoint plays at once."`
		Budget        budgetInput `json:"budget,omitzero"`
	} `nameHint:"UpdateAgentBody"`
}

func (h *agentHandlers) update(ctx context.Context, in *updateAgentInput) (*output[agentView], error) {
	b := &in.Body
	g, err := h.agents.Update(ctx, callerOf(ctx), in.ID, arena.AgentUpdate{
		Name: b.Name, Endpoint: b.Endpoint, Version: b.Version, Model: b.Model, Mark: b.Mark, Description: b.Description, PauseAfter: b.PauseAfter,
		PullConcurrent: b.MaxConcurrent, Budget: b.Budget.budget,
	})
	return h.show(ctx, g, err)
}

func (h *agentHandlers) retire(ctx context.Context, in *IDParam) (*empty, error) {
	return &empty{}, h.agents.Retire(ctx, callerOf(ctx), in.ID)
}

type checkAgentInput struct {
	IDParam
	Full bool `query:"full" doc:"Run the conformance kit too, for up to a minute. Its tasks belong to no match and count nowhere."`
}

// AgentView is exported only because Huma skips unexported embedded structs.
type AgentView = agentView

// checkedView is an agent after a check.
type checkedView struct {
	AgentView
	Report json.RawMessage `json:"report,omitempty" doc:"With full=true: what arena check --json prints."`
}

func (h *agentHandlers) check(ctx context.Context, in *checkAgentInput) (*output[checkedView], error) {
	var g arena.Agent
	var found arena.Conformance
	var err error
	if in.Full {
		g, found, err = h.agents.FullCheck(ctx, callerOf(ctx), in.ID)
	} else {
		g, err = h.agents.Check(ctx, callerOf(ctx), in.ID)
	}
	view, err := h.show(ctx, g, err)
	if err != nil {
		return nil, err
	}
	return answer(checkedView{AgentView: view.Body, Report: found.Report})
}

type proveKeyInput struct {
	IDParam
	Body struct {
		Signature string `json:"signature" minLength:"86" maxLength:"88" doc:"Ed25519 over the UTF-8 bytes of key_challenge, in base64 or base64url."`
	} `nameHint:"ProveKeyBody"`
}

func (h *agentHandlers) proveKey(ctx context.Context, in *proveKeyInput) (*output[agentView], error) {
	g, err := h.agents.VerifyKey(ctx, callerOf(ctx), in.ID, in.Body.Signature)
	return h.show(ctx, g, err)
}

func (h *agentHandlers) pause(ctx context.Context, in *IDParam) (*output[agentView], error) {
	g, err := h.agents.Pause(ctx, callerOf(ctx), in.ID)
	return h.show(ctx, g, err)
}

func (h *agentHandlers) resume(ctx context.Context, in *IDParam) (*output[agentView], error) {
	g, err := h.agents.Resume(ctx, callerOf(ctx), in.ID)
	return h.show(ctx, g, err)
}

// Tasks serve agents that fetch their tasks.
type Tasks interface {
	// Poll answers a request for a task, or returns an error, which was not
	// answered. It may keep the connection.
	Poll(w http.ResponseWriter, r *http.Request, caller arena.Caller, agentID string) error
	// Answer stores the answer to a task and returns its outcome.
	Answer(w http.ResponseWriter, r *http.Request, caller arena.Caller, agentID, taskID string) (arena.Outcome, error)
	mcp.Tasks
}

// mountTasks mounts a route of agents that fetch their tasks. Its handler reads
// the request and, unless it returns an error, answers it.
func mountTasks(h func(Tasks, *gin.Context, arena.Caller) error) func(*API, route) {
	return func(a *API, r route) {
		a.engine.Handle(r.method, ginPath(r.path), func(c *gin.Context) {
			caller, err := a.identify(c, r.scope)
			if err == nil {
				err = h(a.handlers.Tasks, c, caller)
			}
			if err != nil {
				a.fail(c, err)
			}
		})
		a.document(r)
	}
}

func pollTask(t Tasks, c *gin.Context, caller arena.Caller) error {
	return t.Poll(c.Writer, c.Request, caller, c.Param("id"))
}

// acceptedView answers an answer.
type acceptedView struct {
	Outcome arena.Outcome `json:"outcome"`
}

func answerTask(t Tasks, c *gin.Context, caller arena.Caller) error {
	outcome, err := t.Answer(c.Writer, c.Request, caller, c.Param("id"), c.Param("task_id"))
	if err != nil {
		return err
	}
	c.Header("Content-Type", jsonType)
	c.Status(http.StatusAccepted)
	_ = writeJSON(c.Writer, acceptedView{outcome}) // the client may have gone
	return nil
}

func stringSchema(doc string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: doc}
}

func describePoll(op *huma.Operation) {
	op.Description = "Scope: a key of the agent, or a token of its owner. Waits for a task of an aap agent without an endpoint. " +
		"At most max_concurrent + 1 polls may wait. A task that was neither answered nor followed by an event is delivered again, as the next attempt, to a poll that would exceed max_concurrent."
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: "wait", In: "query", Schema: &huma.Schema{Type: huma.TypeNumber, Description: "Seconds to wait, 0 to 60; default 30."},
	})
	op.Responses = map[string]*huma.Response{
		"200": {Description: "A task.", Content: map[string]*huma.MediaType{jsonType: {Schema: &huma.Schema{
			Type: huma.TypeObject, Required: []string{"task", "token", "task_id", "deadline", "attempt"},
			Properties: map[string]*huma.Schema{
				"task":     {Type: huma.TypeObject, Description: "The AAP request. The token covers the bytes of this field."},
				"token":    stringSchema("The task token, as an endpoint gets it."),
				"task_id":  stringSchema("Names the task in the answer. The same task has the same answer."),
				"deadline": {Type: huma.TypeString, Format: "date-time"},
				"attempt":  {Type: huma.TypeInteger},
			},
		}}}},
		"204": {Description: "No task came."},
	}
}

func describeAnswer(op *huma.Operation) {
	op.Description = "Scope: a key of the agent, or a token of its owner. The body is an AAP response, at most 64 KiB, and has the outcome that it would have as the reply of an endpoint. " +
		"{\"status\": 408, 429, 500 or 503} stands for a reply with that status. A body that is not an answer counts as invalid and is reported as a problem."
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{jsonType: {Schema: &huma.Schema{Type: huma.TypeObject}}}}
	op.Responses = map[string]*huma.Response{"202": {Description: "The answer counts.", Content: map[string]*huma.MediaType{jsonType: {Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"outcome"}, Properties: map[string]*huma.Schema{"outcome": stringSchema("The outcome of the attempt.")},
	}}}}}
}

// keyView is a key of an agent.
type keyView struct {
	KeyID      string    `json:"key_id"`
	Name       string    `json:"name"`
	CreatedAt  jsonTime  `json:"created_at"`
	LastUsedAt *jsonTime `json:"last_used_at,omitempty" doc:"To the minute."`
	LastUsedBy string    `json:"last_used_by,omitempty" doc:"The address of that use; of IPv6 its /64."`
	ExpiresAt  *jsonTime `json:"expires_at,omitempty" doc:"Another key has replaced it. Absent: never."`
}

func (h *agentHandlers) listKeys(ctx context.Context, in *IDPartParams) (*output[listOf[keyView]], error) {
	g, err := h.agents.Own(ctx, callerOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	keys, err := h.keys.AgentKeys(ctx, g)
	if err != nil {
		return nil, err
	}
	var items []keyView
	for _, k := range keys {
		items = append(items, keyView{
			KeyID: k.ID, Name: k.Name, CreatedAt: jsonTime(k.CreatedAt), LastUsedAt: optionalTime(k.LastUsedAt), LastUsedBy: k.LastUsedBy,
			ExpiresAt: optionalTime(k.ExpiresAt),
		})
	}
	return answerPart(in.PartParams, items)
}

type createKeyInput struct {
	IDParam
	Body struct {
		Name string `json:"name,omitempty" maxLength:"40" doc:"Its purpose."`
	} `nameHint:"CreateKeyBody"`
}

type createdKeyView struct {
	KeyID string `json:"key_id"`
	Name  string `json:"name"`
	Key   string `json:"agent_key" doc:"The bearer token of the agent. It is shown once."`
}

func (h *agentHandlers) createKey(ctx context.Context, in *createKeyInput) (*output[createdKeyView], error) {
	caller := callerOf(ctx)
	g, err := h.agents.Own(ctx, caller, in.ID)
	if err != nil {
		return nil, err
	}
	name := in.Body.Name
	if name == "" {
		name = "key"
	}
	t, secret, err := h.keys.CreateAgentKey(ctx, caller, g, name)
	if err != nil {
		return nil, err
	}
	return answer(createdKeyView{KeyID: t.ID, Name: t.Name, Key: secret})
}

type revokeKeyInput struct {
	IDParam
	KeyID string `path:"key_id" maxLength:"64"`
}

func (h *agentHandlers) revokeKey(ctx context.Context, in *revokeKeyInput) (*empty, error) {
	caller := callerOf(ctx)
	g, err := h.agents.Own(ctx, caller, in.ID)
	if err != nil {
		return nil, err
	}
	return &empty{}, h.keys.RevokeAgentKey(ctx, caller, g, in.KeyID)
}
