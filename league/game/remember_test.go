package game

import (
	"context"
	"errors"
	"testing"

	"github.com/agora-arena/arena/league/game/rules"
)

// counted are rules whose positions are counted. The state "broken" has none.
type counted struct {
	rules.Rules

	asked int
}

func (c *counted) Position(_ context.Context, st rules.State) (rules.Position, error) {
	c.asked++
	if string(st) == "broken" {
		return rules.Position{}, errors.New("broken")
	}
	return rules.Position{Public: append(rules.State("of "), st...)}, nil
}

func TestRemembering(t *testing.T) {
	t.Parallel()
	inner := &counted{}
	r := &remembering{Rules: inner}
	for i, step := range []struct {
		state string
		asked int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 3}, {"a", 3}} {
		at, err := r.Position(t.Context(), rules.State(step.state))
		if err != nil || string(at.Public) != "of "+step.state || inner.asked != step.asked {
			t.Errorf("step %d: %q after %d calls, want %d: %v", i, at.Public, inner.asked, step.asked, err)
		}
	}
	for range 2 { // an error is not kept
		if _, err := r.Position(t.Context(), rules.State("broken")); err == nil {
			t.Error("no error")
		}
	}
	if inner.asked != 5 {
		t.Errorf("%d calls, want 5", inner.asked)
	}
}
