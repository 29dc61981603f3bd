package api

import (
	"context"
	"slices"

	"github.com/agora-arena/arena/arena"
)

type challengeInput struct {
	Body struct {
		AgentID    string `json:"agent_id" minLength:"1" maxLength:"64" doc:"One of the caller's own."`
		OpponentID string `json:"opponent_id" minLength:"1" maxLength:"64" doc:"Any other agent that plays in the league."`
		League     string `json:"league" minLength:"1" maxLength:"40" doc:"Both are in it; its rules hold, but no rating moves."`
	} `nameHint:"ChallengeBody"`
}

// challenge starts an unrated match of two between an agent of the caller and
// another one. Who is in no league, or paused, cannot be challenged.
func (a *API) challenge(ctx context.Context, in *challengeInput) (*output[matchView], error) {
	b := in.Body
	own, err := a.Agents.Own(ctx, callerOf(ctx), b.AgentID)
	if err != nil {
		return nil, err
	}
	l, err := a.Store.League(ctx, b.League)
	if err != nil {
		return nil, arena.AtField("league", err)
	}
	if err := takesMatches(l); err != nil {
		return nil, err
	}
	unrated := false
	settings, err := a.matchSettings(l, nil, &unrated)
	if err != nil {
		return nil, err
	}
	agents, err := a.agentsFor(ctx, l, []string{b.AgentID, b.OpponentID}, true)
	if err != nil {
		return nil, inChallenge(err)
	}
	opponent, err := a.Store.Agent(ctx, b.OpponentID)
	if err != nil {
		return nil, arena.AtField("opponent_id", err)
	}
	for field, g := range map[string]arena.Agent{"agent_id": own, "opponent_id": opponent} {
		if !slices.Contains(g.Leagues, l.Slug) {
			return nil, arena.Invalid(field, "agent %s is not in league %s", g.ID, l.Slug)
		}
	}
	if err := a.limitChallenges(ctx, own.OwnerID, opponent.ID); err != nil {
		return nil, err
	}
	return a.schedule(ctx, arena.MatchPlan{League: l.Slug, Settings: settings, Agents: agents})
}

// inChallenge gives seats the names that they have in a challenge.
func inChallenge(err error) error {
	e, ok := err.(*arena.Error) //nolint:errorlint // made by agentsFor itself
	if !ok {
		return err
	}
	names := map[string]string{"agents[0]": "agent_id", "agents[1]": "opponent_id", "agents": "league"}
	for i, f := range e.Fields {
		if name, known := names[f.Field]; known {
			e.Fields[i].Field = name
		}
	}
	return e
}

// limitChallenges holds an owner to its share, and keeps all owners together
// from wearing one opponent out.
func (a *API) limitChallenges(ctx context.Context, ownerID, opponentID string) error {
	if err := a.Quotas.Challenged.Take(ctx, opponentID); err != nil {
		return err
	}
	return a.Quotas.Challenge.Take(ctx, ownerID)
}
