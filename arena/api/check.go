package api

import (
	"context"
	"encoding/json"

	"github.com/agora-arena/arena/arena"
)

const (
	checkPath = "/v1/agents/{id}/check"
	// fullCheckCost is what a full check counts for among the checks of a
	// token: it makes some forty requests (threat S7).
	fullCheckCost = 20
)

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

func (a *API) checkAgent(ctx context.Context, in *checkAgentInput) (*output[checkedView], error) {
	g, err := a.ownAgent(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if !g.RetiredAt.IsZero() {
		return nil, errRetired(g.ID)
	}
	if in.Full && g.Protocol != arena.ProtocolAAP {
		return nil, arena.Invalid("full", "the conformance kit speaks aap, and the agent %s", g.Protocol)
	}
	cost := 1
	if in.Full {
		cost = fullCheckCost
	}
	for range cost {
		if err := a.limitChecks(ctx); err != nil {
			return nil, err
		}
	}
	checked, err := a.checkNow(ctx, g.ID)
	if err != nil {
		return nil, err
	}
	var made checkedView
	if in.Full {
		if checked.PassedAt.IsZero() {
			// Nobody there has said that it is an agent, and may be a victim (threat S7).
			return nil, arena.Errorf(arena.CodeAgentNotReady,
				"agent %s is pending: tasks are sent when its endpoint has passed a health check (%s)", g.ID, checked.Health.Reason)
		}
		found, err := a.FullCheck(ctx, checked)
		if err != nil {
			return nil, err
		}
		made.Report = found.Report
	}
	view, err := a.oneAgent(ctx, checked)
	if err != nil {
		return nil, err
	}
	made.AgentView = view.Body
	return answer(made)
}
