package match

import (
	"context"
	"errors"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// Challenge starts an unrated duel between an agent of the caller and another
// one. Both must have entered the league and be ready to play.
func (s *Service) Challenge(ctx context.Context, caller arena.Caller, in arena.ChallengeRequest) (arena.Match, error) {
	own, err := s.o.Store.Agents.Agent(ctx, in.AgentID)
	if err != nil {
		return arena.Match{}, err
	}
	if !caller.Owns(own.OwnerID) {
		return arena.Match{}, arena.Errorf(arena.CodeNotFound, "you have no agent %s", in.AgentID)
	}
	l, err := s.openLeague(ctx, in.League)
	if err != nil {
		return arena.Match{}, err
	}
	rated := false
	settings, err := s.settings(l, nil, &rated)
	if err != nil {
		return arena.Match{}, err
	}
	agents, err := s.agents(ctx, l, []string{in.AgentID, in.OpponentID}, true)
	if err != nil {
		return arena.Match{}, inChallenge(err)
	}
	for i, field := range []string{"agent_id", "opponent_id"} {
		if g := agents[i]; !slices.Contains(g.Leagues, l.Slug) {
			return arena.Match{}, arena.Invalid(field, "agent %s is not in league %s", g.ID, l.Slug)
		}
	}
	plan := arena.MatchPlan{League: l.Slug, Settings: settings, Agents: agents, UnratedReason: unrated(l, settings, arena.UnratedChallenge)}
	if err := s.checkBudgets(ctx, plan); err != nil { // before it costs a challenge of the day
		return arena.Match{}, inChallenge(err)
	}
	// What the owner's earlier challenges took to judge, other matches wait for.
	if settings.Judge.RunsAnswers() {
		if err := s.o.Judging.Take(ctx, own.OwnerID); err != nil {
			return arena.Match{}, err
		}
	}
	// All owners together may not exhaust one opponent.
	if err := s.o.Challenged.Take(ctx, in.OpponentID); err != nil {
		return arena.Match{}, err
	}
	if err := s.o.Challenges.Take(ctx, own.OwnerID); err != nil {
		return arena.Match{}, err
	}
	m, err := s.request(ctx, caller, "challenge", plan)
	return m, inChallenge(err)
}

// checkBudgets refuses a match that starts now and that the budget of one of its
// agents does not allow. The store checks it again as it creates the match.
func (s *Service) checkBudgets(ctx context.Context, p arena.MatchPlan) error {
	at, zones := s.now(), arena.Zones{}
	days := zones.BudgetDays(p.Agents, at)
	if len(days) == 0 {
		return nil
	}
	uses, err := s.o.Store.Budgets.DayUses(ctx, days)
	if err != nil {
		return err
	}
	return zones.CheckBudgets(p.Agents, uses, p.Settings, at)
}

// inChallenge renames the fields of a match to those of a challenge.
func inChallenge(err error) error {
	e, ok := errors.AsType[*arena.Error](err)
	if !ok {
		return err
	}
	names := map[string]string{"agents[0]": "agent_id", "agents[1]": "opponent_id", "agents": "league"}
	renamed := *e
	renamed.Fields = slices.Clone(e.Fields)
	for i, f := range renamed.Fields {
		if name, known := names[f.Field]; known {
			renamed.Fields[i].Field = name
		}
	}
	return &renamed
}
