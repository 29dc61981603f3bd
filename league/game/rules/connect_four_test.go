package rules_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// play plays moves of players who act one at a time and returns the position.
func play(t *testing.T, r rules.Rules, moves ...string) (rules.State, rules.Position) {
	t.Helper()
	ctx := t.Context()
	st, err := r.Setup(ctx, rules.Start{Players: 2})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Position(ctx, st)
	for i := 0; err == nil && i < len(moves); i++ {
		if len(p.ToAct) != 1 {
			t.Fatalf("move %d: %d players act", i+1, len(p.ToAct))
		}
		var m string
		if m, err = r.Parse(ctx, st, p.ToAct[0].Player, moves[i]); err == nil {
			st, err = r.Move(ctx, st, []rules.Move{{Player: p.ToAct[0].Player, Move: m}})
		}
		if err == nil {
			p, err = r.Position(ctx, st)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return st, p
}

func TestConnectFour_wins(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]string{
		"column": "1212121", "row": "1122334", "rising diagonal": "12234334644", "falling diagonal": "76654554244",
	} {
		_, p := play(t, rules.ConnectFour(), strings.Split(moves, "")...)
		if !p.Over() || p.Points[0] != arena.OnePoint || p.Points[1] != 0 {
			t.Errorf("%s: over %t, points %v\n%s", name, p.Over(), p.Points, p.Public)
		}
	}
}

func TestConnectFour_refuses(t *testing.T) {
	t.Parallel()
	st, _ := play(t, rules.ConnectFour(), strings.Split("111111", "")...)
	for text, reason := range map[string]string{
		"1": "column 1 is full", "0": "1 to 7", "8": "1 to 7", "": "1 to 7", "two": "1 to 7", "1 2": "1 to 7", strings.Repeat("1", 1<<20): "1 to 7",
	} {
		_, err := rules.ConnectFour().Parse(t.Context(), st, 0, text)
		if illegal, ok := errors.AsType[*rules.IllegalError](err); !ok || !strings.Contains(illegal.Reason, reason) {
			t.Errorf("%.10q: %v, want %q", text, err, reason)
		}
	}
}
