package api

import (
	"context"
	"io"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/agora-arena/arena/arena"
)

const mcpPath = "/mcp"

// mountMCP mounts the route of MCP. A bad token is rejected; a client
// without one gets the public tools.
func mountMCP(a *API, r route) {
	a.engine.Handle(r.method, r.path, func(c *gin.Context) {
		if err := a.serveMCP(c, r); err != nil {
			a.fail(c, err)
		}
	})
	a.document(r)
}

func (a *API) serveMCP(c *gin.Context, r route) error {
	caller, err := a.identify(c, r.scope)
	if err != nil {
		return err
	}
	if err := a.readBody(c, r.maxBody()); err != nil {
		return err
	}
	body, err := io.ReadAll(c.Request.Body)
	if err != nil {
		return err
	}
	return a.mcp.Serve(c.Writer, c.Request, body, caller, c.ClientIP())
}

func describeMCP(op *huma.Operation) {
	op.Description = "One message of MCP, at most 256 KiB. The server is stateless: any node answers, and there are no sessions. The bearer token decides about the tools: " +
		"the key of an agent fetches and answers its tasks, a token of an owner registers and checks agents, without one there are leagues, standings and matches."
	op.Security = append(op.Security, map[string][]string{"bearer": {}}, map[string][]string{})
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{jsonType: {Schema: &huma.Schema{Type: huma.TypeObject, Description: "A request or notification of JSON-RPC 2.0."}}}}
	op.Responses = map[string]*huma.Response{
		"200": {Description: "The response of JSON-RPC.", Content: map[string]*huma.MediaType{jsonType: {Schema: &huma.Schema{Type: huma.TypeObject}}}},
		"202": {Description: "A notification was accepted."},
	}
}

// Operations are the operations of the API that MCP offers as tools. Scopes, audit entries and time limits are
// those of the routes; a result encodes to the body of the route's response. The
// caller of these methods has identified its client and checked the lengths of
// texts.
type Operations struct {
	resources

	routes map[string]route // by operation id
}

func newOperations(r resources) Operations {
	o := Operations{resources: r, routes: map[string]route{}}
	for _, route := range routes() {
		o.routes[route.id] = route
	}
	return o
}

// Admits reports whether the route of an operation admits the tokens of a scope;
// "" is no token.
func (o Operations) Admits(operation string, s arena.Scope) bool {
	r, known := o.routes[operation]
	return known && permit(arena.Caller{Scope: s}, r.scope) == nil
}

// do performs an operation as its route does.
func do[I, O any](ctx context.Context, o Operations, caller arena.Caller, operation string, h func(context.Context, *I) (*output[O], error), in *I) (O, error) {
	var none O
	r := o.routes[operation]
	if err := permit(caller, r.scope); err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, callerKey, caller), r.timeout())
	defer cancel()
	out, err := h(ctx, in)
	if err != nil {
		return none, err
	}
	return out.Body, nil
}

// Guide returns the page that describes how to compete in this arena.
func (o Operations) Guide() string { return o.pages.skillText() }

// Leagues returns all leagues.
func (o Operations) Leagues(ctx context.Context, caller arena.Caller) (any, error) {
	return do(ctx, o, caller, "list-leagues", o.leagues.list, &listLeaguesInput{})
}

// Standings returns at most limit lines of the table of a league.
func (o Operations) Standings(ctx context.Context, caller arena.Caller, league string, limit int) (any, error) {
	return do(ctx, o, caller, "list-standings", o.leagues.standings, &standingsQuery{SlugParam{league}, PartParams{Limit: limit}})
}

// Compare returns whether agent a is better than agent b in a league.
func (o Operations) Compare(ctx context.Context, caller arena.Caller, league, a, b string) (any, error) {
	return do(ctx, o, caller, "compare-agents", o.leagues.comparison, &comparisonInput{SlugParam{league}, a, b})
}

// Audit returns the newest audit of a league.
func (o Operations) Audit(ctx context.Context, caller arena.Caller, league string) (any, error) {
	return do(ctx, o, caller, "get-audit", o.leagues.getAudit, &SlugParam{league})
}

// Enter enters an agent into a league.
func (o Operations) Enter(ctx context.Context, caller arena.Caller, league, agentID, password string) error {
	enter := func(ctx context.Context, in *enterInput) (*output[empty], error) {
		_, err := o.leagues.enter(ctx, in)
		return &output[empty]{}, err
	}
	_, err := do(ctx, o, caller, "enter-league", enter, &enterInput{EntryParam{SlugParam{league}, agentID}, PasswordHeader{password}})
	return err
}

// MyAgents returns the caller's agents.
func (o Operations) MyAgents(ctx context.Context, caller arena.Caller) (any, error) {
	return do(ctx, o, caller, "list-agents", o.agents.list, &listAgentsInput{PageParams: PageParams{Limit: 100}, Owner: "me"})
}

// Register registers an agent. The result of one that fetches its tasks has its
// key.
func (o Operations) Register(ctx context.Context, caller arena.Caller, r arena.Registration) (any, error) {
	var in createAgentInput
	b := &in.Body
	b.Name, b.Endpoint, b.Protocol, b.Leagues, b.Version, b.Description = r.Name, r.Endpoint, arena.ProtocolAAP, r.Leagues, r.Version, r.Description
	return do(ctx, o, caller, "create-agent", o.agents.create, &in)
}

// Check tests the endpoint of an agent.
func (o Operations) Check(ctx context.Context, caller arena.Caller, agentID string) (any, error) {
	return do(ctx, o, caller, "check-agent", o.agents.check, &checkAgentInput{IDParam: IDParam{agentID}})
}

// Rehearse plays a rehearsal with faults, all of them for none.
func (o Operations) Rehearse(ctx context.Context, caller arena.Caller, agentID, league string, faults []string) (any, error) {
	in := rehearseInput{IDParam: IDParam{agentID}}
	in.Body.League = league
	if len(faults) > 0 {
		in.Body.Faults = faults
	}
	return do(ctx, o, caller, "rehearse", o.agents.rehearse, &in)
}

// Losses returns the newest rounds that an agent lost.
func (o Operations) Losses(ctx context.Context, caller arena.Caller, f arena.LossFilter, limit int) (any, error) {
	in := lossesInput{IDParam: IDParam{f.AgentID}, PageParams: PageParams{Limit: limit}, League: f.League, Topic: f.Topic, Version: f.Version}
	return do(ctx, o, caller, "list-agent-losses", o.history.losses, &in)
}

// Topics returns how often an agent is right, by topic; the topic of f is ignored.
func (o Operations) Topics(ctx context.Context, caller arena.Caller, f arena.LossFilter) (any, error) {
	return do(ctx, o, caller, "list-agent-topics", o.history.topics, &topicsInput{IDParam{f.AgentID}, f.League, f.Version})
}

// Deliveries returns the newest requests that were sent to an agent.
func (o Operations) Deliveries(ctx context.Context, caller arena.Caller, agentID, matchID string, outcome arena.Outcome, limit int) (any, error) {
	in := deliveriesInput{IDParam: IDParam{agentID}, PageParams: PageParams{Limit: limit}, Match: matchID, Outcome: string(outcome)}
	return do(ctx, o, caller, "list-agent-deliveries", o.history.deliveries, &in)
}

// LatestMatch returns the id of the newest match of an agent that has begun or,
// if none has, of its newest; "" if it has none.
func (o Operations) LatestMatch(ctx context.Context, caller arena.Caller, agentID string) (string, error) {
	list, err := do(ctx, o, caller, "list-agent-matches", o.history.listMatches, &agentMatchesInput{IDParam: IDParam{agentID}, PageParams: PageParams{Limit: 20}})
	if err != nil || len(list.Items) == 0 {
		return "", err
	}
	begun := slices.IndexFunc(list.Items, func(m matchView) bool { return m.StartedAt != nil })
	return list.Items[max(0, begun)].MatchID, nil
}

// Match returns a match as spectators see it now, the position of the last event
// in its log, and whether no other will follow.
func (o Operations) Match(ctx context.Context, caller arena.Caller, id string) (m any, seq int64, over bool, err error) {
	v, err := do(ctx, o, caller, "get-match", o.matches.get, &IDParam{id})
	return v.Match, v.Seq, v.Status.Over(), err
}

// Events returns the visible log of a match after a position.
func (o Operations) Events(ctx context.Context, caller arena.Caller, matchID string, since int64, limit int) ([]arena.Event, error) {
	v, err := do(ctx, o, caller, "list-match-events", o.matches.events, &listEventsInput{IDParam{matchID}, since, limit})
	return v.Items, err
}
