package format

import (
	"github.com/agora-arena/arena/arena"
)

// The brackets of a double elimination.
const (
	bracketWinners = "winners"
	bracketLosers  = "losers"
	bracketFinal   = "final"
)

// doubleEliminationStep orders a round once the previous round is decided. An
// agent is eliminated when it loses its second series. n entrants play 2n-2
// series, or 2n-1 if the winner of the winners' bracket loses the first final.
//
// Round 1 is played in the winners' bracket only. Then rounds come in pairs:
// first the next winners' round together with a round among the losers, then a
// round of the remaining losers against the agents that have just dropped. The
// last one or two rounds are the final.
func doubleEliminationStep(s State) Step { return newBracket(s).doubleElimination() }

// doubleEliminationTable returns the table ranked by the round in which each
// agent was eliminated. The score is derived from that round; agents eliminated
// in the same round share a rank.
func doubleEliminationTable(s State) []arena.TableRow {
	b := newBracket(s)
	b.doubleElimination()
	return b.table()
}

func (b *bracket) doubleElimination() Step {
	if len(b.entrants) < 2 {
		return Step{Done: true}
	}
	b.begin(1)
	winners, losers := b.pairs(1, bracketWinners, b.seats())
	round := 2
	for drop := 1; len(winners) > 1 && !b.pending(); drop++ {
		b.begin(round)
		next, dropped := b.pairs(1, bracketWinners, winners)
		left, out := b.pairs(1+len(next), bracketLosers, losers)
		if b.leave(out...); b.pending() {
			break
		}
		b.begin(round + 1)
		losers, out = b.pairs(1, bracketLosers, meetDropped(left, dropped, drop))
		b.leave(out...)
		winners = next
		round += 2
	}
	if b.pending() {
		return b.step
	}
	return b.final(round, winners[0], losers[0])
}

// final orders the final, and a second one if the winner of the losers' bracket
// wins the first.
func (b *bracket) final(round int, unbeaten, challenger string) Step {
	b.begin(round)
	if winner, _ := b.meet(1, bracketFinal, unbeaten, challenger); winner == challenger {
		b.begin(round + 1)
		b.meet(1, bracketFinal, unbeaten, challenger)
	}
	if b.pending() {
		return b.step
	}
	return Step{Done: true}
}

// meetDropped returns the seats of a round between the agents left in the
// losers' bracket and those that have just dropped; drop counts such rounds.
// The order changes with each of them (reversed, shifted by half, both,
// neither), so that agents from the same part of the winners' bracket meet as
// late as possible.
func meetDropped(left, dropped []string, drop int) []string {
	reversed, shifted := len(dropped)-1, len(dropped)/2
	order := []int{0, reversed, shifted, reversed ^ shifted}[drop%4]
	var seats []string
	for i, id := range left {
		seats = append(seats, id, dropped[i^order])
	}
	return seats
}
