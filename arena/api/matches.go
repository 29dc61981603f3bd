package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/plaintext"
)

// furthestStart is how far ahead a match may be scheduled.
const furthestStart = 366 * 24 * time.Hour

// clockSlack is how far in the past a start may lie and still mean now.
const clockSlack = time.Minute

type createMatchInput struct {
	Body struct {
		League   string     `json:"league" minLength:"1" maxLength:"40"`
		Agents   []string   `json:"agents" minItems:"2" maxItems:"128" maxLength:"64" doc:"Ids of the agents, one seat each."`
		Rounds   *int       `json:"rounds,omitempty" minimum:"1" maximum:"1000" doc:"Left out: the league's."`
		Rated    *bool      `json:"rated,omitempty" doc:"Left out: the league's. A match of an unrated league cannot be rated."`
		StartsAt *time.Time `json:"starts_at,omitempty" doc:"Left out: now."`
	} `nameHint:"CreateMatchBody"`
}

func (a *API) createMatch(ctx context.Context, in *createMatchInput) (*output[matchView], error) {
	b, now := &in.Body, a.now()
	l, err := a.Store.League(ctx, b.League)
	if err != nil {
		return nil, arena.AtField("league", err)
	}
	if err := takesMatches(l); err != nil {
		return nil, err
	}
	settings, err := a.matchSettings(l, b.Rounds, b.Rated)
	if err != nil {
		return nil, err
	}
	startsAt, err := startOf(b.StartsAt, now)
	if err != nil {
		return nil, err
	}
	agents, err := a.agentsFor(ctx, l, b.Agents, !startsAt.After(now))
	if err != nil {
		return nil, err
	}
	return a.schedule(ctx, arena.MatchPlan{League: l.Slug, Settings: settings, Agents: agents, StartsAt: startsAt})
}

// schedule creates a match and has it claimed when it is due.
func (a *API) schedule(ctx context.Context, p arena.MatchPlan) (*output[matchView], error) {
	m, err := a.Matches.Schedule(ctx, p)
	if err != nil {
		return nil, err
	}
	did(ctx, m.ID, nil, map[string]any{"league": m.League, "seats": len(m.Seats), "rated": m.Settings.Rated})
	a.Wake()
	return answer(a.viewMatch(m)) // as it was created: reading it would compete with its start
}

// takesMatches refuses a league that is in no state to play.
func takesMatches(l arena.League) error {
	if !slices.Contains([]arena.LeagueStatus{arena.LeagueOpen, arena.LeagueRunning, arena.LeagueFrozen}, l.Status) {
		return arena.Errorf(arena.CodeConflict, "league %s is %s; a match needs it to be open, running or frozen", l.Slug, l.Status)
	}
	return nil
}

// matchSettings are the league's with what the request changes.
func (a *API) matchSettings(l arena.League, rounds *int, rated *bool) (arena.Settings, error) {
	s := l.Settings
	s.Rounds = orElse(rounds, s.Rounds)
	if rated != nil && *rated && !s.Rated {
		return s, arena.Invalid("rated", "league %s is not rated", l.Slug)
	}
	s.Rated = orElse(rated, s.Rated)
	if fields := a.CheckSettings(s); len(fields) > 0 {
		return s, &arena.Error{Code: arena.CodeInvalid, Message: "the request breaks a rule", Fields: fields}
	}
	return s, nil
}

func startOf(wanted *time.Time, now time.Time) (time.Time, error) {
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

// agentsFor returns the agents of a match. All that is wrong with them is
// listed at once, by their place in the request.
func (a *API) agentsFor(ctx context.Context, l arena.League, ids []string, atOnce bool) ([]arena.Agent, error) {
	if n := len(ids); n < l.Settings.MinSeats || n > l.Settings.MaxSeats {
		return nil, arena.Invalid("agents", "league %s plays with %d to %d seats, not %d", l.Slug, l.Settings.MinSeats, l.Settings.MaxSeats, n)
	}
	known, err := a.Store.AgentsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var wrong, notReady []arena.FieldError
	agents := make([]arena.Agent, len(ids))
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
			if cause := whyNotReady(g, l.Slug, a.now()); cause != "" {
				notReady = append(notReady, arena.FieldError{Field: field, Message: cause})
			}
		}
		agents[i] = g
	}
	switch {
	case len(wrong) > 0:
		return nil, &arena.Error{Code: arena.CodeInvalid, Message: "the request breaks a rule", Fields: wrong}
	case len(notReady) > 0:
		return nil, &arena.Error{Code: arena.CodeAgentNotReady, Message: "not every agent can take a seat now", Fields: notReady}
	}
	return agents, nil
}

// whyNotReady says why an agent cannot take a seat now (rulebook, section 1);
// "" when it can.
func whyNotReady(g arena.Agent, league string, now time.Time) string {
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

func newEvent(m arena.Match, at time.Time, t arena.EventType, body any) (arena.Event, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return arena.Event{}, fmt.Errorf("encode event %s: %w", t, err)
	}
	return arena.Event{MatchID: m.ID, At: at, Type: t, Body: data}, nil
}

// StatusParam is the query parameter status. Huma reads embedded parameters
// of exported types only.
type StatusParam struct {
	Status []string `query:"status" nullable:"false" enum:"scheduled,ready,running,finished,void,cancelled,live" doc:"Only in one of these states, separated by commas; live is running."`
}

func (p StatusParam) statuses() []arena.MatchStatus {
	var list []arena.MatchStatus
	for _, s := range p.Status {
		if s == "live" {
			s = string(arena.MatchRunning)
		}
		list = append(list, arena.MatchStatus(s))
	}
	return list
}

type listMatchesInput struct {
	PageParams
	StatusParam
	League string `query:"league" maxLength:"40" doc:"Only in this league."`
	Agent  string `query:"agent" maxLength:"64" doc:"Only with a seat of this agent."`
}

func (a *API) listMatches(ctx context.Context, in *listMatchesInput) (*output[listOf[matchView]], error) {
	return a.matchPage(ctx, arena.MatchFilter{League: in.League, AgentID: in.Agent, Statuses: in.statuses()}, in.page())
}

func (a *API) matchPage(ctx context.Context, f arena.MatchFilter, p arena.Page) (*output[listOf[matchView]], error) {
	items, next, err := a.viewMatches(ctx, f, p)
	if err != nil {
		return nil, err
	}
	return answerList(items, next)
}

func (a *API) getMatch(ctx context.Context, in *IDParam) (*output[snapshotView], error) {
	m, err := a.oneMatch(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	v := snapshotView{MatchView: m.Body, Match: m.Body, Points: map[string]arena.Points{}}
	for _, s := range m.Body.Seats {
		v.Points[s.AgentID] = s.Points
	}
	return answer(v)
}

func (a *API) oneMatch(ctx context.Context, id string) (*output[matchView], error) {
	m, err := a.shownMatch(ctx, id)
	if err != nil {
		return nil, err
	}
	v := a.viewMatch(m)
	if m.Round > 0 {
		rounds, err := a.shownRounds(ctx, m)
		if err != nil {
			return nil, err
		}
		if n := len(rounds); n > 0 {
			v.CurrentRound = viewCurrentRound(rounds[n-1], m.Settings.TimeLimit)
		}
	}
	return answer(v)
}

type endMatchInput struct {
	IDParam
	Body *struct {
		Reason string `json:"reason,omitempty" maxLength:"200" doc:"Shown to everyone."`
	} `nameHint:"EndMatchBody"`
}

func (a *API) cancelMatch(ctx context.Context, in *endMatchInput) (*output[matchView], error) {
	return a.endMatch(ctx, in, arena.MatchCancelled, "cancelled by an admin")
}

func (a *API) voidMatch(ctx context.Context, in *endMatchInput) (*output[matchView], error) {
	return a.endMatch(ctx, in, arena.MatchVoid, "voided by an admin")
}

func (a *API) endMatch(ctx context.Context, in *endMatchInput, status arena.MatchStatus, reason string) (*output[matchView], error) {
	if in.Body != nil && in.Body.Reason != "" {
		reason = in.Body.Reason
	}
	if err := plaintext.CheckLine("reason", reason); err != nil {
		return nil, err
	}
	m, err := a.Store.Match(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	now := a.now()
	last, err := newEvent(m, now, arena.EventMatchVoid, arena.MatchVoidBody{League: m.League, Reason: reason})
	if err != nil {
		return nil, err
	}
	if last, err = a.Store.EndMatch(ctx, m.ID, status, reason, now, last); err != nil {
		return nil, err
	}
	a.Publisher.Publish(m.League, last)
	return a.oneMatch(ctx, m.ID)
}

type listEventsInput struct {
	IDParam
	Since int64 `query:"since" minimum:"0" default:"0" doc:"Only events after this seq; exclusive, 0 for all."`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"500" doc:"How many events at most."`
}

type eventsView struct {
	Items     []arena.Event `json:"items"`
	NextSince int64         `json:"next_since" doc:"Give it back as since for the next part."`
}

// lines makes the log newline-delimited: one event per line.
func (v eventsView) lines() []any {
	lines := make([]any, len(v.Items))
	for i, e := range v.Items {
		lines[i] = e
	}
	return lines
}

func (a *API) listEvents(ctx context.Context, in *listEventsInput) (*output[eventsView], error) {
	events, err := a.Store.ShownAfter(ctx, in.ID, in.Since, in.Limit)
	if err != nil {
		return nil, err
	}
	v := eventsView{Items: orEmpty(events), NextSince: in.Since}
	if n := len(events); n > 0 {
		v.NextSince = events[n-1].Seq
	}
	return answer(v)
}

type listRoundsInput struct {
	IDParam
	Since int `query:"since" minimum:"0" default:"0" doc:"Only rounds after this one; exclusive."`
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"50" doc:"How many rounds at most."`
}

type roundsView struct {
	Items     []roundView `json:"items" doc:"Closed rounds, oldest first."`
	NextSince int         `json:"next_since" doc:"Give it back as since for the next part."`
}

func (a *API) listRounds(ctx context.Context, in *listRoundsInput) (*output[roundsView], error) {
	m, err := a.shownMatch(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	rounds, err := a.shownRounds(ctx, m)
	if err != nil {
		return nil, err
	}
	answers, err := a.Store.Answers(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	seat := map[string]int{}
	for _, s := range m.Seats {
		seat[s.AgentID] = s.No
	}
	slices.SortStableFunc(answers, func(x, y arena.Answer) int { return cmp.Compare(seat[x.AgentID], seat[y.AgentID]) })
	byRound := map[int][]arena.Answer{}
	for _, an := range answers {
		byRound[an.Round] = append(byRound[an.Round], an)
	}
	v := roundsView{Items: []roundView{}, NextSince: in.Since}
	for _, r := range rounds {
		if r.No > in.Since && !r.ClosedAt.IsZero() && len(v.Items) < in.Limit {
			v.Items = append(v.Items, viewRound(r, byRound[r.No]))
			v.NextSince = r.No
		}
	}
	return answer(v)
}
