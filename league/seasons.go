package league

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
)

// season is a league's running season as one tick sees it.
type season struct {
	arena.Season
	league   arena.League
	pairings []arena.Pairing
	matches  map[string]arena.Match // of open pairings, by id
	entered  map[string]bool        // agents of the league
	present  map[string]arena.Agent // who could play now, when it is free or after a cooldown
	idle     map[string]arena.Agent // who could take a seat now
	roster                          // where they come from
}

// tournament advances the season of a league: it begins the season, adds late
// joiners, decides pairings whose matches are over, orders the next pairings,
// creates their matches, and ends the season. Each step depends on stored state
// only, so a tick may stop anywhere and the next one continues.
func (t *tick) tournament(ctx context.Context, l arena.League) error {
	s, err := t.load(ctx, l)
	if s == nil || err != nil {
		return err
	}
	st, err := t.advance(ctx, s)
	if err != nil {
		return err
	}
	return t.apply(ctx, s, st)
}

// load returns the running season with what decides its next step. nil: none
// runs, and none is to begin now.
func (t *tick) load(ctx context.Context, l arena.League) (*season, error) {
	running, pairings, err := t.Store.Season(ctx, l.Slug, 0)
	if err != nil && arena.CodeOf(err) != arena.CodeNotFound {
		return nil, fmt.Errorf("read the season: %w", err)
	}
	s := &season{Season: running, league: l, pairings: pairings}
	if err := t.who(ctx, s); err != nil {
		return nil, err
	}
	if running.Status != arena.SeasonRunning {
		if begun, err := t.begin(ctx, s); err != nil || !begun {
			return nil, err
		}
		if s.Season, s.pairings, err = t.Store.Season(ctx, l.Slug, 0); err != nil {
			return nil, fmt.Errorf("read the new season: %w", err)
		}
	}
	if s.matches, err = t.Store.PairingMatches(ctx, s.ID); err != nil {
		return nil, fmt.Errorf("read the season's matches: %w", err)
	}
	return s, nil
}

// who notes who is there. An agent of the league that is busy elsewhere is
// present and not idle.
func (t *tick) who(ctx context.Context, s *season) error {
	entered, err := t.entered(ctx, s.league.Slug)
	if err != nil {
		return err
	}
	if s.roster, err = t.eligible(ctx, s.league, entered); err != nil {
		return err
	}
	s.entered = make(map[string]bool, len(entered))
	for _, a := range entered {
		s.entered[a.ID] = true
	}
	s.present, s.idle = map[string]arena.Agent{}, map[string]arena.Agent{}
	for _, a := range s.roster.idle {
		s.idle[a.ID], s.present[a.ID] = a, a
	}
	for _, a := range slices.Concat(s.busy, s.cooling) {
		s.present[a.ID] = a
	}
	return nil
}

// begin starts a season with the entrants that are present, when its time has come.
func (t *tick) begin(ctx context.Context, s *season) (begun bool, err error) {
	l := s.league
	var starved arena.Note
	if least := format.Of(l.Settings.Format).MinEntrants; len(s.present) < least {
		starved = s.needs(l.Slug, least, len(s.present))
	}
	if l.Schedule != "" && l.Settings.Options.Starts == arena.StartsSeason && format.Of(l.Settings.Format).Tabled() {
		if taken, err := t.occurrence(ctx, l, starved == arena.Note{}); err != nil || !taken {
			note := l.Note
			if due(l, t.now) {
				note = cmp.Or(starved, note)
			}
			return false, errors.Join(err, t.note(ctx, l, note, time.Time{}))
		}
	}
	if starved != (arena.Note{}) {
		return false, t.note(ctx, l, starved, time.Time{})
	}
	fresh := arena.Season{
		ID: arena.NewID(arena.SeasonPrefix, t.now), League: l.Slug, Format: l.Settings.Format, Options: l.Settings.Options,
		Seed: t.Rand.Uint64(), StartedAt: t.now,
	}
	if d := l.Settings.Options.Duration; d > 0 {
		fresh.EndsAt = t.now.Add(d)
	}
	if fresh.Entrants, err = t.entrants(ctx, s, 1); err != nil {
		return false, err
	}
	fresh, err = t.Store.StartSeason(ctx, fresh)
	if arena.CodeOf(err) == arena.CodeConflict {
		return false, nil // another node was quicker
	}
	if err != nil {
		return false, fmt.Errorf("begin a season: %w", err)
	}
	t.Logger.InfoContext(ctx, "season started", "league", l.Slug, "season", fresh.No, "entrants", len(fresh.Entrants))
	return true, nil
}

// entrants describes the present agents that are not in the season yet, who
// play from a round on.
func (t *tick) entrants(ctx context.Context, s *season, round int) ([]arena.Entrant, error) {
	var ids []string
	for id := range s.present {
		if !slices.ContainsFunc(s.Entrants, func(e arena.Entrant) bool { return e.AgentID == id }) || s.Status != arena.SeasonRunning {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	ratings, err := t.Store.AgentRatings(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read ratings: %w", err)
	}
	joining := make([]arena.Entrant, len(ids))
	for i, id := range ids {
		a := s.present[id]
		joining[i] = arena.Entrant{AgentID: id, OwnerID: a.OwnerID, Name: a.Name, Rating: ratingIn(ratings[id], s.league.Slug), Round: round}
	}
	return joining, nil
}

func ratingIn(ratings []arena.Rating, league string) arena.MilliElo {
	for _, r := range ratings {
		if r.League == league {
			return r.MilliElo
		}
	}
	return arena.StartRating
}

// step is what a tick does to a season.
type step struct {
	arena.SeasonChange
	note arena.Note
	next time.Time
}

// advance decides everything that can be decided now.
func (t *tick) advance(ctx context.Context, s *season) (step, error) {
	var st step
	if err := t.comeAndGo(ctx, s, &st); err != nil {
		return st, err
	}
	for i := range s.pairings {
		p := &s.pairings[i]
		if p.Open() && t.decide(s, p, &st) {
			p.DecidedAt = t.now
			st.Pairings = append(st.Pairings, *p)
		}
	}
	if err := t.order(ctx, s, &st); err != nil {
		return st, err
	}
	if st.Finish != nil {
		return st, nil
	}
	return st, t.seat(ctx, s, &st)
}

// comeAndGo adds the agents that have entered the league and marks those that
// have left it or are retired, before the next round.
func (t *tick) comeAndGo(ctx context.Context, s *season, st *step) error {
	round := 0
	for _, p := range s.pairings {
		round = max(round, p.Round)
	}
	for i := range s.Entrants {
		e := &s.Entrants[i]
		if !s.entered[e.AgentID] && e.WithdrawnRound == 0 {
			e.WithdrawnRound = max(round, 1)
			st.Join = append(st.Join, *e)
		}
	}
	if !format.Of(s.Format).LateJoin {
		return nil
	}
	late, err := t.entrants(ctx, s, round+1)
	s.Entrants = append(s.Entrants, late...)
	st.Join = append(st.Join, late...)
	return err
}

// decide sets the result of an open pairing and reports whether it could.
func (t *tick) decide(s *season, p *arena.Pairing, st *step) bool {
	m, made := s.matches[p.MatchID]
	switch {
	case made && !m.Status.Over():
		return false
	case made:
		p.Result, p.Scores = format.Result(m)
		return true
	case len(p.Agents) != 2: // gathered from those who were there
		if slices.ContainsFunc(p.Agents, func(id string) bool { _, there := s.present[id]; return !there || s.budget[id] }) {
			p.Result, p.MatchID = arena.PairingVoid, ""
		}
		return !p.Open()
	}
	away := make([]bool, 2)
	for i, id := range p.Agents {
		plays := slices.ContainsFunc(s.Entrants, func(e arena.Entrant) bool { return e.AgentID == id && e.Plays(p.Round) })
		_, there := s.present[id]
		until, cooling := s.coolingUntil(id, *p)
		if plays && there && (!cooling || until.IsZero()) {
			continue
		}
		if !cooling {
			until = p.CreatedAt.Add(s.Options.Forfeit)
		}
		away[i], p.MatchID = true, ""
		if plays && t.now.Before(until) {
			away[i] = false
			st.note = arena.WaitsForAgentNote(p.Round, nameOf(s.Entrants, id))
			if cooling {
				st.note = arena.WaitsForBudgetNote(p.Round, nameOf(s.Entrants, id))
			}
			if st.next.IsZero() || until.Before(st.next) {
				st.next = until
			}
		}
	}
	if !away[0] && !away[1] {
		return false // a match that could not be made while somebody was away is chosen anew
	}
	p.Result, p.Scores, p.MatchID = arena.PairingForfeit, format.Forfeit(away), ""
	return true
}

func nameOf(entrants []arena.Entrant, id string) string {
	for _, e := range entrants {
		if e.AgentID == id {
			return e.Name
		}
	}
	return id
}

// order stores the next pairings of the format, or the end of the season.
func (t *tick) order(ctx context.Context, s *season, st *step) error {
	state := format.State{
		Season: s.Season, Pairings: s.pairings, Now: t.now,
		MinSeats: s.league.Settings.MinSeats, MaxSeats: s.league.Settings.MaxSeats,
	}
	if format.Of(s.Format).NeedsIdle {
		state.Idle = make(map[string]time.Time, len(s.idle))
		for id, a := range s.idle {
			if state.Idle[id] = a.PassedAt; s.last[id].After(a.PassedAt) {
				state.Idle[id] = s.last[id]
			}
		}
	}
	if s.Format == arena.FormatElimination {
		gathers, note, next, err := t.gathers(ctx, s)
		if err != nil || !gathers {
			st.note, st.next = cmp.Or(st.note, note), sooner(st.next, next)
			return err
		}
	}
	ordered, err := format.Next(state)
	if err != nil {
		return fmt.Errorf("order the next pairings: %w", err)
	}
	if ordered.Done {
		st.Finish = &arena.SeasonEnd{At: t.now, Table: format.Table(state)}
		return nil
	}
	if p := ordered.Note.Params; ordered.Note.Code == arena.NoteNeedsAgents {
		ordered.Note = s.needs(s.league.Slug, *p.Least, *p.Has)
	}
	st.note, st.next = cmp.Or(st.note, ordered.Note), sooner(st.next, ordered.NextAt)
	if due, err := t.roundDue(ctx, s, ordered.Pairings); err != nil || !due {
		return err
	}
	for _, p := range ordered.Pairings {
		p.SeasonID, p.CreatedAt = s.ID, t.now
		if !p.Open() {
			p.DecidedAt = t.now
		}
		s.pairings = append(s.pairings, p)
		st.Pairings = append(st.Pairings, p)
	}
	return nil
}

func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// seat chooses matches for the open pairings whose agents all have a free
// seat. Where one of them is still busy, it keeps a seat of each, so that no
// league that looks later takes it, and notes until when.
func (t *tick) seat(ctx context.Context, s *season, st *step) error {
	kept := map[string]bool{}
	var waits arena.Note
	var until time.Time
	for i := range s.pairings {
		p := &s.pairings[i]
		if !p.Open() || p.MatchID != "" {
			continue
		}
		all, free := true, true
		var busy []arena.Agent
		for _, id := range p.Agents {
			a, there := s.present[id]
			_, cooling := s.until[id] // too long to keep the others' seats
			if !cooling && there {
				_, cooling = t.cooldownOf(a, s.league.Settings) // by other matches of this tick
			}
			all, free = all && there && !cooling, free && !kept[id] && t.hasSeat(a)
			if !kept[id] && !t.hasSeat(a) && !s.plays(id) {
				busy = append(busy, a)
			}
		}
		if !all {
			continue
		}
		for _, id := range p.Agents {
			if free || !kept[id] {
				t.taken[id]++
			}
			kept[id] = kept[id] || !free
		}
		if len(busy) > 0 && waits.Code == "" {
			var err error
			if until, err = t.playsUntil(ctx, busy...); err != nil {
				return err
			}
			waits = arena.PlaysElsewhereNote(p.Round, busy[0].Name, until)
		}
		if !free {
			continue
		}
		for _, id := range p.Agents {
			t.spend(s.present[id], s.league.Settings)
		}
		p.MatchID = arena.NewID(arena.MatchPrefix, t.now)
		st.Pairings = slices.DeleteFunc(st.Pairings, func(q arena.Pairing) bool {
			return q.Round == p.Round && q.Slot == p.Slot && q.Game == p.Game
		})
		st.Pairings = append(st.Pairings, *p)
	}
	if st.note.Code == "" && waits.Code != "" {
		st.note, st.next = waits, until
	}
	return nil
}

// plays reports whether an agent has a match in the season that is not over.
func (s *season) plays(agentID string) bool {
	return slices.ContainsFunc(s.pairings, func(p arena.Pairing) bool {
		return p.Open() && p.MatchID != "" && slices.Contains(p.Agents, agentID)
	})
}

// apply stores a step, then makes the matches that pairings have been given.
// A match that a crash kept from being made is made by the next tick.
func (t *tick) apply(ctx context.Context, s *season, st step) error {
	if !st.Empty() {
		err := t.Store.ChangeSeason(ctx, s.Season, st.SeasonChange)
		if arena.CodeOf(err) == arena.CodeConflict {
			return nil // another node was quicker
		}
		if err != nil {
			return fmt.Errorf("store the season: %w", err)
		}
	}
	if st.Finish != nil {
		return t.finished(ctx, s)
	}
	var failed []error
	for _, p := range s.pairings {
		if _, made := s.matches[p.MatchID]; p.MatchID == "" || !p.Open() || made {
			continue
		}
		agents := make([]arena.Agent, len(p.Agents))
		for i, id := range p.Agents {
			agents[i] = s.present[id]
		}
		failed = append(failed, t.create(ctx, arena.MatchPlan{ID: p.MatchID, League: s.league.Slug, Settings: s.league.Settings, Agents: agents}))
	}
	return errors.Join(append(failed, t.note(ctx, s.league, st.note, st.next))...)
}
