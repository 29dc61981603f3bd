package rules_test

import (
	"math/rand/v2"
	"testing"

	"github.com/agora-arena/arena/league/game/rules"
)

// BenchmarkBuiltin measures one turn as the engine plays it: two positions, one
// text that is read, and one move.
func BenchmarkBuiltin(b *testing.B) {
	for _, g := range rules.Builtin() {
		b.Run(g.Info().Name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var p *playout
			for n := uint64(0); b.Loop(); {
				if p == nil || p.position(b).Over() {
					n++
					p = begin(b, g, rules.Start{Seed: n, Players: g.Info().MinPlayers})
				}
				p.step(b, p.position(b), r)
			}
		})
	}
}
