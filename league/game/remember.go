package game

import (
	"bytes"
	"context"
	"sync"

	"github.com/agora-arena/arena/league/game/rules"
)

// remembering are rules that keep the last position they returned: a turn is
// opened, closed and followed by the next one with the same few states.
type remembering struct {
	rules.Rules

	mu    sync.Mutex
	state rules.State
	last  rules.Position
}

// Position implements rules.Rules. Callers must not change what it returns.
func (r *remembering) Position(ctx context.Context, st rules.State) (rules.Position, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != nil && bytes.Equal(st, r.state) {
		return r.last, nil
	}
	at, err := r.Rules.Position(ctx, st)
	if err != nil {
		return at, err
	}
	r.state, r.last = bytes.Clone(st), at
	return at, nil
}
