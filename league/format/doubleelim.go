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

// doubleEliminationStep orders a round when the one before is decided. Who
// loses two series is out; n entrants play 2n-2 series, or 2n-1 when the first
// final is the first series that the winner of the winners' bracket loses.
//
// Round 1 is the winners' bracket alone. Then come two rounds at a time: the
// winners' next one together with one among the losers, and one of the losers
// left against those that have just dropped. The last one or two are the final.
func doubleEliminationStep(s State) Step { return newBracket(s).doubleElimination() }

// doubleEliminationTable ranks by the round in which each went out: its figure
// is the score. Who goes out in the same round shares a rank.
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

// final is played once more when the winner of the losers' bracket wins it.
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

// meetDropped lets those left in the losers' bracket meet those that have just
// dropped, for the first, second … time. Each time the order is another one,
// reversed, shifted by half, both, neither, so that nobody meets who has come
// from the same part of the winners' bracket before there is no other way.
func meetDropped(left, dropped []string, drop int) []string {
	reversed, shifted := len(dropped)-1, len(dropped)/2
	order := []int{0, reversed, shifted, reversed ^ shifted}[drop%4]
	var seats []string
	for i, id := range left {
		seats = append(seats, id, dropped[i^order])
	}
	return seats
}
