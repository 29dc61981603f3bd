package league

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// EntryStore is what Entries reads.
type EntryStore interface {
	League(ctx context.Context, slug string) (arena.League, error)
	Agents(ctx context.Context, f arena.AgentFilter, p arena.Page) ([]arena.Agent, string, error)
	AgentRatings(ctx context.Context, ids []string) (map[string][]arena.Rating, error)
}

// Quota is how often each caller may do one thing.
type Quota interface {
	Take(ctx context.Context, caller string) error
}

// Entries decides which agents may enter a league.
type Entries struct {
	store     EntryStore
	passwords Quota
	now       func() time.Time
}

// NewEntries makes Entries. passwords counts the passwords that an owner tries.
func NewEntries(store EntryStore, passwords Quota, now func() time.Time) (*Entries, error) {
	if store == nil || passwords == nil || now == nil {
		return nil, errors.New("league entries: the store, the quota of passwords and the clock are needed")
	}
	return &Entries{store: store, passwords: passwords, now: now}, nil
}

// MayEnter returns an error if a league's state or entry rules keep the agent
// out.
func (e *Entries) MayEnter(ctx context.Context, slug string, g arena.Agent, password string) error {
	l, err := e.store.League(ctx, slug)
	if err != nil {
		return err
	}
	if err := l.TakesEntries(e.now()); err != nil {
		return err
	}
	if why := l.Settings.Refuses(g.Protocol); why != "" {
		return arena.Errorf(arena.CodeForbidden, "league %s does not take agents of the protocol %s: %s", slug, g.Protocol, why)
	}
	if len(l.Entry.Allow) > 0 && !slices.Contains(l.Entry.Allow, g.ID) {
		return arena.Errorf(arena.CodeForbidden, "league %s takes only the agents on its list", slug)
	}
	if password != "" && l.Entry.PasswordHash != "" {
		// Right ones count too: else the last guess would still be answered.
		if err := e.passwords.Take(ctx, g.OwnerID); err != nil {
			return err
		}
	}
	if !l.Entry.Admits(password) {
		return arena.Errorf(arena.CodeForbidden, "league %s asks for a password, and this is not it", slug)
	}
	if err := e.checkRatings(ctx, l, g.ID); err != nil {
		return err
	}
	most := l.Entry.AgentsPerOwner
	if most == 0 {
		return nil
	}
	entered, _, err := e.store.Agents(ctx, arena.AgentFilter{OwnerID: g.OwnerID, League: slug}, arena.Page{Limit: most})
	if err != nil {
		return err
	}
	if len(entered) >= most {
		return arena.Errorf(arena.CodeConflict, "league %s takes %d agents of one owner", slug, most)
	}
	return nil
}

// checkRatings compares an agent's ratings with a league's entry rules.
func (e *Entries) checkRatings(ctx context.Context, l arena.League, agentID string) error {
	r := l.Entry
	if r.MinRating == 0 && r.MaxRating == 0 && r.MinMatches == 0 {
		return nil
	}
	ratings, err := e.store.AgentRatings(ctx, []string{agentID})
	if err != nil {
		return err
	}
	rating, matches := arena.StartRating, 0
	for _, in := range ratings[agentID] {
		matches += in.Matches
		if in.League == l.Slug {
			rating = in.MilliElo
		}
	}
	switch {
	case rating < r.MinRating:
		return arena.Errorf(arena.CodeForbidden, "league %s takes agents from %d Elo on, this one has %d", l.Slug, r.MinRating/1000, rating/1000)
	case r.MaxRating > 0 && rating > r.MaxRating:
		return arena.Errorf(arena.CodeForbidden, "league %s takes agents up to %d Elo, this one has %d", l.Slug, r.MaxRating/1000, rating/1000)
	case matches < r.MinMatches:
		return arena.Errorf(arena.CodeForbidden, "league %s takes agents with %d rated matches, this one has %d", l.Slug, r.MinMatches, matches)
	}
	return nil
}
