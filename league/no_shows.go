package league

import (
	"context"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// unsuspended leaves out the agents that the dodge ledger keeps from this
// league for now (threat F5). To matches that an admin makes it means nothing.
func (t *tick) unsuspended(ctx context.Context, league string, idle, busy []arena.Agent) (_, _ []arena.Agent, err error) {
	ids := make([]string, 0, len(idle)+len(busy))
	for _, a := range slices.Concat(idle, busy) {
		ids = append(ids, a.ID)
	}
	dodges, err := t.Store.Dodges(ctx, league, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("read the dodge ledger: %w", err)
	}
	byAgent := map[string][]arena.Dodge{}
	for _, d := range dodges {
		byAgent[d.AgentID] = append(byAgent[d.AgentID], d)
	}
	suspended := func(a arena.Agent) bool {
		return slices.ContainsFunc(arena.DodgeLedger(byAgent[a.ID]), func(r arena.DodgeRecord) bool {
			return r.SuspendedUntil.After(t.now)
		})
	}
	return slices.DeleteFunc(idle, suspended), slices.DeleteFunc(busy, suspended), nil
}
