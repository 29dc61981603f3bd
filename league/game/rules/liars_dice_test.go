package rules_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

// diceSeen is what the player to act sees.
type diceSeen struct {
	You    int
	Dice   []int
	Counts []int
}

// bid lets the next player make a move and returns what it saw before.
func bid(t *testing.T, p *playout, text string) (seen diceSeen) {
	t.Helper()
	a := p.position(t).ToAct[0]
	if err := json.Unmarshal(a.Observation, &seen); err != nil {
		t.Fatal(err)
	}
	p.apply(t, []rules.Move{{Player: a.Player, Move: p.parse(t, a.Player, text)}})
	return seen
}

// A challenge costs the bidder a die if the bid was too high, else the challenger,
// and the loser begins the next round.
func TestLiarsDice_challenge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		for wilds := range 2 {
			for over := range 2 { // by how many dice the bid is too high
				p := begin(t, rules.LiarsDice(), rules.Start{Seed: seed, Players: 3, Options: map[string]int{"wilds": wilds}})
				var all []int
				for _, low := range []string{"1 2", "1X3", " 1  4 "} {
					all = append(all, bid(t, p, low).Dice...)
				}
				fives := 0
				for _, face := range all {
					if face == 5 || face == 1 && wilds == 1 {
						fives++
					}
				}
				if fives+over == 0 {
					continue // no dice cannot be bid
				}
				bid(t, p, fmt.Sprintf("%d 5", fives+over)) // player 0
				bid(t, p, "Liar")                          // player 1
				next := p.position(t).ToAct[0]
				want := diceSeen{You: 1 - over, Counts: []int{5, 5, 5}}
				want.Counts[want.You]--
				if got := bid(t, p, "1 6"); next.Player != want.You || !slices.Equal(got.Counts, want.Counts) {
					t.Errorf("seed %d, wilds %d, %d fives, bid %d: player %d begins with %v, want %+v", seed, wilds, fives, fives+over, next.Player, got.Counts, want)
				}
			}
		}
	}
}

// A game is over when one player has dice, and points follow the order of leaving.
func TestLiarsDice_points(t *testing.T) {
	t.Parallel()
	for players, want := range map[int][]arena.Points{ // the first to leave first
		2: {0, 1000}, 3: {0, 500, 1000}, 4: {0, 333, 667, 1000}, 5: {0, 250, 500, 750, 1000}, 6: {0, 200, 400, 600, 800, 1000},
	} {
		p := begin(t, rules.LiarsDice(), rules.Start{Seed: 9, Players: players, Options: map[string]int{"dice": 1}})
		var left []int
		for range players - 1 {
			before := p.position(t)
			bid(t, p, fmt.Sprintf("%d 6", players-len(left)))
			bid(t, p, "liar")
			after := p.position(t)
			for player := range players {
				if !out(t, before, player) && out(t, after, player) {
					left = append(left, player)
				}
			}
		}
		end := p.position(t)
		if len(left) != players-1 || !end.Over() {
			t.Fatalf("%d players: %v left, over is %t", players, left, end.Over())
		}
		for i, player := range left {
			if end.Points[player] != want[i] {
				t.Errorf("%d players left in the order %v: points %v", players, left, end.Points)
			}
		}
	}
}

func out(t *testing.T, pos rules.Position, player int) bool {
	t.Helper()
	var c rules.Cards
	if err := json.Unmarshal(pos.Public, &c); err != nil {
		t.Fatal(err)
	}
	return c.Hands[player].Out
}

// A game of patient players ends by the number of turns, with the places by dice.
func TestLiarsDice_ends(t *testing.T) {
	t.Parallel()
	p := begin(t, rules.LiarsDice(), rules.Start{Seed: 1, Players: 6})
	for !p.position(t).Over() {
		legal := p.position(t).ToAct[0].Legal
		bid(t, p, legal[min(1, len(legal)-1)]) // the lowest bid
	}
	end := p.position(t)
	var c rules.Cards
	if err := json.Unmarshal(end.Public, &c); err != nil {
		t.Fatal(err)
	}
	if len(p.moves) != rules.LiarsDice().Info().MaxTurns {
		t.Fatalf("%d turns", len(p.moves))
	}
	for i, mine := range c.Hands {
		for j, other := range c.Hands {
			if len(mine.Cards) > len(other.Cards) && end.Points[i] <= end.Points[j] || len(mine.Cards) == len(other.Cards) && end.Points[i] != end.Points[j] {
				t.Errorf("points %v of %+v", end.Points, c.Hands)
			}
		}
	}
}

func TestLiarsDice_parse(t *testing.T) {
	t.Parallel()
	p := begin(t, rules.LiarsDice(), rules.Start{Seed: 1, Players: 2, Options: map[string]int{"dice": 2}})
	check := func(text, reason string) {
		t.Helper()
		if _, err := rules.LiarsDice().Parse(t.Context(), p.state(), p.position(t).ToAct[0].Player, text); !isIllegal(err) || err.Error() != reason {
			t.Errorf("%q: %v, want %q", text, err, reason)
		}
	}
	check("liar", "there is no bid to challenge")
	check("1 1", "the face of a bid is 2 to 6")
	check("5 2", "the number of a bid is 1 to 4, as there are 4 dice")
	check("0 2", "the number of a bid is 1 to 4, as there are 4 dice")
	for _, text := range []string{"2 3", "2 3s", "2x3", "2, 3", "two threes", "2 threes", "Two Threes"} {
		if move := p.parse(t, p.position(t).ToAct[0].Player, text); move != "2 3" {
			t.Errorf("%q is read as %q", text, move)
		}
	}
	bid(t, p, "2 3")
	for _, text := range []string{"liar", "Liar", "call liar", "challenge"} {
		if move := p.parse(t, p.position(t).ToAct[0].Player, text); move != "liar" {
			t.Errorf("%q is read as %q", text, move)
		}
	}
	check("2 3", "a bid must be above 2 3: more dice, or as many with a higher face")
	check("1 6", "a bid must be above 2 3: more dice, or as many with a higher face")
	for _, text := range []string{"3", "3 5 1", "+3 5", "3.0 5", "three sevens", "35", "3 of 5", "३ ५"} {
		check(text, "a move is a bid of two numbers, such as 3 5 for at least three fives, or the word liar")
	}
}
