package match

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// Engine stores a new match with the first event of its log and the audit
// entries about it, publishes the event, and plays the match on this node if it
// can start at once. agent_not_ready: the budget of an agent does not allow the
// match.
type Engine interface {
	Create(ctx context.Context, m arena.Match, e arena.Event, audit ...arena.AuditEntry) (arena.Event, error)
}

// Publisher sends committed events of a match to its spectators, to those of
// its league and to the lobby.
type Publisher interface {
	Publish(league string, events ...arena.Event)
}

// Quota is how often each caller may do one thing.
type Quota interface {
	Take(ctx context.Context, caller string) error
}

// Options are the parts of a Service. All are needed.
type Options struct {
	Store      *store.Store
	Engine     Engine
	Rescorer   Rescorer
	Publisher  Publisher
	HasModel   bool                  // the arena has a language model that judges
	GroupBy    []arena.UnratedReason // links that make owners one group for rated play
	Challenges Quota                 // by owner
	Challenged Quota                 // by opponent
	Judging    Quota                 // of processor time to judge answers, by owner
	Now        func() time.Time
	// Rand makes the seeds and salts of matches. Agents must not be able to predict
	// it, and it must be safe for concurrent use.
	Rand   rand.Source
	Logger *slog.Logger
}

// Service is the service for matches.
type Service struct{ o Options }

// New makes a Service.
func New(o Options) *Service {
	return &Service{o: o}
}

// now returns the current time in UTC, truncated to milliseconds.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

// Schedule creates a match. The caller has checked that the agents may play it. If
// another node was quicker to create a match with the ID of the plan, that one is
// returned. agent_not_ready: the budget of one of them does not allow it.
func (s *Service) Schedule(ctx context.Context, p arena.MatchPlan) (arena.Match, error) {
	m, err := s.newMatch(ctx, p)
	if err != nil {
		return arena.Match{}, err
	}
	made, err := s.schedule(ctx, m)
	if p.ID != "" && arena.CodeOf(err) == arena.CodeConflict {
		if other, readErr := s.o.Store.Matches.Match(ctx, p.ID); readErr == nil {
			return other, nil
		}
	}
	return made, err
}

// newMatch returns a match as it is created now.
func (s *Service) newMatch(ctx context.Context, p arena.MatchPlan) (arena.Match, error) {
	now := s.now()
	m := arena.Match{
		ID: cmp.Or(p.ID, arena.NewID(arena.MatchPrefix, now)), League: p.League, Status: arena.MatchScheduled, Settings: p.Settings, UnratedReason: p.UnratedReason,
		Seed: s.o.Rand.Uint64(), SeedSalt: s.salt(), CreatedAt: now, StartsAt: p.StartsAt,
	}
	m.Settings.RulesVersion, m.Settings.Pace, m.Settings.BuiltIn = arena.RulesVersion, nil, nil
	if m.StartsAt.Before(now) {
		m.StartsAt = now
	}
	for i, g := range p.Agents {
		m.Seats = append(m.Seats, arena.Seat{
			No: i, AgentID: g.ID, Name: g.Name, OwnerID: g.OwnerID, Protocol: g.Protocol, Version: g.Version, State: arena.SeatActive,
			Salt: s.salt(),
		})
	}
	if err := s.groupOwners(ctx, &m); err != nil {
		return arena.Match{}, err
	}
	return m, nil
}

// groupOwners stores with each seat of a rated match the group of its owner. A
// match of one group is not rated (threat G1).
func (s *Service) groupOwners(ctx context.Context, m *arena.Match) error {
	if !m.Settings.Rated && m.UnratedReason != arena.UnratedSameOwner {
		return nil
	}
	owners := make([]string, 0, len(m.Seats))
	for _, seat := range m.Seats {
		owners = append(owners, seat.OwnerID)
	}
	links, err := s.o.Store.Agents.OwnerLinks(ctx, owners, s.o.GroupBy)
	if err != nil {
		return err
	}
	groups := arena.NewOwnerGroups(links)
	for i := range m.Seats {
		if s := &m.Seats[i]; groups.Group(s.OwnerID) != s.OwnerID {
			s.OwnerGroup = groups.Group(s.OwnerID)
		}
	}
	if len(m.Seats) == 2 {
		m.UnratedReason = groups.Unrated(owners[0], owners[1])
		m.Settings.Rated = m.UnratedReason == ""
		return nil // the caller knows less of their owners
	}
	for i := range m.Seats { // owners of two groups may still share something
		for j := range i {
			if groups.Unrated(owners[i], owners[j]) != "" {
				joinGroups(m.Seats, m.Seats[i].Group(), m.Seats[j].Group())
			}
		}
	}
	return nil
}

// joinGroups makes one group of two.
func joinGroups(seats []arena.Seat, from, to string) {
	for i := range seats {
		if from != to && seats[i].Group() == from {
			seats[i].OwnerGroup = to
		}
	}
}

// salt returns 16 random bytes in base64url.
func (s *Service) salt() string {
	b := binary.BigEndian.AppendUint64(nil, s.o.Rand.Uint64())
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, s.o.Rand.Uint64()))
}

// schedule has the engine create a match. The result is the match at its creation,
// though it may have started since.
func (s *Service) schedule(ctx context.Context, m arena.Match, audit ...arena.AuditEntry) (arena.Match, error) {
	e, err := arena.NewEvent(arena.Event{MatchID: m.ID, At: m.CreatedAt, Type: arena.EventMatchScheduled}, arena.MatchScheduledBody{
		League: m.League, StartsAt: m.StartsAt.Format(arena.TimeFormat), Rated: m.Settings.Rated, Unrated: m.UnratedReason, Seats: m.Briefs(),
	})
	if err != nil {
		return arena.Match{}, err
	}
	if e, err = s.o.Engine.Create(ctx, m, e, audit...); err != nil {
		return arena.Match{}, err
	}
	m.Seq = e.Seq
	s.o.Logger.InfoContext(ctx, "match scheduled", "match_id", m.ID, "league", m.League, "seats", len(m.Seats), "rated", m.Settings.Rated)
	return m, nil
}
