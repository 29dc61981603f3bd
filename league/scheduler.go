package league

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// The intervals of a Scheduler that sets none.
const (
	defaultLadderPause      = 5 * time.Second
	defaultEliminationPause = time.Minute
	defaultPatience         = 20 * time.Second
)

// reserve is how long before its start a scheduled match keeps its agents
// from other matches.
const reserve = 5 * time.Minute

// SchedulerStore holds the leagues, agents and matches.
type SchedulerStore interface {
	Leagues(ctx context.Context) ([]arena.League, error)
	UpdateLeague(ctx context.Context, slug string, apply func(*arena.League) error) (arena.League, error)
	Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) ([]arena.Agent, string, error)
	AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error)
	Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]arena.Match, string, error)
	LiveMatches(ctx context.Context, league string) ([]arena.Match, error)
	Meetings(ctx context.Context, league string, since time.Time) ([]arena.Meeting, error)
	CreateMatch(ctx context.Context, m arena.Match, e arena.Event) (arena.Event, error)
	ClaimTick(ctx context.Context, job string, tick time.Time) (bool, error)
}

// Publisher tells spectators about committed events.
type Publisher interface {
	Publish(league string, events ...arena.Event)
}

// Options are the parts of a Scheduler. All but the intervals are needed.
type Options struct {
	Store     SchedulerStore
	Publisher Publisher
	Wake      func() // tells the runner that matches wait
	Now       func() time.Time
	Rand      rand.Source // seeds of matches: must not be guessable by agents
	Logger    *slog.Logger
	// Due reports, for a league with a schedule, whether an occurrence has come
	// that l.NextRunAt still names, and when the next one after now is.
	Due func(l arena.League, now time.Time) (due bool, next time.Time)

	LadderPause      time.Duration // rest of an agent between two duels of a ladder; 0: 5 s
	EliminationPause time.Duration // between two matches of an elimination league without a schedule; 0: 60 s
	Patience         time.Duration // LadderInput.Patience; 0: 20 s
}

// Scheduler pairs the agents of running leagues. It keeps no state of its
// own: every decision follows from the store, so that any node may make it.
type Scheduler struct {
	o  Options
	mu sync.Mutex // one Tick at a time
}

// NewScheduler makes a Scheduler.
func NewScheduler(o Options) (*Scheduler, error) {
	if o.Store == nil || o.Publisher == nil || o.Wake == nil || o.Now == nil || o.Rand == nil || o.Logger == nil || o.Due == nil {
		return nil, errors.New("scheduler: a part is missing: Store, Publisher, Wake, Now, Rand, Logger and Due are needed")
	}
	o.LadderPause = cmp.Or(o.LadderPause, defaultLadderPause)
	o.EliminationPause = cmp.Or(o.EliminationPause, defaultEliminationPause)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	return &Scheduler{o: o}, nil
}

// Tick looks at every running league once and creates the matches that are
// due. One node at a time should call it, every second or so; when two do,
// an agent may be given two matches, which the runner plays one after the
// other. An error of one league does not keep the others from being looked at.
//
// Elimination leagues come first: they need many agents at once, a ladder
// takes what is left.
func (s *Scheduler) Tick(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.o.Store.Leagues(ctx)
	if err != nil {
		return fmt.Errorf("read leagues: %w", err)
	}
	running := slices.DeleteFunc(all, func(l arena.League) bool {
		return l.Status != arena.LeagueRunning && l.Status != arena.LeagueFrozen
	})
	if len(running) == 0 {
		return nil
	}
	slices.SortStableFunc(running, func(a, b arena.League) int {
		return cmp.Compare(urgency(a.Settings.Format), urgency(b.Settings.Format))
	})
	t := &tick{Options: s.o, now: s.o.Now(), taken: make(map[string]bool)}
	if err := t.reserveSeats(ctx); err != nil {
		return err
	}
	var failed []error
	for _, l := range running {
		var err error
		switch l.Settings.Format { //nolint:exhaustive // leagues of other formats cannot be made yet
		case arena.FormatLadder:
			err = t.ladder(ctx, l)
		case arena.FormatElimination:
			err = t.elimination(ctx, l)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("schedule league %s: %w", l.Slug, err))
		}
	}
	if t.created > 0 {
		s.o.Wake()
	}
	return errors.Join(failed...)
}

func urgency(f arena.Format) int {
	if f == arena.FormatElimination {
		return 0
	}
	return 1
}

// tick is one look at the leagues.
type tick struct {
	Options
	now     time.Time
	taken   map[string]bool // agents with a seat in a match that is about to start
	created int
}

// pageSize is the most that a list of the store gives at once.
const pageSize = 100

// reserveSeats notes who has a seat in a match that waits for its start.
func (t *tick) reserveSeats(ctx context.Context) error {
	f := arena.MatchFilter{Statuses: []arena.MatchStatus{arena.MatchScheduled, arena.MatchReady}}
	for p := (arena.Page{Limit: pageSize}); ; {
		matches, next, err := t.Store.Matches(ctx, f, p)
		if err != nil {
			return fmt.Errorf("read waiting matches: %w", err)
		}
		for _, m := range matches {
			for _, seat := range m.Seats {
				if m.StartsAt.Sub(t.now) <= reserve {
					t.taken[seat.AgentID] = true
				}
			}
		}
		if p.Cursor = next; next == "" {
			return nil
		}
	}
}

// eligible gives the agents of a league that may take a seat: idle ones now,
// busy ones when they are done with what they play.
func (t *tick) eligible(ctx context.Context, league string) (idle, busy []arena.Agent, err error) {
	for p := (arena.Page{Limit: pageSize}); ; {
		agents, next, err := t.Store.Agents(ctx, arena.AgentFilter{League: league}, p)
		if err != nil {
			return nil, nil, fmt.Errorf("read agents: %w", err)
		}
		for _, a := range agents {
			switch {
			case a.StatusAt(t.now) != arena.AgentActive || !a.Plays(league):
			case a.Running >= max(a.Health.MaxConcurrent, 1) || t.taken[a.ID]:
				busy = append(busy, a)
			default:
				idle = append(idle, a)
			}
		}
		if p.Cursor = next; next == "" {
			return idle, busy, nil
		}
	}
}

// played tells when agents last played in a league: the end of a match or the
// start of one that is running. It looks at the newest ended matches; an agent
// that is not among them has rested long enough for every purpose here.
func (t *tick) played(ctx context.Context, league string) (map[string]time.Time, error) {
	ended, _, err := t.Store.Matches(ctx, arena.MatchFilter{
		League: league, Statuses: []arena.MatchStatus{arena.MatchFinished, arena.MatchVoid},
	}, arena.Page{Limit: pageSize})
	if err != nil {
		return nil, fmt.Errorf("read ended matches: %w", err)
	}
	live, err := t.Store.LiveMatches(ctx, league)
	if err != nil {
		return nil, fmt.Errorf("read live matches: %w", err)
	}
	last := make(map[string]time.Time)
	note := func(m arena.Match, at time.Time) {
		for _, seat := range m.Seats {
			if at.After(last[seat.AgentID]) {
				last[seat.AgentID] = at
			}
		}
	}
	for _, m := range ended {
		note(m, m.FinishedAt)
	}
	for _, m := range live {
		note(m, m.StartedAt) // zero while it waits
	}
	return last, nil
}

// create schedules one match that starts now.
func (t *tick) create(ctx context.Context, l arena.League, settings arena.Settings, agents []arena.Agent) error {
	m := arena.Match{
		ID: arena.NewID(arena.MatchPrefix, t.now), League: l.Slug, Status: arena.MatchScheduled,
		Settings: settings, Seed: t.Rand.Uint64(), CreatedAt: t.now, StartsAt: t.now,
	}
	body := arena.MatchScheduledBody{
		League: l.Slug, StartsAt: t.now.UTC().Format(arena.TimeFormat), Rated: settings.Rated,
	}
	for i, a := range agents {
		m.Seats = append(m.Seats, arena.Seat{
			No: i, AgentID: a.ID, Name: a.Name, OwnerID: a.OwnerID, Protocol: a.Protocol, State: arena.SeatActive,
		})
		body.Seats = append(body.Seats, arena.SeatBrief{AgentID: a.ID, Name: a.Name, Version: a.Version})
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	event, err := t.Store.CreateMatch(ctx, m, arena.Event{
		MatchID: m.ID, At: t.now, Type: arena.EventMatchScheduled, Body: raw,
	})
	if err != nil {
		return fmt.Errorf("create match %s: %w", m.ID, err)
	}
	t.created++
	for _, a := range agents {
		t.taken[a.ID] = true
	}
	t.Publisher.Publish(l.Slug, event)
	t.Logger.InfoContext(ctx, "match scheduled",
		"match_id", m.ID, "league", l.Slug, "seats", len(m.Seats), "rated", settings.Rated)
	return nil
}

// note stores why a league is not pairing and when it looks again; a zero
// time is not known. It writes only what changed.
func (t *tick) note(ctx context.Context, l arena.League, note string, next time.Time) error {
	if l.Note == note && l.NextRunAt.Equal(next) {
		return nil
	}
	_, err := t.Store.UpdateLeague(ctx, l.Slug, func(l *arena.League) error {
		l.Note, l.NextRunAt = note, next
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the next run: %w", err)
	}
	return nil
}

// ladder pairs the idle agents of a ladder. A schedule means nothing to it: it
// is continuous. It is starved only when nobody could come either: agents
// that play or rest will be idle soon.
func (t *tick) ladder(ctx context.Context, l arena.League) error {
	idle, busy, err := t.eligible(ctx, l.Slug)
	if err != nil {
		return err
	}
	if len(idle) < 2 { // most looks end here: spare the store the rest
		return t.starve(ctx, l, needs(2, len(idle)), len(busy), time.Time{})
	}
	last, err := t.played(ctx, l.Slug)
	if err != nil {
		return err
	}
	in := LadderInput{Now: t.now, Rated: l.Settings.Rated, Busy: len(busy), Patience: t.Patience}
	if in.Meetings, err = t.Store.Meetings(ctx, l.Slug, t.now.Add(-meetingWindow)); err != nil {
		return fmt.Errorf("read meetings: %w", err)
	}
	var next time.Time // the first of those that rest is idle again
	agents := make(map[string]arena.Agent, len(idle))
	for _, a := range idle {
		if until := last[a.ID].Add(t.LadderPause); until.After(t.now) {
			if in.Busy++; next.IsZero() || until.Before(next) {
				next = until
			}
			continue
		}
		agents[a.ID] = a
	}
	if in.Idle, err = t.candidates(ctx, l, idle, agents, last, in.Meetings); err != nil {
		return err
	}
	pairs, starved := PairLadder(in)
	if starved != "" {
		return t.starve(ctx, l, starved, in.Busy, next)
	}
	byID := make(map[string]Candidate, len(in.Idle))
	for _, c := range in.Idle {
		byID[c.AgentID] = c
	}
	var failed []error
	for _, p := range pairs {
		settings := l.Settings
		settings.Rated = settings.Rated && RatedPair(byID[p[0]], byID[p[1]], in.Meetings, t.now)
		failed = append(failed, t.create(ctx, l, settings, []arena.Agent{agents[p[0]], agents[p[1]]}))
	}
	return errors.Join(append(failed, t.note(ctx, l, "", time.Time{}))...)
}

// starve notes that nobody was paired, unless it is only a matter of moments.
func (t *tick) starve(ctx context.Context, l arena.League, starved string, coming int, next time.Time) error {
	if coming > 0 {
		starved = ""
	}
	return t.note(ctx, l, starved, next)
}

// candidates describes those idle agents that are among rested.
func (t *tick) candidates(
	ctx context.Context, l arena.League, idle []arena.Agent, rested map[string]arena.Agent,
	last map[string]time.Time, meetings []arena.Meeting,
) ([]Candidate, error) {
	ids := make([]string, 0, len(idle))
	for _, a := range idle {
		if _, ok := rested[a.ID]; ok {
			ids = append(ids, a.ID)
		}
	}
	ratings, err := t.Store.AgentRatings(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read ratings: %w", err)
	}
	opponents := lastOpponents(meetings)
	candidates := make([]Candidate, 0, len(ids))
	for _, id := range ids {
		c := Candidate{
			AgentID: id, OwnerID: rested[id].OwnerID, Rating: arena.StartRating,
			IdleSince: rested[id].PassedAt, LastOpponent: opponents[id],
		}
		if at, ok := last[id]; ok {
			c.IdleSince = at
		}
		for _, r := range ratings[id] {
			if r.League == l.Slug {
				c.Rating = r.Melo
			}
		}
		candidates = append(candidates, c)
	}
	return candidates, nil
}

func lastOpponents(meetings []arena.Meeting) map[string]string {
	opponent, at := make(map[string]string), make(map[string]time.Time)
	for _, m := range meetings {
		for _, pair := range [][2]string{{m.A, m.B}, {m.B, m.A}} {
			if !m.At.Before(at[pair[0]]) {
				opponent[pair[0]], at[pair[0]] = pair[1], m.At
			}
		}
	}
	return opponent
}

// elimination gathers a match: once per occurrence of the league's schedule,
// or, without one, a pause after the last match has ended.
func (t *tick) elimination(ctx context.Context, l arena.League) error {
	due, next, err := t.occasion(ctx, l)
	if err != nil {
		return err
	}
	if !due {
		return t.note(ctx, l, l.Note, next)
	}
	idle, _, err := t.eligible(ctx, l.Slug)
	if err != nil {
		return err
	}
	last, err := t.played(ctx, l.Slug)
	if err != nil {
		return err
	}
	candidates := make([]Candidate, len(idle))
	agents := make(map[string]arena.Agent, len(idle))
	for i, a := range idle {
		agents[a.ID] = a
		candidates[i] = Candidate{AgentID: a.ID, OwnerID: a.OwnerID, IdleSince: a.PassedAt}
		if at, ok := last[a.ID]; ok {
			candidates[i].IdleSince = at
		}
	}
	ids, starved := GatherElimination(candidates, l.Settings, rand.New(t.Rand)) //nolint:gosec // the caller's source
	if starved != "" {
		return t.note(ctx, l, starved, next)
	}
	seated := make([]arena.Agent, len(ids))
	for i, id := range ids {
		seated[i] = agents[id]
	}
	return errors.Join(t.create(ctx, l, l.Settings, seated), t.note(ctx, l, "", next))
}

// occasion says whether an elimination league gathers now, and when next.
func (t *tick) occasion(ctx context.Context, l arena.League) (due bool, next time.Time, err error) {
	if l.Schedule != "" {
		if due, next = t.Due(l, t.now); !due {
			return false, next, nil
		}
		occurrence := l.NextRunAt
		if occurrence.IsZero() {
			occurrence = t.now.Truncate(time.Minute)
		}
		// Another node may be in this very tick (threat C3).
		if due, err = t.Store.ClaimTick(ctx, "gather:"+l.Slug, occurrence); err != nil {
			return false, next, fmt.Errorf("claim the occurrence: %w", err)
		}
		return due, next, nil
	}
	live, err := t.Store.LiveMatches(ctx, l.Slug)
	if err != nil {
		return false, next, fmt.Errorf("read live matches: %w", err)
	}
	for _, m := range live {
		if m.StartsAt.Sub(t.now) <= reserve {
			return false, time.Time{}, nil
		}
	}
	ended, _, err := t.Store.Matches(ctx, arena.MatchFilter{
		League: l.Slug, Statuses: []arena.MatchStatus{arena.MatchFinished, arena.MatchVoid, arena.MatchCancelled},
	}, arena.Page{Limit: 1})
	if err != nil {
		return false, next, fmt.Errorf("read the last match: %w", err)
	}
	if len(ended) == 0 {
		return true, time.Time{}, nil
	}
	next = ended[0].FinishedAt.Add(t.EliminationPause)
	if next.After(t.now) {
		return false, next, nil
	}
	return true, time.Time{}, nil
}
