package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// facts is the content of the database at the end.
type facts struct {
	matches     map[string]*matchFacts
	settlements []arena.Settlement
	ratings     map[ratingKey]arena.Rating
	leagues     []arena.League
	deliveries  []arena.Delivery
}

// matchFacts is one match with all that belongs to it.
type matchFacts struct {
	arena.Match
	rounds  []arena.Round
	answers []arena.Answer
	log     []arena.Event
}

type ratingKey struct{ league, agent string }

// journals are the records of agents, judges and spectators.
type journals struct {
	acked, voided []string // by the API
	posts         []post
	watched       []*watched
	sightings     map[place]time.Time
	tenures       []tenure
	frozen        []span // when some process was
	starved       []span // when some process was ready and the machine did not run it
	faults        []done
	nodes         int
	busless       bool // several nodes without Redis: what another node plays comes from the log, on the next connection
}

const page = 100

// readFacts reads the whole database.
func readFacts(ctx context.Context, url string) (*facts, error) {
	s, err := store.Open(ctx, url, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("read the facts: %w", err)
	}
	defer func() { _ = s.Close() }() // it was only read
	if err := s.CheckIntegrity(ctx); err != nil {
		return nil, fmt.Errorf("read the facts: %w", err)
	}
	f := &facts{matches: map[string]*matchFacts{}, ratings: map[ratingKey]arena.Rating{}}
	for _, read := range []func(context.Context, *store.Store) error{f.readMatches, f.readSettlements, f.readAgents} {
		if err := read(ctx, s); err != nil {
			return nil, fmt.Errorf("read the facts: %w", err)
		}
	}
	return f, nil
}

func (f *facts) readMatches(ctx context.Context, s *store.Store) error {
	for p := (arena.Page{Limit: page}); ; {
		matches, next, err := s.Matches.Matches(ctx, arena.MatchFilter{}, p)
		if err != nil {
			return err
		}
		for _, m := range matches {
			one := &matchFacts{Match: m}
			f.matches[m.ID] = one
			if one.rounds, err = s.Matches.Rounds(ctx, m.ID); err != nil {
				return err
			}
			if one.answers, err = s.Matches.Answers(ctx, m.ID); err != nil {
				return err
			}
			for since := int64(0); ; {
				events, err := s.Matches.EventsAfter(ctx, m.ID, since, page)
				if err != nil {
					return err
				}
				one.log = append(one.log, events...)
				if len(events) == 0 || events[len(events)-1].Seq <= since {
					break
				}
				since = events[len(events)-1].Seq
			}
		}
		if next == "" {
			return nil
		}
		p.Cursor = next
	}
}

func (f *facts) readSettlements(ctx context.Context, s *store.Store) error {
	for after := int64(0); ; {
		some, err := s.Ratings.Settlements(ctx, "", after, page)
		if err != nil {
			return err
		}
		if len(some) == 0 {
			break
		}
		f.settlements = append(f.settlements, some...)
		after = some[len(some)-1].Seq
	}
	var err error
	f.leagues, err = s.Leagues.Leagues(ctx)
	return err
}

func (f *facts) readAgents(ctx context.Context, s *store.Store) error {
	for p := (arena.Page{Limit: page}); ; {
		agents, next, err := s.Agents.Agents(ctx, arena.AgentFilter{Retired: true}, p)
		if err != nil {
			return err
		}
		ids := make([]string, len(agents))
		for i, a := range agents {
			ids[i] = a.ID
		}
		ratings, err := s.Ratings.AgentRatings(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			for _, r := range ratings[id] {
				f.ratings[ratingKey{r.League, id}] = r
			}
			if err := f.readDeliveries(ctx, s, id); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		p.Cursor = next
	}
}

func (f *facts) readDeliveries(ctx context.Context, s *store.Store, agentID string) error {
	for p := (arena.Page{Limit: page}); ; {
		some, next, err := s.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: agentID}, p)
		if err != nil {
			return err
		}
		f.deliveries = append(f.deliveries, some...)
		if next == "" {
			return nil
		}
		p.Cursor = next
	}
}
