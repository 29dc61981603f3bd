package league

import (
	"context"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// Quota is how often each caller may do one thing.
type Quota interface {
	Take(ctx context.Context, caller string) error
}

// Entries decides which agents may enter a league.
type Entries struct {
	store     *store.Store
	passwords Quota
	now       func() time.Time
}

// NewEntries makes Entries. passwords counts the passwords that an owner tries.
func NewEntries(store *store.Store, passwords Quota, now func() time.Time) *Entries {
	return &Entries{store: store, passwords: passwords, now: now}
}

// MayEnter returns an error if a league's state or entry rules keep the agent
// out.
func (e *Entries) MayEnter(ctx context.Context, slug string, g arena.Agent, password string) error {
	l, err := e.store.Leagues.League(ctx, slug)
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
	entered, _, err := e.store.Agents.Agents(ctx, arena.AgentFilter{OwnerID: g.OwnerID, League: slug}, arena.Page{Limit: most})
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
	if r := l.Entry; r.MinRating == 0 && r.MaxRating == 0 && r.MinMatches == 0 {
		return nil
	}
	ratings, err := e.store.Ratings.AgentRatings(ctx, []string{agentID})
	if err != nil {
		return err
	}
	return ratingsAdmit(l, ratings[agentID])
}

// ratingsAdmit compares ratings in all leagues with the entry rules of one.
func ratingsAdmit(l arena.League, ratings []arena.Rating) error {
	r, rating, matches := l.Entry, arena.StartRating, 0
	for _, in := range ratings {
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
