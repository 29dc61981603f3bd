package league

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/format"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/budgets"
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
	UpdateLeague(ctx context.Context, slug string, apply func(*arena.League) error, audit ...arena.LeagueAudit) (arena.League, error)
	Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) ([]arena.Agent, string, error)
	AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error)
	Matches(ctx context.Context, f arena.MatchFilter, p arena.Page) ([]arena.Match, string, error)
	LiveMatches(ctx context.Context, league string) ([]arena.Match, error)
	RunningMatches(ctx context.Context, agentIDs []string) ([]arena.Match, error)
	Meetings(ctx context.Context, league string, since time.Time) ([]arena.Meeting, error)
	OwnerLinks(ctx context.Context, ownerIDs []string, kinds []arena.UnratedReason) ([]arena.OwnerLink, error)
	NoShows(ctx context.Context, league string, agentIDs []string) ([]arena.NoShow, error)
	DayUses(ctx context.Context, days []arena.AgentDay) (map[string]arena.DayUse, error)
	Played(ctx context.Context, league string, day, since time.Time) (map[string]arena.Played, error)
	Season(ctx context.Context, league string, no int) (arena.Season, []arena.Pairing, error)
	PairingMatches(ctx context.Context, seasonID string) (map[string]arena.Match, error)
	StartSeason(ctx context.Context, season arena.Season) (arena.Season, error)
	ChangeSeason(ctx context.Context, season arena.Season, c arena.SeasonChange) error
	RunningSeasons(ctx context.Context) (leagues []string, err error)
	Standings(ctx context.Context, league string, now time.Time) ([]arena.Standing, error)
}

// Rows are the subjects of the database that a scheduler works on. The aliases name
// the embedded fields, since a subject has a method of its own name.
type Rows struct {
	*leagueRows
	*agentRows
	*matchRows
	*store.Ratings
	*store.Operations
	*budgets.Uses
}

type (
	leagueRows = store.Leagues
	agentRows  = store.Agents
	matchRows  = store.Matches
)

// NewRows returns the rows of a database.
func NewRows(s *store.Store) Rows {
	return Rows{s.Leagues, s.Agents, s.Matches, s.Ratings, s.Operations, s.Budgets}
}

// Matches is the service for matches.
type Matches interface {
	Schedule(ctx context.Context, p arena.MatchPlan) (arena.Match, error)
	CancelUnstarted(ctx context.Context, m arena.Match, code arena.VoidCode) error
}

// Options are the parts of a Scheduler. All but the intervals are needed.
type Options struct {
	Store   SchedulerStore
	Matches Matches
	GroupBy []arena.UnratedReason // links that make owners one group for rated play
	Now     func() time.Time
	Rand    rand.Source // seeds of seasons: agents must not be able to predict it
	Logger  *slog.Logger

	LadderPause      time.Duration // least pause of an agent between two duels of a ladder; 0: 5 s
	EliminationPause time.Duration // between two matches of an elimination league without a schedule; 0: 60 s
	Patience         time.Duration // format.LadderInput.Patience; 0: 20 s
}

// Scheduler pairs the agents of running leagues. It keeps no state of its
// own: every decision follows from the store, so that any node may make it.
type Scheduler struct {
	o  Options
	mu sync.Mutex // one Tick at a time
}

// NewScheduler makes a Scheduler.
func NewScheduler(o Options) *Scheduler {
	o.LadderPause = cmp.Or(o.LadderPause, defaultLadderPause)
	o.EliminationPause = cmp.Or(o.EliminationPause, defaultEliminationPause)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	return &Scheduler{o: o}
}

// Tick looks at every running league once and creates the matches that are
// due. One node at a time should call it, every second or so; when two do,
// an agent may be given two matches, which the runner plays one after the
// other. An error of one league does not keep the others from being looked at.
//
// Leagues whose seasons need these very agents come first. Arenas and ladders
// pair the remaining agents, in a random order, so that none of them starves.
func (s *Scheduler) Tick(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.o.Store.Leagues(ctx)
	if err != nil {
		return fmt.Errorf("read leagues: %w", err)
	}
	closing, err := s.o.Store.RunningSeasons(ctx)
	if err != nil {
		return fmt.Errorf("read running seasons: %w", err)
	}
	var running []arena.League
	var finished []string
	for _, l := range all {
		switch {
		case !l.ArchivedAt.IsZero() && l.Status != arena.LeagueFinished: // its season waits
		case l.Status == arena.LeagueRunning || l.Status == arena.LeagueFrozen:
			running = append(running, l)
		case l.Status == arena.LeagueFinished && slices.Contains(closing, l.Slug):
			finished = append(finished, l.Slug)
		}
	}
	if len(running)+len(finished) == 0 {
		return nil
	}
	order(running, s.o.Rand)
	t := &tick{Options: s.o, now: s.o.Now(), taken: map[string]int{}, due: map[string]time.Time{}, came: map[string]time.Time{}, uses: map[string]arena.DayUse{}, zones: arena.Zones{}}
	if err := t.reserveSeats(ctx); err != nil {
		return err
	}
	var failed []error
	for _, slug := range finished {
		if err := t.close(ctx, slug); err != nil {
			failed = append(failed, fmt.Errorf("finish league %s: %w", slug, err))
		}
	}
	for _, l := range running {
		look := t.tournament
		if l.Settings.Format == arena.FormatLadder {
			look = t.ladder
		}
		if err := look(ctx, l); err != nil {
			failed = append(failed, fmt.Errorf("schedule league %s: %w", l.Slug, err))
		}
	}
	return errors.Join(failed...)
}

// order puts continuous leagues last, in a random order.
func order(leagues []arena.League, source rand.Source) {
	var first, last []arena.League
	for _, l := range leagues {
		if format.Of(l.Settings.Format).Continuous {
			last = append(last, l)
		} else {
			first = append(first, l)
		}
	}
	rand.New(source).Shuffle(len(last), func(i, j int) { last[i], last[j] = last[j], last[i] }) //nolint:gosec // no secret
	copy(leagues, append(first, last...))
}

// tick is one look at the leagues.
type tick struct {
	Options
	now   time.Time
	taken map[string]int          // seats of agents in matches that are about to start, or kept for one
	due   map[string]time.Time    // latest end of such a match, by agent
	came  map[string]time.Time    // leagues whose schedule has had an occurrence, with the one after it
	uses  map[string]arena.DayUse // of today, of the agents with a budget that were looked at
	zones arena.Zones
}

// pageSize is the largest page that the store returns.
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
					t.taken[seat.AgentID]++
					t.due[seat.AgentID] = later(t.due[seat.AgentID], m.LatestEnd())
				}
			}
		}
		if p.Cursor = next; next == "" {
			return nil
		}
	}
}

// playsUntil returns when the matches that agents have now end at the latest; zero: not
// known.
func (t *tick) playsUntil(ctx context.Context, agents ...arena.Agent) (until time.Time, err error) {
	ids := make([]string, len(agents))
	for i, a := range agents {
		ids[i] = a.ID
		until = later(until, t.due[a.ID])
	}
	running, err := t.Store.RunningMatches(ctx, ids)
	if err != nil {
		return until, fmt.Errorf("read what agents play: %w", err)
	}
	for _, m := range running {
		until = later(until, m.LatestEnd())
	}
	if !until.After(t.now) { // something has interrupted them
		return time.Time{}, nil
	}
	return until, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// hasSeat reports whether an agent could take one more seat now.
func (t *tick) hasSeat(a arena.Agent) bool {
	return a.Running+t.taken[a.ID] < max(a.Health.MaxConcurrent, 1)
}

// roster is the agents of a league that may take a seat.
type roster struct {
	idle    []arena.Agent        // now
	busy    []arena.Agent        // when they are done with what they play
	cooling []arena.Agent        // when their budget and the league's pace let them
	silent  []string             // names of active agents whose health does not list the league
	until   map[string]time.Time // when that is, by id; zero: not known
	budget  map[string]bool      // whether it is the budget, by id
	last    map[string]time.Time // when agents last played in the league
}

// eligible returns the agents of a league that may take a seat. It leaves out
// agents that their no-show record suspends, and built-in opponents if no other agent
// is idle.
func (t *tick) eligible(ctx context.Context, l arena.League, entered []arena.Agent) (r roster, err error) {
	for _, a := range entered {
		switch {
		case a.StatusAt(t.now) != arena.AgentActive:
		case !a.Plays(l.Slug):
			r.silent = append(r.silent, a.Name)
		case !t.hasSeat(a):
			r.busy = append(r.busy, a)
		default:
			r.idle = append(r.idle, a)
		}
	}
	r.idle = unlessAlone(r.idle)
	if r.idle, r.busy, err = t.unsuspended(ctx, l.Slug, r.idle, r.busy); err != nil {
		return r, err
	}
	err = t.coolDown(ctx, l, &r)
	r.idle = unlessAlone(r.idle)
	return r, err
}

// unlessAlone returns idle agents, or none if all of them are built in: then nobody is
// there to meet them.
func unlessAlone(idle []arena.Agent) []arena.Agent {
	if slices.ContainsFunc(idle, func(a arena.Agent) bool { return !a.BuiltIn() }) {
		return idle
	}
	return nil
}

// entered reads all agents of a league.
func (t *tick) entered(ctx context.Context, league string) (all []arena.Agent, err error) {
	for p := (arena.Page{Limit: pageSize}); ; {
		agents, next, err := t.Store.Agents(ctx, arena.AgentFilter{League: league}, p)
		if err != nil {
			return nil, fmt.Errorf("read agents: %w", err)
		}
		all = append(all, agents...)
		if p.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// create schedules a match that starts now. An agent whose budget is used since
// the tick began has the match made later.
func (t *tick) create(ctx context.Context, p arena.MatchPlan) error {
	_, err := t.Matches.Schedule(ctx, p)
	if arena.CodeOf(err) == arena.CodeAgentNotReady {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create match %s: %w", p.ID, err)
	}
	return nil
}

// note stores why a league is not pairing and when it looks again; a zero
// time is not known. A league with a schedule looks again at the occurrence
// that it waits for. It writes only what changed.
func (t *tick) note(ctx context.Context, l arena.League, note arena.Note, next time.Time) error {
	if l.Schedule != "" {
		next = t.nextOccurrence(l)
	}
	if l.Note.Equal(note) && l.NextRunAt.Equal(next) {
		return nil
	}
	_, err := t.Store.UpdateLeague(ctx, l.Slug, func(stored *arena.League) error {
		if stored.Status == arena.LeaguePaused { // meanwhile, perhaps with a note that says why
			return nil
		}
		if stored.Note = note; stored.NextRunAt.Equal(l.NextRunAt) { // otherwise it was started by hand meanwhile
			stored.NextRunAt = next
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the next run: %w", err)
	}
	return nil
}

// ladder pairs the idle agents of a ladder. A schedule means nothing to it: it
// is continuous. It is starved only if no agent will become idle soon either:
// agents that play or rest will.
func (t *tick) ladder(ctx context.Context, l arena.League) error {
	if goesOn, err := t.ladderSeason(ctx, l); err != nil || !goesOn {
		return err
	}
	entered, err := t.entered(ctx, l.Slug)
	if err != nil {
		return err
	}
	r, err := t.eligible(ctx, l, entered)
	if err != nil {
		return err
	}
	next := r.nextReady()
	if len(r.idle) < 2 { // most ticks end here: spare the store the queries
		return t.starve(ctx, l, r.note(l.Slug), len(r.busy), next)
	}
	in := format.LadderInput{Now: t.now, Rated: l.Settings.Rated, Filler: l.Settings.PaceInForce().UnratedFiller, Busy: len(r.busy), Patience: t.Patience}
	if in.Meetings, err = t.Store.Meetings(ctx, l.Slug, t.now.Add(-format.MeetingWindow)); err != nil {
		return fmt.Errorf("read meetings: %w", err)
	}
	for _, until := range r.until {
		if !until.IsZero() && until.Sub(t.now) <= t.Patience {
			in.Busy++
		}
	}
	agents := make(map[string]arena.Agent, len(r.idle))
	for _, a := range r.idle {
		if t.taken[a.ID] > 0 && !a.BuiltIn() { // a ladder is in no hurry: one duel after the other
			in.Busy++
			continue
		}
		agents[a.ID] = a
	}
	if in.Idle, err = t.candidates(ctx, l, r.idle, agents, r.last, in.Meetings); err != nil {
		return err
	}
	pairs, starved := format.PairLadder(in)
	if starved.Code != "" {
		return t.starve(ctx, l, starved, in.Busy, next)
	}
	byID := make(map[string]format.Candidate, len(in.Idle))
	for _, c := range in.Idle {
		byID[c.AgentID] = c
	}
	var failed []error
	for _, p := range pairs {
		plan := arena.MatchPlan{
			ID: arena.NewID(arena.MatchPrefix, t.now), League: l.Slug, Settings: l.Settings, Agents: []arena.Agent{agents[p[0]], agents[p[1]]},
		}
		if plan.Settings.Rated {
			plan.UnratedReason = format.UnratedPair(byID[p[0]], byID[p[1]], in.Meetings, t.now)
			plan.Settings.Rated = plan.UnratedReason == ""
		}
		for _, id := range p {
			t.taken[id]++
			t.spend(agents[id], l.Settings)
		}
		failed = append(failed, t.create(ctx, plan))
	}
	return errors.Join(append(failed, t.note(ctx, l, arena.Note{}, time.Time{}))...)
}

// starve records that no agents were paired, unless some will be idle in moments.
func (t *tick) starve(ctx context.Context, l arena.League, starved arena.Note, coming int, next time.Time) error {
	if coming > 0 {
		starved = arena.Note{}
	}
	return t.note(ctx, l, starved, next)
}

// candidates describes those idle agents that are among rested.
func (t *tick) candidates(
	ctx context.Context, l arena.League, idle []arena.Agent, rested map[string]arena.Agent,
	last map[string]time.Time, meetings []arena.Meeting,
) ([]format.Candidate, error) {
	ids := make([]string, 0, len(idle))
	for _, a := range idle {
		if _, ok := rested[a.ID]; ok {
			ids = append(ids, a.ID)
		}
	}
	owners := make([]string, 0, len(ids))
	for _, id := range ids {
		owners = append(owners, rested[id].OwnerID)
	}
	slices.Sort(owners)
	links, err := t.Store.OwnerLinks(ctx, slices.Compact(owners), t.GroupBy)
	if err != nil {
		return nil, fmt.Errorf("read the groups of owners: %w", err)
	}
	groups := arena.NewOwnerGroups(links)
	ratings, err := t.Store.AgentRatings(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read ratings: %w", err)
	}
	opponents := lastOpponents(meetings)
	candidates := make([]format.Candidate, 0, len(ids))
	for _, id := range ids {
		c := format.Candidate{
			AgentID: id, OwnerID: groups.Group(rested[id].OwnerID), Rating: arena.StartRating,
			IdleSince: rested[id].PassedAt, LastOpponent: opponents[id], BuiltIn: rested[id].BuiltIn(),
		}
		if at, ok := last[id]; ok {
			c.IdleSince = at
		}
		for _, r := range ratings[id] {
			if r.League == l.Slug {
				c.Rating = r.MilliElo
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
