package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

type statusView struct {
	Version   string     `json:"version"`
	StartedAt jsonTime   `json:"started_at" doc:"Of this node."`
	Nodes     []nodeView `json:"nodes" doc:"Those that gave a sign of life within an hour, and those that play a match now."`
	Counts    countsView `json:"counts"`
	Queue     queueView  `json:"queue"`

	SlowMatches []slowMatchView `json:"slow_matches" doc:"Rounds that should have closed by now, the longest overdue first, at most 20."`
	Failed      []matchView     `json:"failed" doc:"The newest void matches, at most 10."`
	SlowAgents  []slowAgentView `json:"slow_agents" doc:"Active agents with the longest health checks, at most 5."`
}

type nodeView struct {
	Node      string         `json:"node"`
	Matches   int            `json:"matches" doc:"Running matches that it plays."`
	Self      bool           `json:"self" doc:"It answers this request."`
	Alive     bool           `json:"alive" doc:"It gave a sign of life within 15 seconds."`
	Draining  bool           `json:"draining"`
	Version   string         `json:"version,omitempty"`
	StartedAt *jsonTime      `json:"started_at,omitempty"`
	SeenAt    *jsonTime      `json:"seen_at,omitempty" doc:"Its last sign of life."`
	LastError *lastErrorView `json:"last_error,omitempty"`
}

type lastErrorView struct {
	At   jsonTime `json:"at"`
	Text string   `json:"text"`
}

type countsView struct {
	Agents      map[arena.AgentStatus]int `json:"agents" doc:"By status."`
	Matches     map[arena.MatchStatus]int `json:"matches" doc:"By status."`
	Events      int64                     `json:"events"`
	Settlements int64                     `json:"settlements"`
}

type queueView struct {
	Due         int     `json:"due" doc:"Matches whose time has come and that no node plays yet."`
	Later       int     `json:"later" doc:"Matches that start later."`
	WaitSeconds float64 `json:"wait_seconds" doc:"How long the oldest that is due waits."`
}

type slowMatchView struct {
	MatchID        string  `json:"match_id"`
	League         string  `json:"league"`
	Node           string  `json:"node"`
	Round          int     `json:"round"`
	OverdueSeconds float64 `json:"overdue_seconds" doc:"Beyond the round's time limit and its judge's time."`
	Interruptions  int     `json:"interruptions" doc:"Take-overs of the match."`
}

type slowAgentView struct {
	AgentID           string  `json:"agent_id"`
	Name              string  `json:"name"`
	LatencyMS         float64 `json:"latency_ms" doc:"Of its last health check."`
	DeclaredLatencyMS float64 `json:"declared_latency_ms,omitempty"`
}

// The most that the status names one by one.
const (
	slowMatches   = 20
	failedMatches = 10
)

// roundGrace is how long a round may take beyond its limits before it counts
// as slow: a take-over, and a judge that must be asked.
const roundGrace = 15 * time.Second

func (a *API) getStatus(ctx context.Context, _ *struct{}) (*output[statusView], error) {
	counts, err := a.Store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	o, err := a.Store.Operations(ctx)
	if err != nil {
		return nil, err
	}
	failed, _, err := a.Visible.Matches(ctx, arena.MatchFilter{Statuses: []arena.MatchStatus{arena.MatchVoid}}, arena.Page{Limit: failedMatches})
	if err != nil {
		return nil, err
	}
	v := statusView{
		Version: a.Version, StartedAt: jsonTime(a.startedAt), Nodes: a.viewNodes(o.Nodes),
		Counts: countsView{Agents: counts.Agents, Matches: counts.Matches, Events: counts.Events, Settlements: counts.Settlements},
		Queue:  queueView{Due: o.Queue.Due, Later: o.Queue.Later}, SlowMatches: a.overdue(o.Open),
		Failed: []matchView{}, SlowAgents: []slowAgentView{},
	}
	if !o.Queue.Oldest.IsZero() {
		v.Queue.WaitSeconds = max(0, a.now().Sub(o.Queue.Oldest).Seconds())
	}
	for _, m := range failed {
		v.Failed = append(v.Failed, a.matches.views.one(m))
	}
	for _, g := range o.Slow {
		v.SlowAgents = append(v.SlowAgents, slowAgentView{
			AgentID: g.ID, Name: g.Name, LatencyMS: milliseconds(g.Health.Latency), DeclaredLatencyMS: milliseconds(g.Health.DeclaredLatency),
		})
	}
	if v.Counts.Agents == nil {
		v.Counts.Agents = map[arena.AgentStatus]int{}
	}
	if v.Counts.Matches == nil {
		v.Counts.Matches = map[arena.MatchStatus]int{}
	}
	return answer(v)
}

// viewNodes shows the nodes, this one always among them.
func (a *API) viewNodes(known []arena.Node) []nodeView {
	nodes := []nodeView{}
	self := a.Node == ""
	for _, n := range known {
		v := nodeView{
			Node: n.ID, Matches: n.Matches, Self: n.ID == a.Node, Alive: n.Alive, Draining: n.Draining, Version: n.Version,
			StartedAt: optionalTime(n.StartedAt), SeenAt: optionalTime(n.SeenAt),
		}
		if n.LastError != "" {
			v.LastError = &lastErrorView{At: jsonTime(n.LastErrorAt), Text: n.LastError}
		}
		self = self || v.Self
		nodes = append(nodes, v)
	}
	if !self {
		nodes = append(nodes, nodeView{Node: a.Node, Self: true, Alive: true, Version: a.Version})
	}
	return nodes
}

// overdue gives the rounds that should have closed.
func (a *API) overdue(open []arena.OpenRound) []slowMatchView {
	slow, now := []slowMatchView{}, a.now()
	for _, r := range open {
		beyond := now.Sub(r.OpenedAt) - r.Settings.TimeLimit - r.Settings.Judge.Window - roundGrace
		if beyond > 0 {
			slow = append(slow, slowMatchView{
				MatchID: r.MatchID, League: r.League, Node: r.Node, Round: r.Round, OverdueSeconds: beyond.Seconds(), Interruptions: r.Interruptions,
			})
		}
	}
	slices.SortStableFunc(slow, func(x, y slowMatchView) int { return cmp.Compare(y.OverdueSeconds, x.OverdueSeconds) })
	return slow[:min(len(slow), slowMatches)]
}

type drainView struct {
	Node string `json:"node" doc:"The node that answers: the one that drains."`
}

// drainNode begins what SIGTERM begins, but the process goes on answering:
// whoever runs it ends it when /v1/admin/status shows no match of this node.
func (a *API) drainNode(ctx context.Context, _ *struct{}) (*output[drainView], error) {
	a.Logger.InfoContext(ctx, "drain asked for", "node", a.Node)
	a.Drain()
	return answer(drainView{Node: a.Node})
}

type versionView struct {
	Version string `json:"version"`
}

func (a *API) getVersion(context.Context, *struct{}) (*output[versionView], error) {
	return answer(versionView{Version: a.Version})
}

type healthzView struct {
	Status string `json:"status" enum:"ok"`
}

func (a *API) getHealth(context.Context, *struct{}) (*output[healthzView], error) {
	return answer(healthzView{Status: "ok"})
}

func (a *API) getReadiness(ctx context.Context, _ *struct{}) (*output[healthzView], error) {
	if err := a.Ready(ctx); err != nil {
		a.Logger.WarnContext(ctx, "not ready", "error", err)
		return nil, arena.Errorf(arena.CodeUnavailable, "this node is not ready")
	}
	return answer(healthzView{Status: "ok"})
}
