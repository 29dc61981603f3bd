package league

import (
	"context"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// unsuspended leaves out the agents that their no-show records suspend in this
// league (threat F5). Matches that an admin creates ignore the records.
func (t *tick) unsuspended(ctx context.Context, league string, idle, busy []arena.Agent) (_, _ []arena.Agent, err error) {
	ids := make([]string, 0, len(idle)+len(busy))
	for _, a := range slices.Concat(idle, busy) {
		ids = append(ids, a.ID)
	}
	noShows, err := t.Store.NoShows(ctx, league, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("read the no-show record: %w", err)
	}
	byAgent := map[string][]arena.NoShow{}
	for _, d := range noShows {
		if !arena.Ahead(d.At, t.now) {
			byAgent[d.AgentID] = append(byAgent[d.AgentID], d)
		}
	}
	suspended := func(a arena.Agent) bool {
		return slices.ContainsFunc(arena.NoShowRecords(byAgent[a.ID]), func(r arena.NoShowRecord) bool {
			return r.SuspendedUntil.After(t.now)
		})
	}
	return slices.DeleteFunc(idle, suspended), slices.DeleteFunc(busy, suspended), nil
}
