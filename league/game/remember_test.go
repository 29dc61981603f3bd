package game

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/agora-arena/arena/league/game/rules"
)

// counted are rules that count what they are asked. The state "broken" breaks
// them, and the move "illegal" is illegal.
type counted struct {
	rules.Rules

	positions, parses int
}

func (c *counted) Position(_ context.Context, st rules.State) (rules.Position, error) {
	c.positions++
	if string(st) == "broken" {
		return rules.Position{}, errors.New("broken")
	}
	return rules.Position{Public: append(rules.State("of "), st...)}, nil
}

func (c *counted) Parse(_ context.Context, st rules.State, player int, text string) (string, error) {
	c.parses++
	switch {
	case string(st) == "broken":
		return "", errors.New("broken")
	case text == "illegal":
		return "", rules.Illegalf("no")
	}
	return fmt.Sprintf("%s %d %s", st, player, text), nil
}

func TestRemembering_Position(t *testing.T) {
	t.Parallel()
	inner := &counted{}
	r := &remembering{Rules: inner}
	for i, step := range []struct {
		state string
		asked int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 3}, {"a", 3}} {
		at, err := r.Position(t.Context(), rules.State(step.state))
		if err != nil || string(at.Public) != "of "+step.state || inner.positions != step.asked {
			t.Errorf("step %d: %q after %d calls, want %d: %v", i, at.Public, inner.positions, step.asked, err)
		}
	}
	for range 2 { // a fault is not remembered
		if _, err := r.Position(t.Context(), rules.State("broken")); err == nil {
			t.Error("no error")
		}
	}
	if inner.positions != 5 {
		t.Errorf("%d calls, want 5", inner.positions)
	}
}

func TestRemembering_Parse(t *testing.T) {
	t.Parallel()
	inner := &counted{}
	r := &remembering{Rules: inner}
	for i, step := range []struct {
		state  string
		player int
		text   string
		asked  int
	}{
		{"a", 0, "x", 1},
		{"a", 1, "x", 2},
		{"a", 0, "x", 2},
		{"a", 0, "y", 3},
		{"a", 1, "x", 3},
		{"b", 1, "x", 4},
		{"a", 1, "x", 5},
		{"a", 0, "illegal", 6},
		{"a", 0, "illegal", 6},
	} {
		move, err := r.Parse(t.Context(), rules.State(step.state), step.player, step.text)
		want := fmt.Sprintf("%s %d %s", step.state, step.player, step.text)
		if step.text == "illegal" {
			want = ""
			if _, illegal := errors.AsType[*rules.IllegalError](err); !illegal {
				t.Errorf("step %d: %v, want an illegal move", i, err)
			}
		} else if err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		if move != want || inner.parses != step.asked {
			t.Errorf("step %d: %q after %d calls, want %q after %d", i, move, inner.parses, want, step.asked)
		}
	}
	for range 2 { // a fault is not remembered
		if _, err := r.Parse(t.Context(), rules.State("broken"), 0, "x"); err == nil {
			t.Error("no error")
		}
	}
	if inner.parses != 8 {
		t.Errorf("%d calls, want 8", inner.parses)
	}
}

// What a caller does with a state does not change what the next one gets.
func TestLastState(t *testing.T) {
	t.Parallel()
	const raw = `{"game":1,"turn":2,"state":{},"moved":[false,false],"banks":[7,8],"moves":[{"player":0,"move":"a"}],"first":0,` +
		`"missed":["timeout",""],"ended":[{"end":"played_out","order":[1,2],"points":[1000,0],"causes":["",""],"moves":[{"player":1,"move":"b"}]}]}`
	var l lastState
	for range 2 {
		s, err := l.decode(State(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.encode(); err != nil || string(got) != raw {
			t.Errorf("%s, %v", got, err)
		}
		s.Moved[0], s.Banks[1], s.Missed[0], s.Ended[0].Moves = true, 0, "", nil
		s.Moves[0].Move = "c"
	}
	if _, err := l.decode(State(`{`)); err == nil {
		t.Error("half an object was decoded")
	}
}
