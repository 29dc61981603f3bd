package mcp

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// How many items a list has.
const (
	defaultItems = 20
	maxItems     = 100
)

// tools returns the registry: all tools, each for the scopes of its operation.
func (s *Server) tools() []tool {
	league, agent := idSchema("slug of the league"), idSchema("id of the agent, ag_…")
	return []tool{
		{
			name: "list_leagues", description: "The leagues with their rules, state and slug.",
			operation: "list-leagues", output: listSchema("GET /v1/leagues"), call: read(s.o.Operations.Leagues),
		},
		{
			name: "standings", description: "The table of a league: ratings, ranks, wins.",
			operation: "list-standings", output: listSchema("GET /v1/leagues/{slug}/standings"),
			input: object{"league": league, "limit": limitSchema(maxItems)}, required: []string{"league"}, call: with(s.standings),
		},
		{
			name: "compare", operation: "compare-agents", output: answerSchema("GET /v1/leagues/{slug}/comparison"),
			description: "Whether agent a is better than agent b in a league, by their matches against each other: better, worse or too_few, and how many more matches would tell.",
			input:       object{"league": league, "a": agent, "b": agent}, required: []string{"league", "a", "b"}, call: with(s.compare),
		},
		{
			name: "audit", description: "The newest audit of a league: what cheats got on a copy of it, and what its questions give away.",
			operation: "get-audit", output: answerSchema("GET /v1/leagues/{slug}/audit"),
			input: object{"league": league}, required: []string{"league"}, call: with(s.audit),
		},
		{
			name: "watch_match", description: "A match as it stands, and its events after a seq; waits up to 20 seconds for one. Call again with next_since until over is true.",
			operation: "list-match-events", output: watchSchema(),
			input: object{
				"match_id":     idSchema("id of the match, m_…; the key of an agent may leave it out for the agent's latest match"),
				"since":        object{"type": "integer", "minimum": 0, "description": "only events after this seq; 0 or left out: from the first"},
				"wait_seconds": object{"type": "number", "minimum": 0, "maximum": watchWait.Seconds(), "description": "how long to wait for a new event; 20 when left out"},
			},
			call: with(s.watchMatch),
		},
		{
			name: "join_league", description: "Enter your agent into a league. The league pairs it as soon as the agent is active.", changes: true,
			operation: "enter-league", output: object{"type": "object", "properties": object{"league": league, "agent_id": agent}, "required": []string{"league", "agent_id"}},
			input: object{
				"league": league, "password": textSchema("of a league that asks for one", 128),
				"agent_id": idSchema("which agent; the key of an agent stands for its own"),
			},
			required: []string{"league"}, call: with(s.joinLeague),
		},
		{
			name: "next_task", description: "Wait for your next task, up to 30 seconds. Without one, call again: an agent that does not wait for tasks counts as absent. " +
				"task is the request; answer with task_id before deadline.",
			changes: true, output: nextSchema(),
			input: object{"wait_seconds": object{"type": "number", "minimum": 0, "maximum": maxWait.Seconds(), "description": "how long to wait; 30 when left out"}},
			call:  with(s.nextTask),
		},
		{
			name: "report", description: "Show spectators what you are doing on a task, before you answer it.", changes: true, open: true,
			output: object{"type": "object", "properties": object{"accepted": object{"const": true}}, "required": []string{"accepted"}},
			input: object{
				"task_id": idSchema("from next_task"),
				"type":    object{"type": "string", "enum": reportTypes(), "description": "thinking and error have message; tool_call has tool and args; tool_response has result and duration_ms; intermediate_result has data"},
				"message": object{"type": "string"}, "tool": object{"type": "string"}, "args": object{}, "result": object{}, "data": object{}, "duration_ms": object{"type": "number"},
			},
			required: []string{"task_id", "type"}, call: s.report,
		},
		{
			name: "answer", description: "Answer a task. The first answer counts. With answer null, status reports that there is none: 408 out of time, 429 too many tasks, 500 failed, 503 unavailable.",
			changes: true, open: true,
			output: object{"type": "object", "properties": object{"outcome": object{"type": "string", "description": "as the arena counts the round"}}, "required": []string{"outcome"}},
			input: object{
				"task_id": idSchema("from next_task"), "answer": object{"description": "the answer: text, a number or true or false; with output_format json any value; null with status"},
				"confidence": object{"type": "number", "minimum": 0, "maximum": 1}, "reasoning": object{"type": "string", "description": "for spectators"},
				"tokens": object{"type": "integer", "minimum": 0, "description": "used for this task"}, "tools_used": namesSchema(), "subagents_used": namesSchema(),
				"latency_ms": object{"type": "number", "minimum": 0}, "status": object{"enum": []int{408, 429, 500, 503}},
			},
			required: []string{"task_id", "answer"}, call: s.answer,
		},
		{
			name: "my_agents", description: "The owner's agents with status, health and ratings. Needs an owner's token.",
			operation: "create-agent", output: listSchema("GET /v1/agents?owner=me"), call: read(s.o.Operations.MyAgents),
		},
		{
			name: "register_agent", changes: true, operation: "create-agent", output: answerSchema("POST /v1/agents"),
			description: "Register an agent. One with an endpoint is checked at once; status active means that it plays. One without fetches its tasks with the agent_key in the result. Needs an owner's token.",
			input: object{
				"name":        textSchema("name of the agent, 1 to 40 characters", 40),
				"endpoint":    textSchema("URL that the arena posts tasks to; endpoint/health answers checks; left out: the agent fetches its tasks", 2048),
				"leagues":     object{"type": "array", "items": league, "description": "slugs of the leagues to enter"},
				"version":     textSchema("version of the agent", 32),
				"description": textSchema("what the agent is, for spectators", 500),
			},
			required: []string{"name"}, call: with(s.registerAgent),
		},
		{
			name: "check_agent", changes: true, operation: "check-agent", output: answerSchema("POST /v1/agents/{id}/check"),
			description: "Test an agent's endpoint now; health.reason and health.detail say what is wrong. Needs a token.",
			input:       object{"agent_id": agent}, required: []string{"agent_id"}, call: with(s.checkAgent),
		},
		{
			name: "rehearse_agent", changes: true, operation: "rehearse", output: answerSchema("POST /v1/agents/{id}/rehearse"),
			description: "A private, unrated run of an agent with faults switched on; takes up to a minute. Needs a token.",
			input: object{
				"agent_id": agent, "league": idSchema("slug of the league whose rules are used"),
				"faults": object{"type": "array", "items": object{"enum": arena.Faults()}, "uniqueItems": true, "description": "all when left out"},
			},
			required: []string{"agent_id", "league"}, call: with(s.rehearseAgent),
		},
		{
			name: "losses", operation: "list-agent-losses", output: listSchema("GET /v1/agents/{id}/losses"),
			description: "The rounds that an agent lost, newest first: question, answer, right answer and what went wrong. Use it to improve the agent.",
			input: object{
				"agent_id": idSchema("id of the agent, ag_…; the key of an agent stands for its own"), "league": idSchema("only in this league"),
				"topic": textSchema("only questions of this topic", 128), "version": textSchema("only matches of this version of the agent", 32), "limit": limitSchema(defaultItems),
			},
			call: with(s.losses),
		},
		{
			name: "topics", operation: "list-agent-topics", output: listSchema("GET /v1/agents/{id}/topics"),
			description: "How often an agent is right, by topic, with the 95 % interval. Use it to find what to improve.",
			input: object{
				"agent_id": idSchema("id of the agent, ag_…; the key of an agent stands for its own"), "league": idSchema("only in this league"),
				"version": textSchema("only matches of this version of the agent", 32),
			},
			call: with(s.topics),
		},
		{
			name: "deliveries", operation: "list-agent-deliveries", output: listSchema("GET /v1/agents/{id}/deliveries"),
			description: "Every request that was sent to an agent, newest first, with status, outcome and what was wrong. Needs a token.",
			input: object{
				"agent_id": idSchema("id of the agent, ag_…; the key of an agent stands for its own"), "match": idSchema("only of this match"),
				"outcome": object{"enum": outcomes(), "description": "only with this outcome"}, "limit": limitSchema(defaultItems),
			},
			call: with(s.deliveries),
		},
	}
}

func limitSchema(without int) object {
	return object{"type": "integer", "minimum": 1, "maximum": maxItems, "default": without, "description": "how many at most"}
}

func namesSchema() object {
	return object{"type": "array", "items": object{"type": "string"}}
}

// checkLimit returns how many items a list has at most.
func checkLimit(given *int, without int) (int, error) {
	switch {
	case given == nil:
		return without, nil
	case *given < 1 || *given > maxItems:
		return 0, arena.Invalid("limit", "must be between 1 and %d", maxItems)
	}
	return *given, nil
}

// agentOf returns the agent that a call is about: the caller's own for the key of an
// agent.
func agentOf(q *request, given string) (string, error) {
	if given == "" && q.caller.Scope == arena.ScopeAgent {
		return q.caller.AgentID, nil
	}
	return given, check(id("agent_id", given, true))
}

type standingsInput struct {
	League string `json:"league"`
	Limit  *int   `json:"limit"`
}

func (s *Server) standings(ctx context.Context, q *request, in standingsInput) (result, error) {
	limit, err := checkLimit(in.Limit, maxItems)
	if err == nil {
		err = check(id("league", in.League, true))
	}
	if err != nil {
		return result{}, err
	}
	v, err := s.o.Operations.Standings(ctx, q.caller, in.League, limit)
	return result{value: v}, err
}

type compareInput struct {
	League string `json:"league"`
	A      string `json:"a"`
	B      string `json:"b"`
}

func (s *Server) compare(ctx context.Context, q *request, in compareInput) (result, error) {
	if err := check(id("league", in.League, true), id("a", in.A, true), id("b", in.B, true)); err != nil {
		return result{}, err
	}
	v, err := s.o.Operations.Compare(ctx, q.caller, in.League, in.A, in.B)
	return result{value: v}, err
}

type auditInput struct {
	League string `json:"league"`
}

func (s *Server) audit(ctx context.Context, q *request, in auditInput) (result, error) {
	if err := check(id("league", in.League, true)); err != nil {
		return result{}, err
	}
	v, err := s.o.Operations.Audit(ctx, q.caller, in.League)
	return result{value: v}, err
}

type joinInput struct {
	League   string `json:"league"`
	Password string `json:"password"`
	AgentID  string `json:"agent_id"`
}

func (s *Server) joinLeague(ctx context.Context, q *request, in joinInput) (result, error) {
	agentID, err := agentOf(q, in.AgentID)
	if err == nil {
		err = check(id("league", in.League, true), text{"password", in.Password, 128, false})
	}
	if err != nil {
		return result{}, err
	}
	err = s.o.Operations.Enter(ctx, q.caller, in.League, agentID, in.Password)
	return result{value: object{"league": in.League, "agent_id": agentID}}, err
}

type registerInput struct {
	Name        string   `json:"name"`
	Endpoint    string   `json:"endpoint"`
	Leagues     []string `json:"leagues"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
}

func (s *Server) registerAgent(ctx context.Context, q *request, in registerInput) (result, error) {
	v, err := s.o.Operations.Register(ctx, q.caller, arena.Registration{
		Name: in.Name, Endpoint: in.Endpoint, Leagues: in.Leagues, Version: in.Version, Description: in.Description,
	})
	return result{value: v}, err
}

type agentInput struct {
	AgentID string `json:"agent_id"`
}

func (s *Server) checkAgent(ctx context.Context, q *request, in agentInput) (result, error) {
	if err := check(id("agent_id", in.AgentID, true)); err != nil {
		return result{}, err
	}
	v, err := s.o.Operations.Check(ctx, q.caller, in.AgentID)
	return result{value: v}, err
}

type rehearseInput struct {
	AgentID string   `json:"agent_id"`
	League  string   `json:"league"`
	Faults  []string `json:"faults"`
}

func (s *Server) rehearseAgent(ctx context.Context, q *request, in rehearseInput) (result, error) {
	if err := check(id("agent_id", in.AgentID, true), id("league", in.League, true)); err != nil {
		return result{}, err
	}
	seen := map[string]bool{}
	for _, f := range in.Faults {
		if !slices.Contains(arena.Faults(), arena.Fault(f)) || seen[f] {
			return result{}, arena.Invalid("faults", "must be different ones of %v", arena.Faults())
		}
		seen[f] = true
	}
	v, err := s.o.Operations.Rehearse(ctx, q.caller, in.AgentID, in.League, in.Faults)
	return result{value: v}, err
}

type deliveriesInput struct {
	AgentID string        `json:"agent_id"`
	Match   string        `json:"match"`
	Outcome arena.Outcome `json:"outcome"`
	Limit   *int          `json:"limit"`
}

func (s *Server) deliveries(ctx context.Context, q *request, in deliveriesInput) (result, error) {
	agentID, err := agentOf(q, in.AgentID)
	if err != nil {
		return result{}, err
	}
	limit, err := checkLimit(in.Limit, defaultItems)
	if err != nil {
		return result{}, err
	}
	if err := check(id("match", in.Match, false)); err != nil {
		return result{}, err
	}
	if in.Outcome != "" && !slices.Contains(outcomes(), in.Outcome) {
		return result{}, arena.Invalid("outcome", "must be one of %v", outcomes())
	}
	v, err := s.o.Operations.Deliveries(ctx, q.caller, agentID, in.Match, in.Outcome, limit)
	return result{value: v}, err
}

type lossesInput struct {
	AgentID string `json:"agent_id"`
	League  string `json:"league"`
	Topic   string `json:"topic"`
	Version string `json:"version"`
	Limit   *int   `json:"limit"`
}

func (s *Server) losses(ctx context.Context, q *request, in lossesInput) (result, error) {
	agentID, err := agentOf(q, in.AgentID)
	if err != nil {
		return result{}, err
	}
	limit, err := checkLimit(in.Limit, defaultItems)
	if err != nil {
		return result{}, err
	}
	if err := check(id("league", in.League, false), text{"topic", in.Topic, 128, false}, text{"version", in.Version, 32, false}); err != nil {
		return result{}, err
	}
	v, err := s.o.Operations.Losses(ctx, q.caller, arena.LossFilter{AgentID: agentID, League: in.League, Topic: in.Topic, Version: in.Version}, limit)
	return result{value: v}, err
}

type topicsInput struct {
	AgentID string `json:"agent_id"`
	League  string `json:"league"`
	Version string `json:"version"`
}

func (s *Server) topics(ctx context.Context, q *request, in topicsInput) (result, error) {
	agentID, err := agentOf(q, in.AgentID)
	if err == nil {
		err = check(id("league", in.League, false), text{"version", in.Version, 32, false})
	}
	if err != nil {
		return result{}, err
	}
	v, err := s.o.Operations.Topics(ctx, q.caller, arena.LossFilter{AgentID: agentID, League: in.League, Version: in.Version})
	return result{value: v}, err
}

func outcomes() []arena.Outcome {
	return []arena.Outcome{
		arena.OutcomeAnswered, arena.OutcomeTimeout, arena.OutcomeRateLimited, arena.OutcomeError, arena.OutcomeUnavailable, arena.OutcomeInvalid, arena.OutcomeVoid,
	}
}

const (
	watchWait   = 20 * time.Second       // for a new event
	watchEvents = 200                    // in one result
	watchEvery  = 500 * time.Millisecond // how often the log is looked at
)

type watchInput struct {
	MatchID string   `json:"match_id"`
	Since   int64    `json:"since"`
	Wait    *float64 `json:"wait_seconds"`
}

type watchOutput struct {
	Match     any           `json:"match"`
	Events    []arena.Event `json:"events"`
	NextSince int64         `json:"next_since"`
	Over      bool          `json:"over"`
}

func watchSchema() object {
	return object{
		"type": "object", "required": []string{"match", "events", "next_since", "over"},
		"properties": object{
			"match": object{"type": "object", "description": "as GET /v1/matches/{id} answers it: status, round, seats with points"}, "events": object{"type": "array", "items": object{"type": "object"}},
			"next_since": object{"type": "integer"}, "over": object{"type": "boolean", "description": "no event follows"},
		},
	}
}

// seconds returns a wait between 0 and most, which it is when left out.
func seconds(given *float64, most time.Duration) (time.Duration, error) {
	switch {
	case given == nil:
		return most, nil
	case !(*given >= 0 && *given <= most.Seconds()):
		return 0, arena.Invalid("wait_seconds", "must be between 0 and %v", most.Seconds())
	}
	return time.Duration(*given * float64(time.Second)), nil
}

// watchMatch waits until there is an event after since, and returns all that are
// there. It looks at the log from time to time: the hub serves connections, and a
// call is none.
func (s *Server) watchMatch(ctx context.Context, q *request, in watchInput) (result, error) {
	wait, err := seconds(in.Wait, watchWait)
	if err != nil {
		return result{}, err
	}
	if in.Since < 0 {
		return result{}, arena.Invalid("since", "must be at least 0")
	}
	if in.MatchID == "" && q.caller.Scope == arena.ScopeAgent {
		if in.MatchID, err = s.o.Operations.LatestMatch(ctx, q.caller, q.caller.AgentID); err != nil {
			return result{}, err
		}
		if in.MatchID == "" {
			return result{}, arena.Errorf(arena.CodeNotFound, "you have no match yet")
		}
	}
	if err := check(id("match_id", in.MatchID, true)); err != nil {
		return result{}, err
	}
	release, err := s.o.Watches.Acquire(q.address)
	if err != nil {
		return result{}, err
	}
	defer release()
	ends := time.NewTimer(wait)
	defer ends.Stop()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for last := wait == 0; ; {
		out := watchOutput{Events: []arena.Event{}, NextSince: in.Since}
		m, seq, over, err := s.o.Operations.Match(ctx, q.caller, in.MatchID)
		if err != nil {
			return result{}, err
		}
		if seq > in.Since {
			if out.Events, err = s.o.Operations.Events(ctx, q.caller, in.MatchID, in.Since, watchEvents); err != nil {
				return result{}, err
			}
		}
		if n := len(out.Events); n > 0 {
			out.NextSince = out.Events[n-1].Seq
		}
		out.Match, out.Over = m, over && out.NextSince >= seq
		if last || out.Over || len(out.Events) > 0 {
			return result{value: out}, nil
		}
		select {
		case <-ctx.Done():
			return result{}, ctx.Err()
		case <-ends.C:
			last = true
		case <-s.done:
			last = true
		case <-tick.C:
		}
	}
}
