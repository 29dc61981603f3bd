package api

import (
	"context"

	"github.com/agora-arena/arena/arena"
)

type statusView struct {
	Version   string     `json:"version"`
	StartedAt jsonTime   `json:"started_at" doc:"Of this node."`
	Nodes     []nodeView `json:"nodes" doc:"This node and every other that plays a match now."`
	Counts    countsView `json:"counts"`
}

type nodeView struct {
	Node    string `json:"node"`
	Matches int    `json:"matches" doc:"Running matches that it plays."`
	Self    bool   `json:"self" doc:"It answers this request."`
}

type countsView struct {
	Agents      map[arena.AgentStatus]int `json:"agents" doc:"By status."`
	Matches     map[arena.MatchStatus]int `json:"matches" doc:"By status."`
	Events      int64                     `json:"events"`
	Settlements int64                     `json:"settlements"`
}

func (a *API) getStatus(ctx context.Context, _ *struct{}) (*output[statusView], error) {
	counts, err := a.Store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := a.nodes(ctx)
	if err != nil {
		return nil, err
	}
	v := statusView{
		Version: a.Version, StartedAt: jsonTime(a.startedAt), Nodes: nodes,
		Counts: countsView{Agents: counts.Agents, Matches: counts.Matches, Events: counts.Events, Settlements: counts.Settlements},
	}
	if v.Counts.Agents == nil {
		v.Counts.Agents = map[arena.AgentStatus]int{}
	}
	if v.Counts.Matches == nil {
		v.Counts.Matches = map[arena.MatchStatus]int{}
	}
	return answer(v)
}

// nodes reads who plays from the leases of running matches: there is no other
// list of nodes.
func (a *API) nodes(ctx context.Context) ([]nodeView, error) {
	playing := map[string]int{}
	if a.Node != "" {
		playing[a.Node] = 0
	}
	p := arena.Page{Limit: 100}
	for {
		matches, next, err := a.Store.Matches(ctx, arena.MatchFilter{Statuses: []arena.MatchStatus{arena.MatchRunning}}, p)
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			if m.Lease.Node != "" {
				playing[m.Lease.Node]++
			}
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	nodes := []nodeView{}
	for _, node := range sortedKeys(playing) {
		nodes = append(nodes, nodeView{Node: node, Matches: playing[node], Self: node == a.Node})
	}
	return nodes, nil
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
