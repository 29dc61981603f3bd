package match

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/settings"
)

// furthestStart is how far ahead a match may be scheduled.
const furthestStart = 366 * 24 * time.Hour

// clockSlack is how far in the past a requested start may lie and still mean
// now.
const clockSlack = time.Minute

// Create schedules a match for an admin or the league's organizer.
func (s *Service) Create(ctx context.Context, caller arena.Caller, in arena.MatchRequest) (arena.Match, error) {
	if err := caller.Require(in.League, arena.RightOrganize); err != nil {
		return arena.Match{}, err
	}
	l, err := s.openLeague(ctx, in.League)
	if err != nil {
		return arena.Match{}, err
	}
	settings, err := s.settings(l, in.Rounds, in.Rated)
	if err != nil {
		return arena.Match{}, err
	}
	now := s.now()
	startsAt, err := checkStart(in.StartsAt, now)
	if err != nil {
		return arena.Match{}, err
	}
	agents, err := s.agents(ctx, l, in.Agents, !startsAt.After(now))
	if err != nil {
		return arena.Match{}, err
	}
	return s.request(ctx, caller, "create-match", arena.MatchPlan{
		League: l.Slug, Settings: settings, Agents: agents, StartsAt: startsAt, UnratedReason: unrated(l, settings, arena.UnratedRequest),
	})
}

// request schedules a match that a caller asks for.
func (s *Service) request(ctx context.Context, caller arena.Caller, action string, p arena.MatchPlan) (arena.Match, error) {
	m, err := s.newMatch(ctx, p)
	if err != nil {
		return arena.Match{}, err
	}
	audit, err := caller.Audit(m.CreatedAt, action, m.ID, nil, map[string]any{"league": m.League, "seats": len(m.Seats), "rated": m.Settings.Rated})
	if err != nil {
		return arena.Match{}, err
	}
	return s.schedule(ctx, m, audit)
}

// unrated returns the reason why a match is not rated, "" if it is or its league
// is not.
func unrated(l arena.League, settings arena.Settings, reason arena.UnratedReason) arena.UnratedReason {
	if settings.Rated || !l.Settings.Rated {
		return ""
	}
	return reason
}

// openLeague returns a league that takes matches.
func (s *Service) openLeague(ctx context.Context, slug string) (arena.League, error) {
	l, err := s.o.Store.Leagues.League(ctx, slug)
	if err != nil {
		return arena.League{}, arena.AtField("league", err)
	}
	if !l.ArchivedAt.IsZero() {
		return arena.League{}, arena.Errorf(arena.CodeConflict, "league %s is archived; unarchive it first", l.Slug)
	}
	switch l.Status {
	case arena.LeagueOpen, arena.LeagueRunning, arena.LeagueFrozen:
		return l, nil
	case arena.LeagueDraft, arena.LeaguePaused, arena.LeagueFinished:
	}
	return arena.League{}, arena.Errorf(arena.CodeConflict, "league %s is %s; a match needs it to be open, running or frozen", l.Slug, l.Status)
}

// settings returns those of the league with what the request changes.
func (s *Service) settings(l arena.League, rounds *int, rated *bool) (arena.Settings, error) {
	changed := l.Settings
	if rounds != nil {
		changed.Rounds = *rounds
	}
	if rated != nil {
		if *rated && !changed.Rated {
			return changed, arena.Invalid("rated", "league %s is not rated", l.Slug)
		}
		changed.Rated = *rated
	}
	if fields := settings.Check(changed, s.o.HasModel); len(fields) > 0 {
		return changed, refusal(arena.CodeInvalid, "validation failed", fields)
	}
	return changed, nil
}

// checkStart returns when a match starts that should start at a time; nil
// means now.
func checkStart(wanted *time.Time, now time.Time) (time.Time, error) {
	if wanted == nil {
		return now, nil
	}
	at := wanted.UTC().Truncate(time.Millisecond)
	switch {
	case at.Before(now.Add(-clockSlack)):
		return at, arena.Invalid("starts_at", "is in the past")
	case at.After(now.Add(furthestStart)):
		return at, arena.Invalid("starts_at", "must be within a year")
	case at.Before(now):
		return now, nil
	}
	return at, nil
}

// agents returns the agents of a match in a league. The error lists all that
// is wrong with them by their place in the request.
func (s *Service) agents(ctx context.Context, l arena.League, ids []string, atOnce bool) ([]arena.Agent, error) {
	if n := len(ids); n < l.Settings.MinSeats || n > l.Settings.MaxSeats {
		return nil, arena.Invalid("agents", "league %s plays with %d to %d seats, not %d", l.Slug, l.Settings.MinSeats, l.Settings.MaxSeats, n)
	}
	known, err := s.o.Store.Agents.AgentsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var wrong, notReady []arena.FieldError
	agents, now := make([]arena.Agent, len(ids)), s.now()
	for i, id := range ids {
		g, ok := known[id]
		field := fmt.Sprintf("agents[%d]", i)
		switch {
		case slices.Contains(ids[:i], id):
			wrong = append(wrong, arena.FieldError{Field: field, Message: "agent " + id + " has a seat already"})
		case !ok:
			wrong = append(wrong, arena.FieldError{Field: field, Message: "there is no agent " + id})
		case !g.RetiredAt.IsZero():
			wrong = append(wrong, arena.FieldError{Field: field, Message: "agent " + id + " is retired"})
		case atOnce:
			if cause := notReadyBecause(g, l.Slug, now); cause != "" {
				notReady = append(notReady, arena.FieldError{Field: field, Message: cause})
			}
		}
		agents[i] = g
	}
	switch {
	case len(wrong) > 0:
		return nil, refusal(arena.CodeInvalid, "validation failed", wrong)
	case len(notReady) > 0:
		return nil, refusal(arena.CodeAgentNotReady, "some agents cannot play right now", notReady)
	}
	return agents, nil
}

// notReadyBecause returns why an agent cannot take a seat now (docs/rules.md,
// section 1), "" if it can.
func notReadyBecause(g arena.Agent, league string, now time.Time) string {
	switch status := g.StatusAt(now); {
	case status == arena.AgentPaused:
		p, _ := g.PauseAt(now)
		return fmt.Sprintf("agent %s is paused (%s): %s", g.ID, p.Reason, p.Ending())
	case status != arena.AgentActive:
		return fmt.Sprintf("agent %s is %s: its endpoint has not passed a check", g.ID, status)
	case !g.Plays(league):
		return fmt.Sprintf("agent %s does not list %s among the capabilities of its health", g.ID, league)
	}
	return ""
}

func refusal(code arena.Code, message string, fields []arena.FieldError) error {
	return &arena.Error{Code: code, Message: message, Fields: fields}
}
