package league_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
	"github.com/agora-arena/arena/league/settings"
	"github.com/agora-arena/arena/match"
	"github.com/agora-arena/arena/store"
)

// world is the other side of a Scheduler: a store in memory, spectators, the
// runner's notifier, and a clock that the test moves.
type world struct {
	now       time.Time
	leagues   []arena.League
	agents    []arena.Agent
	matches   []arena.Match  // oldest first
	read      []arena.League // as a node has read the leagues; nil: as they are
	updates   int            // of leagues
	published []arena.Event
	broken    string // slug of a league whose agents cannot be read
	noShows   []arena.NoShow
	links     []arena.OwnerLink
	seasons   map[string]*arena.Season
	pairings  map[string][]arena.Pairing

	useQueries int // DayUses
	pageSize   int // of agents
}

// noon is when every test begins.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func (w *world) Season(_ context.Context, slug string, _ int) (arena.Season, []arena.Pairing, error) {
	s := w.seasons[slug]
	if s == nil {
		return arena.Season{}, nil, arena.Errorf(arena.CodeNotFound, "no season")
	}
	return *s, slices.Clone(w.pairings[slug]), nil
}

func (w *world) StartSeason(_ context.Context, s arena.Season) (arena.Season, error) {
	s.Status, s.No = arena.SeasonRunning, 1
	w.seasons[s.League] = &s
	return s, nil
}

func (w *world) ChangeSeason(_ context.Context, s arena.Season, c arena.SeasonChange) error {
	for _, p := range c.Pairings {
		at := slices.IndexFunc(w.pairings[s.League], func(q arena.Pairing) bool {
			return q.Round == p.Round && q.Slot == p.Slot && q.Game == p.Game
		})
		if at < 0 {
			w.pairings[s.League] = append(w.pairings[s.League], p)
		} else {
			w.pairings[s.League][at] = p
		}
	}
	w.seasons[s.League].Entrants = append(w.seasons[s.League].Entrants, c.Join...)
	return nil
}

func (w *world) PairingMatches(context.Context, string) (map[string]arena.Match, error) {
	found := map[string]arena.Match{}
	for _, m := range w.matches {
		found[m.ID] = m
	}
	return found, nil
}

func (w *world) RunningSeasons(context.Context) ([]string, error) { return nil, nil }

func (w *world) Standings(context.Context, string, time.Time) ([]arena.Standing, error) {
	return nil, errors.New("not asked for here")
}

func (w *world) Leagues(context.Context) ([]arena.League, error) {
	if w.read != nil {
		return w.read, nil
	}
	return slices.Clone(w.leagues), nil
}

func (w *world) UpdateLeague(_ context.Context, slug string, apply func(*arena.League) error, _ ...arena.LeagueAudit) (arena.League, error) {
	l := w.league(slug)
	w.updates++
	return *l, apply(l)
}

func (w *world) Agents(_ context.Context, f arena.AgentFilter, p arena.Page) ([]arena.Agent, string, error) {
	if f.League == w.broken {
		return nil, "", errors.New("disk on fire")
	}
	var entered []arena.Agent
	for _, a := range w.agents {
		if slices.Contains(a.Leagues, f.League) {
			entered = append(entered, a)
		}
	}
	items, next := page(entered, p, w.pageSize)
	return items, next, nil
}

func (w *world) AgentRatings(_ context.Context, ids []string) (map[string][]arena.Rating, error) {
	ratings := map[string][]arena.Rating{}
	for _, id := range ids {
		// "elo1600" is rated 1600 in the ladder, and something else elsewhere.
		if elo, err := strconv.Atoi(strings.TrimPrefix(id, "elo")); err == nil {
			ratings[id] = []arena.Rating{{League: "ladder", MilliElo: arena.MilliElo(elo) * 1000}, {League: "other", MilliElo: 1}}
		}
	}
	return ratings, nil
}

func (w *world) Matches(_ context.Context, f arena.MatchFilter, p arena.Page) ([]arena.Match, string, error) {
	var found []arena.Match
	for _, m := range slices.Backward(w.matches) {
		if (f.League == "" || f.League == m.League) && (f.Statuses == nil || slices.Contains(f.Statuses, m.Status)) && (f.To.IsZero() || m.StartsAt.Before(f.To)) {
			found = append(found, m)
		}
	}
	items, next := page(found, p, 2)
	return items, next, nil
}

func (w *world) LiveMatches(ctx context.Context, slug string) ([]arena.Match, error) {
	all, _, err := w.Matches(ctx, arena.MatchFilter{League: slug}, arena.Page{Limit: 0})
	return slices.DeleteFunc(all, func(m arena.Match) bool { return m.Status.Over() }), err
}

func (w *world) RunningMatches(_ context.Context, ids []string) (running []arena.Match, err error) {
	for _, m := range w.matches {
		if m.Status == arena.MatchRunning && slices.ContainsFunc(m.Seats, func(s arena.Seat) bool { return slices.Contains(ids, s.AgentID) }) {
			running = append(running, m)
		}
	}
	return running, nil
}

func (w *world) Meetings(_ context.Context, slug string, since time.Time) (met []arena.Meeting, err error) {
	for _, m := range w.matches {
		if m.League == slug && len(m.Seats) == 2 && !m.CreatedAt.Before(since) {
			met = append(met, arena.Meeting{A: m.Seats[0].AgentID, B: m.Seats[1].AgentID, At: m.CreatedAt})
		}
	}
	return met, nil
}

func (w *world) NoShows(_ context.Context, slug string, ids []string) (found []arena.NoShow, err error) {
	for _, d := range w.noShows {
		if d.League == slug && slices.Contains(ids, d.AgentID) {
			found = append(found, d)
		}
	}
	return found, nil
}

// DayUses counts as the store does.
func (w *world) DayUses(_ context.Context, days []arena.AgentDay) (map[string]arena.DayUse, error) {
	w.useQueries++
	byAgent := map[string]arena.AgentDay{}
	for _, d := range days {
		byAgent[d.AgentID] = d
	}
	uses := map[string]arena.DayUse{}
	for _, m := range w.matches {
		for _, s := range m.Seats {
			d, asked := byAgent[s.AgentID]
			use := uses[s.AgentID]
			switch {
			case !asked:
				continue
			case !m.Status.Over():
				if m.StartsAt.Before(d.To) {
					use = use.Add(0)
				}
			default:
				if m.FinishedAt.Before(w.now.Add(-arena.UseWindow)) {
					continue
				}
				use.Largest = max(use.Largest, s.Tokens)
				use.WindowMatches++
				if !m.FinishedAt.Before(d.From) {
					use.Matches++
					use.Tokens += s.Tokens
				}
			}
			uses[s.AgentID] = use
		}
	}
	return uses, nil
}

func (w *world) Played(_ context.Context, slug string, day, since time.Time) (map[string]arena.Played, error) {
	played := map[string]arena.Played{}
	for _, m := range slices.Backward(w.matches) {
		if m.League != slug || m.StartsAt.Before(since) && m.Status.Over() || arena.Ahead(m.StartsAt, w.now) {
			continue
		}
		last := m.StartedAt
		if m.Status.Over() {
			last = m.FinishedAt
		}
		for _, s := range m.Seats {
			p := played[s.AgentID]
			if !m.StartsAt.Before(day) {
				p.Matches++
				p.First = m.StartsAt
			}
			if last.After(p.Last) && !arena.Ahead(last, w.now) {
				p.Last = last
			}
			played[s.AgentID] = p
		}
	}
	return played, nil
}

func (w *world) Create(_ context.Context, m arena.Match, e arena.Event, _ ...arena.AuditEntry) (arena.Event, error) {
	w.matches = append(w.matches, m)
	e.Seq = 1
	w.Publish(m.League, e)
	return e, nil
}

func (w *world) Publish(slug string, events ...arena.Event) {
	for _, e := range events {
		if !strings.Contains(string(e.Body), slug) {
			panic("published to another league")
		}
	}
	w.published = append(w.published, events...)
}

// page cuts a list as a store does, but shorter than it was asked to.
func page[T any](items []T, p arena.Page, size int) ([]T, string) {
	if p.Limit == 0 {
		return items, ""
	}
	from, _ := strconv.Atoi(cmp.Or(p.Cursor, "0"))
	to := min(from+size, len(items))
	if to == len(items) {
		return items[from:to], ""
	}
	return items[from:to], strconv.Itoa(to)
}

func (w *world) league(slug string) *arena.League {
	i := slices.IndexFunc(w.leagues, func(l arena.League) bool { return l.Slug == slug })
	return &w.leagues[i]
}

// newWorld has the given agents in every league; change comes last.
func newWorld(leagues []arena.League, agents ...string) *world {
	w := &world{pageSize: 3, now: noon, leagues: leagues, seasons: map[string]*arena.Season{}, pairings: map[string][]arena.Pairing{}}
	var slugs []string
	for _, l := range leagues {
		slugs = append(slugs, l.Slug)
	}
	for _, id := range agents {
		w.agents = append(w.agents, arena.Agent{
			ID: id, Name: "Agent " + id, OwnerID: "owner of " + id, Protocol: "aap", Version: "1.2", Leagues: slugs,
			PassedAt: noon.Add(-time.Hour), Health: arena.Health{OK: true, Capabilities: slugs, MaxConcurrent: 1},
		})
	}
	return w
}

func (w *world) agent(id string) *arena.Agent {
	i := slices.IndexFunc(w.agents, func(a arena.Agent) bool { return a.ID == id })
	return &w.agents[i]
}

// start lets the runner claim what waits, end lets it finish what runs.
func (w *world) start() { w.move(arena.MatchScheduled, arena.MatchRunning, +1) }
func (w *world) end()   { w.move(arena.MatchRunning, arena.MatchFinished, -1) }

func (w *world) move(from, to arena.MatchStatus, running int) {
	for i := range w.matches {
		m := &w.matches[i]
		if m.Status != from {
			continue
		}
		m.Status = to
		if to == arena.MatchRunning {
			m.StartedAt = w.now
		} else {
			m.FinishedAt = w.now
		}
		for _, s := range m.Seats {
			w.agent(s.AgentID).Running += running
		}
	}
}

// tick runs once and returns the matches that were made, as "league: a b".
func (w *world) tick(t *testing.T, s *league.Scheduler) []string {
	t.Helper()
	before := len(w.matches)
	if err := s.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, m := range w.matches[before:] {
		var ids []string
		for _, seat := range m.Seats {
			ids = append(ids, seat.AgentID)
		}
		slices.Sort(ids)
		made = append(made, m.League+": "+strings.Join(ids, " "))
	}
	slices.Sort(made)
	return made
}

// matches is the service for matches over an engine and a publisher of a test.
func matches(t *testing.T, s *store.Store, e match.Engine, p match.Publisher, now func() time.Time) *match.Service {
	t.Helper()
	always, _ := arena.OwnerLinkKinds()
	m := match.New(match.Options{
		GroupBy: always,
		Store:   s, Engine: e, Rescorer: struct{ match.Rescorer }{}, Publisher: p,
		Challenges: &tries{}, Challenged: &tries{}, Judging: &tries{}, Now: now, Rand: rand.NewPCG(3, 4), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	return m
}

func (w *world) OwnerLinks(_ context.Context, ownerIDs []string, _ []arena.UnratedReason) ([]arena.OwnerLink, error) {
	return slices.DeleteFunc(slices.Clone(w.links), func(l arena.OwnerLink) bool { return !slices.Contains(ownerIDs, l.OwnerID) }), nil
}

// db is a database without matches. Its only agents are those whose owners share
// an endpoint.
func (w *world) db(t *testing.T) *store.Store {
	t.Helper()
	o := newOffice(t)
	for i, l := range w.links {
		owner := arena.Owner{ID: l.OwnerID, Name: l.OwnerID, CreatedAt: noon}
		o.ok(o.store.Accounts.CreateOwner(t.Context(), owner, arena.Token{
			ID: "to_" + l.OwnerID, OwnerID: l.OwnerID, Scope: arena.ScopeOwner, Hash: [32]byte{2, byte(i)}, CreatedAt: noon,
		}))
		o.ok(o.store.Agents.CreateAgent(t.Context(), arena.Agent{
			ID: l.OwnerID + "'s", OwnerID: l.OwnerID, Name: l.OwnerID, Protocol: arena.ProtocolAAP, Endpoint: "https://" + l.Value, EndpointKey: l.Value, CreatedAt: noon,
		}))
	}
	return o.store
}

func (w *world) options(t *testing.T) league.Options {
	t.Helper()
	return league.Options{
		Store: w, Matches: matches(t, w.db(t), w, w, func() time.Time { return w.now }), Now: func() time.Time { return w.now },
		Rand: rand.NewPCG(1, 2), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func (w *world) scheduler(t *testing.T) *league.Scheduler {
	t.Helper()
	return league.NewScheduler(w.options(t))
}

// ladderLeague pairs whoever is free.
func ladderLeague(change ...func(*arena.League)) arena.League {
	fast := func(l *arena.League) { l.Settings.Pace = &arena.Pace{UnratedFiller: true} }
	return pacedLeague(append([]func(*arena.League){fast}, change...)...)
}

// pacedLeague has the default pace.
func pacedLeague(change ...func(*arena.League)) arena.League {
	l := arena.League{
		Slug: "ladder", Status: arena.LeagueRunning,
		Settings: settings.Defaults(arena.Settings{PackID: "pk_1", Rounds: 5, Rated: true, TimeLimit: time.Second}),
	}
	for _, f := range change {
		f(&l)
	}
	return l
}

func royale(change ...func(*arena.League)) arena.League {
	l := arena.League{
		Slug: "royale", Status: arena.LeagueRunning,
		Settings: settings.Defaults(arena.Settings{Format: arena.FormatElimination, PackID: "pk_1", TimeLimit: time.Second}),
	}
	for _, f := range change {
		f(&l)
	}
	return l
}
