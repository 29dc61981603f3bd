package format

import (
	"cmp"

	"github.com/agora-arena/arena/arena"
)

// maxReplays is how often a game of a series is replayed because it was drawn,
// and how often because it was void.
const maxReplays = maxGames - 1

// knockoutStep orders a round once the previous round is decided. The loser of
// a series is eliminated; the first seeds have a bye in the first round.
func knockoutStep(s State) Step { return newBracket(s).knockout() }

// knockoutTable returns the table ranked by the round reached, which is the
// score. Agents that lose in the same round share a rank.
func knockoutTable(s State) []arena.TableRow {
	b := newBracket(s)
	b.knockout()
	return b.table()
}

// bracket replays a knockout or a double elimination from its first round to
// the last decided one.
type bracket struct {
	s        State
	entrants []arena.Entrant // seeded
	seed     map[string]int
	games    map[place][]arena.Pairing
	reached  map[string]int // the last round in which each won or had a bye
	out      map[string]int // the round in which each was eliminated

	orders  orders // of the round that is being replayed
	step    Step
	waiting bool
}

func newBracket(s State) *bracket {
	b := &bracket{
		s: s, entrants: starters(s), seed: make(map[string]int), games: byPlace(s.Pairings),
		reached: make(map[string]int), out: make(map[string]int),
	}
	for i, e := range b.entrants {
		b.seed[e.AgentID] = i + 1
	}
	return b
}

// seats returns the agents in the order of the slots of the first round, with
// "" for an empty seat: of 8, 1-8, 4-5, 2-7 and 3-6 meet.
func (b *bracket) seats() []string {
	seeds := []int{1}
	for len(seeds) < len(b.entrants) {
		var wider []int
		for _, seed := range seeds {
			wider = append(wider, seed, 2*len(seeds)+1-seed)
		}
		seeds = wider
	}
	seats := make([]string, len(seeds))
	for i, seed := range seeds {
		if seed <= len(b.entrants) {
			seats[i] = b.entrants[seed-1].AgentID
		}
	}
	return seats
}

func (b *bracket) knockout() Step {
	seats := b.seats()
	for round := 1; len(seats) > 1; round++ {
		b.begin(round)
		var losers []string
		seats, losers = b.pairs(1, "", seats)
		if b.leave(losers...); b.pending() {
			return b.step
		}
	}
	return Step{Done: true}
}

// begin moves on to the given round.
func (b *bracket) begin(round int) { b.orders = newOrders(b.s, round) }

// pending reports whether the round is not decided.
func (b *bracket) pending() bool { return b.waiting || len(b.step.Pairings) > 0 }

// leave marks agents as eliminated.
func (b *bracket) leave(agents ...string) {
	for _, id := range agents {
		b.out[id] = b.orders.round
	}
}

// pairs pairs neighbors, in slots from the given one on.
func (b *bracket) pairs(slot int, name string, seats []string) (winners, losers []string) {
	for i := 0; i < len(seats); i += 2 {
		winner, loser := b.meet(slot+i/2, name, seats[i], seats[i+1])
		winners, losers = append(winners, winner), append(losers, loser)
	}
	return winners, losers
}

// meet replays one series. It returns no agents while the series is not
// decided. An agent without an opponent has a bye.
func (b *bracket) meet(slot int, name, x, y string) (winner, loser string) {
	if x == "" || y != "" && b.seed[y] < b.seed[x] {
		x, y = y, x // x is the better seed, y may be empty
	}
	games := b.games[place{b.orders.round, slot}]
	switch {
	case x == "":
		return "", ""
	case y == "":
		if len(games) == 0 {
			b.order(name, b.orders.bye(slot, x, won))
		}
		b.reached[x] = b.orders.round
		return x, ""
	case anyOpen(games):
		b.waiting = true
		return "", ""
	}
	winner, decided := seriesWinner(games, x, y, max(b.s.Season.Options.BestOf, 1))
	if !decided {
		b.order(name, b.game(slot, games, x, y))
		return "", ""
	}
	if winner == y {
		x, y = y, x
	}
	b.reached[x] = b.orders.round
	return x, y
}

// game returns the next game of a series. The two agents take turns in the
// first seat.
func (b *bracket) game(slot int, games []arena.Pairing, x, y string) arena.Pairing {
	game := 1
	if len(games) > 0 {
		game = games[len(games)-1].Game + 1
	}
	if game%2 == 0 {
		x, y = y, x
	}
	return b.orders.meeting(slot, game, x, y)
}

func (b *bracket) order(name string, p arena.Pairing) {
	p.Bracket = name
	b.step.Pairings = append(b.step.Pairings, p)
}

// seriesWinner returns the winner of a best of n between x and y, where x is the
// better seed. A drawn or void game is replayed at most twice for each reason;
// after that neither agent wins it. The series is over when the lead cannot be
// caught. If the agents are level at the end, x wins. An agent that forfeits a
// game forfeits the series; if both do, x wins.
func seriesWinner(games []arena.Pairing, x, y string, n int) (winner string, decided bool) {
	lead, left := 0, n // lead of x, games that may still count
	draws, voids := 0, 0
	for _, g := range games {
		gain := gainOf(g, x)
		if g.Result == arena.PairingForfeit {
			if gain < gainOf(g, y) {
				return y, true
			}
			return x, true
		}
		decisive := scored(g) && gain != drawn
		switch {
		case !scored(g):
			voids++
		case !decisive:
			draws++
		case gain > drawn:
			lead++
		default:
			lead--
		}
		if decisive || draws > maxReplays || voids > maxReplays {
			left--
			draws, voids = 0, 0
		}
		switch {
		case lead > left, lead == 0 && left == 0:
			return x, true
		case -lead > left:
			return y, true
		}
	}
	return "", false
}

// gainOf returns the points that an agent got from a game.
func gainOf(p arena.Pairing, agent string) arena.Points {
	for i, id := range p.Agents {
		if id == agent && i < len(p.Scores) {
			return p.Scores[i]
		}
	}
	return 0
}

// table returns the table ranked by rounds survived, with the agents that are
// still in before those that are eliminated.
func (b *bracket) table() []arena.TableRow {
	rows := tally(b.entrants, b.s.Pairings)
	for i, r := range rows {
		rounds := max(b.reached[r.AgentID], b.orders.round-1)
		if left, out := b.out[r.AgentID]; out {
			rounds = left - 1
		}
		rows[i].Score = arena.Points(rounds) * arena.OnePoint
	}
	return rankBy(rows, func(x, y arena.TableRow) int {
		_, xOut := b.out[x.AgentID]
		_, yOut := b.out[y.AgentID]
		switch {
		case x.Score != y.Score:
			return cmp.Compare(y.Score, x.Score)
		case xOut == yOut:
			return 0
		case xOut:
			return 1
		}
		return -1
	})
}
