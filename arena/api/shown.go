package api

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
)

// What everyone may read of a match that is delayed and runs lags behind what
// is stored (rulebook, section 5). It is the same for all, admins too.

// shownMatch gives a match as spectators see it.
func (a *API) shownMatch(ctx context.Context, id string) (arena.Match, error) {
	m, err := a.Store.Match(ctx, id)
	if err != nil {
		return m, err
	}
	return a.Store.Shown(ctx, m)
}

// viewMatches gives a page of matches as spectators see them.
func (a *API) viewMatches(ctx context.Context, f arena.MatchFilter, p arena.Page) (items []matchView, next string, err error) {
	matches, next, err := a.Store.Matches(ctx, f, p)
	if err != nil {
		return nil, "", err
	}
	for _, m := range matches {
		if m, err = a.Store.Shown(ctx, m); err != nil {
			return nil, "", err
		}
		items = append(items, a.viewMatch(m))
	}
	return items, next, nil
}

// shownRounds gives the rounds of a match that shownMatch gave.
func (a *API) shownRounds(ctx context.Context, m arena.Match) ([]arena.Round, error) {
	rounds, err := a.Store.Rounds(ctx, m.ID)
	if err != nil || m.Delay() == 0 {
		return rounds, err
	}
	rounds = rounds[:min(len(rounds), m.Round)]
	for i := range rounds {
		if !closed(m, rounds[i].No) {
			rounds[i].ClosedAt = time.Time{}
		}
	}
	return rounds, nil
}

// closed says whether a round of a match that is not over has closed.
func closed(m arena.Match, round int) bool {
	return round < m.Round || round == m.Round && !m.RoundOpen
}
