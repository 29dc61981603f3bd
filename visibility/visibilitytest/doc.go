// Package visibilitytest makes visible matches for the tests of packages that
// take them.
package visibilitytest

import (
	"context"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// Match returns m as spectators see it. m must not be delayed.
func Match(m arena.Match) visibility.Match {
	r := visibility.NewReader(oneMatch{m: m}, func() time.Time { return m.StartsAt })
	v, err := r.Match(context.Background(), m.ID)
	if err != nil {
		panic(err)
	}
	return v
}

// oneMatch holds one match without rounds and events.
type oneMatch struct {
	visibility.Store
	m arena.Match
}

func (s oneMatch) Match(context.Context, string) (arena.Match, error) { return s.m, nil }
