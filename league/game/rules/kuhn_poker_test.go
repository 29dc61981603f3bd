package rules_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// kuhnCard returns the card that the player to act holds.
func kuhnCard(t *testing.T, p *playout) int {
	t.Helper()
	var o struct{ Card string }
	if err := json.Unmarshal(p.position(t).ToAct[0].Observation, &o); err != nil {
		t.Fatal(err)
	}
	return strings.Index("JQK", o.Card)
}

// Every line of a hand pays what docs/games/kuhn_poker.md says, for every deal.
func TestKuhnPoker_pays(t *testing.T) {
	t.Parallel()
	deals := map[[2]int]bool{}
	for seed := range uint64(60) {
		for line, pays := range map[string]func(higher int) int{ // chips of player 0; higher: ±1, the better card
			"check check":    func(higher int) int { return higher },
			"check bet fold": func(int) int { return -1 },
			"check bet call": func(higher int) int { return 2 * higher },
			"bet fold":       func(int) int { return 1 },
			"bet call":       func(higher int) int { return 2 * higher },
		} {
			p := begin(t, rules.KuhnPoker(), rules.Start{Seed: seed, Players: 2, Options: map[string]int{"hands": 1}})
			var cards [2]int
			for i, action := range strings.Fields(line) {
				player := p.position(t).ToAct[0].Player
				if player != i%2 {
					t.Fatalf("player %d acts in %q, action %d", player, line, i+1)
				}
				cards[player] = kuhnCard(t, p)
				p.apply(t, []rules.Move{{Player: player, Move: action}})
			}
			deals[cards] = true
			higher := 1
			if cards[1] > cards[0] {
				higher = -1
			}
			end := p.position(t)
			if want := arena.OnePoint * arena.Points(pays(higher)+2) / 4; !end.Over() || end.Points[0] != want {
				t.Errorf("%q with %v: over %t, points %v, want %v", line, cards, end.Over(), end.Points, want)
			}
			if shown := strings.Contains(string(end.Public), `"card `); shown != !strings.HasSuffix(line, "fold") {
				t.Errorf("%q shows cards: %t\n%s", line, shown, end.Public)
			}
		}
	}
	if len(deals) != 6 {
		t.Errorf("60 seeds have the deals %v, want all six", deals)
	}
}

func TestKuhnPoker_takesTurns(t *testing.T) {
	t.Parallel()
	p := begin(t, rules.KuhnPoker(), rules.Start{Seed: 3, Players: 2})
	for hand := range 10 {
		for i, action := range []string{" BET ", "fold"} {
			a := p.position(t).ToAct[0]
			if a.Player != (hand+i)%2 {
				t.Fatalf("hand %d, action %d: player %d acts", hand+1, i+1, a.Player)
			}
			p.apply(t, []rules.Move{{Player: a.Player, Move: p.parse(t, a.Player, action)}})
		}
	}
	if end := p.position(t); !end.Over() || end.Points[0] != arena.OnePoint/2 {
		t.Errorf("over %t, points %v", end.Over(), end.Points)
	}
}

func TestKuhnPoker_refuses(t *testing.T) {
	t.Parallel()
	p := begin(t, rules.KuhnPoker(), rules.Start{Seed: 3, Players: 2})
	for _, text := range []string{"", "pass", "check bet", "chec\u212a", "check\u202e", strings.Repeat("check", 1<<18)} { // U+212A is k in lower case
		if _, err := rules.KuhnPoker().Parse(t.Context(), p.state(), 0, text); !isIllegal(err) || err.Error() != "a move is check or bet" {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := rules.KuhnPoker().Parse(t.Context(), p.state(), 0, "call"); !isIllegal(err) || err.Error() != "there is no bet to call" {
		t.Errorf("call: %v", err)
	}
}

// The pot is the antes and what was bet, shown by player.
func TestKuhnPoker_showsBets(t *testing.T) {
	t.Parallel()
	p := begin(t, rules.KuhnPoker(), rules.Start{Players: 2, Options: map[string]int{"hands": 1}})
	shown := func() (bets [2]int, pot int) {
		var c rules.Cards
		if err := json.Unmarshal(p.position(t).Public, &c); err != nil {
			t.Fatal(err)
		}
		return [2]int{c.Hands[0].Bet, c.Hands[1].Bet}, c.Pot
	}
	for i, want := range [][2]int{{1, 1}, {1, 1}, {1, 2}, {0, 0}} {
		if i > 0 {
			p.apply(t, []rules.Move{{Player: (i - 1) % 2, Move: []string{"check", "bet", "fold"}[i-1]}})
		}
		if bets, pot := shown(); bets != want || pot != want[0]+want[1] {
			t.Errorf("after %d actions: bets %v, pot %d, want %v", i, bets, pot, want)
		}
	}
}

// The table keeps the last hand: its cards are open after a showdown only.
func TestKuhnPoker_keepsTheLastHand(t *testing.T) {
	t.Parallel()
	for moves, open := range map[string]bool{"check check": true, "bet call": true, "bet fold": false} {
		p := begin(t, rules.KuhnPoker(), rules.Start{Players: 2, Options: map[string]int{"hands": 1}})
		for player, move := range strings.Fields(moves) {
			p.apply(t, []rules.Move{{Player: player, Move: move}})
		}
		var c rules.Cards
		if err := json.Unmarshal(p.position(t).Public, &c); err != nil {
			t.Fatal(err)
		}
		for _, h := range c.Hands {
			if len(h.Cards) != 1 || (h.Cards[0] != "?") != open {
				t.Errorf("after %s player %d shows %q", moves, h.Player, h.Cards)
			}
		}
	}
}
