package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
)

// Tasks serve agents that fetch their tasks.
type Tasks interface {
	// Poll answers a request for a task, or returns an error, which was not
	// answered. It may keep the connection.
	Poll(w http.ResponseWriter, r *http.Request, caller arena.Caller, agentID string) error
	// Answer takes the answer to a task and returns its outcome.
	Answer(w http.ResponseWriter, r *http.Request, caller arena.Caller, agentID, taskID string) (arena.Outcome, error)
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
		op := r.operation()
		a.huma.OpenAPI().AddOperation(&op)
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

func pathParam(name string) *huma.Param {
	return &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}
}

func describePoll(op *huma.Operation) {
	op.Description = "Scope: a key of the agent, or a token of its owner. Waits for a task of an aap agent without an endpoint. " +
		"At most max_concurrent + 1 polls may wait. A task that was neither answered nor followed by an event is delivered again, as the next attempt, to a poll that would exceed max_concurrent."
	op.Parameters = []*huma.Param{pathParam("id"), {
		Name: "wait", In: "query", Schema: &huma.Schema{Type: huma.TypeNumber, Description: "Seconds to wait, 0 to 60; default 30."},
	}}
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
	op.Parameters = []*huma.Param{pathParam("id"), pathParam("task_id")}
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
