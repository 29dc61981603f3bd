package catalog_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/league/game/rules"
)

// BenchmarkScripted measures one turn of a game in JavaScript as the engine plays
// it, without the way to a worker process: the position, the moves as texts, and
// the move. A game's Setup is spread over its turns.
func BenchmarkScripted(b *testing.B) {
	r, err := runner()
	if err != nil {
		b.Fatal(err)
	}
	games, err := catalog.New(r, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"colonel_blotto", "iterated_prisoners_dilemma", "tic_tac_toe"} {
		b.Run(name, func(b *testing.B) {
			g, err := games.Rules(b.Context(), arena.GameSpec{Name: name})
			must(b, err)
			random := rand.New(rand.NewPCG(1, 2))
			var st rules.State
			for seed := uint64(0); b.Loop(); {
				if st == nil {
					seed++
					st, err = g.Setup(b.Context(), rules.Start{Seed: seed, Players: g.Info().MinPlayers})
					must(b, err)
				}
				st = step(b, g, st, random)
			}
		})
	}
}

// step plays one turn with random moves. It returns nil when the game is over.
func step(b *testing.B, g rules.Rules, st rules.State, random *rand.Rand) rules.State {
	b.Helper()
	p, err := g.Position(b.Context(), st)
	must(b, err)
	moves := make([]rules.Move, len(p.ToAct))
	for i, a := range p.ToAct {
		var text string
		if len(a.Legal) > 0 {
			text = a.Legal[random.IntN(len(a.Legal))]
		} else { // a fixed move costs nothing to find
			text = strings.Repeat("20,", 4) + "20"
		}
		moves[i].Player = a.Player
		moves[i].Move, err = g.Parse(b.Context(), st, a.Player, text)
		must(b, err)
	}
	next, err := g.Move(b.Context(), st, moves)
	must(b, err)
	if p, err = g.Position(b.Context(), next); p.Over() {
		next = nil
	}
	must(b, err)
	return next
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
