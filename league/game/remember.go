package game

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/agora-arena/arena/league/game/rules"
)

// remembering are rules that cache their results for the last state: a turn is
// opened, its moves are checked and then played, and the next turn begins where it
// ended.
type remembering struct {
	rules.Rules

	mu       sync.Mutex
	state    rules.State
	position *rules.Position // nil: not asked yet
	moves    map[said]parsed
}

// said is a text that a player gave as a move.
type said struct {
	player int
	text   string
}

// parsed is what the rules make of a text: a move, or why it is illegal.
type parsed struct {
	move    string
	illegal *rules.IllegalError
}

// Position implements rules.Rules. Callers must not change what it returns.
func (r *remembering) Position(ctx context.Context, st rules.State) (rules.Position, error) {
	r.mu.Lock()
	known := r.at(st).position
	r.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	p, err := r.Rules.Position(ctx, st)
	if err != nil {
		return p, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at(st).position = &p
	return p, nil
}

// Parse implements rules.Rules.
func (r *remembering) Parse(ctx context.Context, st rules.State, player int, text string) (string, error) {
	key := said{player, text}
	r.mu.Lock()
	p, known := r.at(st).moves[key]
	r.mu.Unlock()
	if !known {
		var err error
		p.move, err = r.Rules.Parse(ctx, st, player, text)
		if illegal, is := errors.AsType[*rules.IllegalError](err); is {
			p.illegal = illegal
		} else if err != nil {
			return "", err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.at(st).moves[key] = p
	}
	if p.illegal != nil {
		return "", p.illegal
	}
	return p.move, nil
}

// at forgets everything if the state is another one. The caller holds mu.
func (r *remembering) at(st rules.State) *remembering {
	if r.moves == nil || !bytes.Equal(st, r.state) {
		r.state, r.position, r.moves = bytes.Clone(st), nil, map[said]parsed{}
	}
	return r
}

// lastState caches what the last state of a series says: a turn is opened, its replies
// are checked, and it is closed, on one state.
type lastState struct {
	mu      sync.Mutex
	raw     State
	decoded progress
}

// decode returns what a state says.
func (l *lastState) decode(raw State) (progress, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.raw == nil || !bytes.Equal(raw, l.raw) {
		var s progress
		if err := json.Unmarshal(raw, &s); err != nil {
			return s, fmt.Errorf("decode the state of a series: %w", err)
		}
		l.raw, l.decoded = bytes.Clone(raw), s
	}
	return l.decoded.copy(), nil
}
