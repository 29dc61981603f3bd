package scoring

import (
	"cmp"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
)

// The K factors and their conditions (docs/rules.md, section 7). A declared new
// version has the K of a newcomer for its next matches (Rating.NewVersion).
const (
	NewcomerK  = arena.StartK
	SettledK   = 20
	MasterK    = 10
	MasterPeak = 2_400_000 // milli-Elo, ever reached

	// Scale is the difference in Elo at which one agent is expected to win ten games
	// for each that it loses.
	Scale = 400
)

// Rate returns the rating changes of a finished match by "agora-elo-1"
// (docs/rules.md, section 7), in the order of the seats. It returns nil for no
// contest and for settings that are not rated.
//
// answers are all answers of the match. ratings are those before it, by agent
// id; an agent without one is a newcomer. For every ordered pair of the N rated
// participants
//
//	t_ij = round_half_away(1000 * K_i * (S_ij - E_ij) / (N-1))
//
// in milli-Elo is added to i. Terms are computed once per pair and negated, so
// that with equal K, t_ij = -t_ji and the sum of all ratings is exactly
// preserved, except for the floor.
//
// The details that docs/rules.md leaves open are:
//   - A round is played when it counted for at least one seat; a participant
//     has counted rounds in at least half of those played. For an eliminated
//     seat only the rounds up to its elimination count.
//   - "Nobody answered" refers to the participants.
//   - Equal points: the seat with fewer common rounds lost by a timeout is ahead.
//   - With score_mode "rounds" every common round is a game: S_ij is the mean
//     of 1, 1/2 and 0 over them. Any other outcome without points beats a timeout.
//     Elimination always compares places.
//   - With score_mode "result" final points are compared, and a participant needs
//     no rounds of its own: in a game the seats act in different rounds. One that was
//     asked and never made a legal move loses to all that did, whatever its default
//     moves have won; two such ones are not compared.
//   - In an elimination the round counts in which a seat dropped because it
//     skipped it (see Eliminate).
//   - A participant whose pairs were all dropped keeps its rating and its count
//     of matches. It still counts in N.
func Rate(
	settings arena.Settings, seats []arena.Seat, answers []arena.Answer, ratings map[string]arena.Rating,
) []arena.RatingChange {
	if !settings.Rated {
		return nil
	}
	players := participants(settings, seats, answers, ratings)
	if len(players) < 2 || !anyAnswered(players) {
		return nil
	}
	for i := range players {
		for j := i + 1; j < len(players); j++ {
			compare(settings, &players[i], &players[j], len(players))
		}
	}
	var changes []arena.RatingChange
	for _, p := range players {
		if p.pairs == 0 {
			continue
		}
		after := max(p.before.MilliElo+p.sum, arena.FloorRating)
		changes = append(changes, arena.RatingChange{
			AgentID: p.seat.AgentID,
			Before:  p.before.MilliElo,
			After:   after,
			Delta:   after - p.before.MilliElo,
			K:       p.k,
			Score:   arena.Points(math.Round(1000 * p.score / float64(p.pairs))),
			Matches: p.before.Matches + 1,
		})
	}
	return changes
}

// player is a rated participant.
type player struct {
	seat   arena.Seat
	before arena.Rating
	k      int
	rounds []cell // by round number
	idle   bool   // of a game: it was asked, and never made a legal move

	sum   arena.MilliElo // of t_ij
	score float64        // sum of S_ij
	pairs int            // not dropped
}

// cell is one seat's part in one round.
type cell struct {
	counted  bool
	answered bool
	legal    bool // answered, and not refused
	lost     bool // by a timeout
	points   arena.Points
}

// newCell returns the cell of an answer. Seats of matches that ended under
// rules without lost and skipped rounds have none, so that a replay of their
// settlements results in the same ratings.
func newCell(settings arena.Settings, s arena.Seat, a arena.Answer) cell {
	refused := a.Reason == arena.ReasonIllegalMove || arena.Forfeits(a.Reason) || a.OverTokens && settings.MaxTokensPolicy == arena.ZeroPointsTokens
	return cell{
		counted:  true,
		answered: a.Outcome == arena.OutcomeAnswered,
		legal:    a.Outcome == arena.OutcomeAnswered && !refused,
		lost:     a.Outcome == arena.OutcomeTimeout && s.LostRounds > 0,
		points:   a.Points,
	}
}

func participants(settings arena.Settings, seats []arena.Seat, answers []arena.Answer, ratings map[string]arena.Rating) []player {
	last := 0
	for _, a := range answers {
		last = max(last, a.Round)
	}
	rounds, bySeat := make(map[string][]cell, len(seats)), make(map[string]*arena.Seat, len(seats))
	for i, s := range seats {
		rounds[s.AgentID], bySeat[s.AgentID] = make([]cell, last+1), &seats[i]
	}
	played := make([]bool, last+1)
	for _, a := range answers {
		s, ok := bySeat[a.AgentID]
		if ok && a.Round > 0 && (a.Outcome.Counted() || settings.Format == arena.FormatElimination && missedBySkipping(*s, a)) {
			rounds[a.AgentID][a.Round] = newCell(settings, *s, a)
			played[a.Round] = true
		}
	}
	var players []player
	for _, s := range seats {
		if s.State == arena.SeatLeft || settings.ScoreMode != arena.ScoreResult && !present(s, rounds[s.AgentID], played) {
			continue
		}
		r, ok := ratings[s.AgentID]
		if !ok {
			r = arena.NewRating("", s.AgentID)
		}
		players = append(players, player{seat: s, before: r, k: kFactor(&r), rounds: rounds[s.AgentID], idle: idle(rounds[s.AgentID])})
	}
	return players
}

// missedBySkipping reports whether a seat of an elimination dropped because it
// skipped the round.
func missedBySkipping(s arena.Seat, a arena.Answer) bool {
	return s.State == arena.SeatOut && a.Round == s.OutRound && skippedTooOften(s, a.Outcome)
}

// present reports whether a seat's counted rounds are at least half, rounded
// up, of the rounds played while it was in the match.
func present(s arena.Seat, cells []cell, played []bool) bool {
	counted, asked := 0, 0
	for round := range played {
		if s.State == arena.SeatOut && round > s.OutRound {
			break
		}
		if played[round] {
			asked++
		}
		if cells[round].counted {
			counted++
		}
	}
	return counted > 0 && counted >= (asked+1)/2
}

// idle reports whether a seat was asked and never answered with a legal move.
func idle(cells []cell) bool {
	return slices.ContainsFunc(cells, func(c cell) bool { return c.counted }) && !slices.ContainsFunc(cells, func(c cell) bool { return c.legal })
}

func anyAnswered(players []player) bool {
	for _, p := range players {
		for _, c := range p.rounds {
			if c.answered {
				return true
			}
		}
	}
	return false
}

// kFactor returns K from before the match.
func kFactor(r *arena.Rating) int {
	switch {
	case r.Matches < arena.ProvisionalMatches, r.NewVersion > 0:
		return NewcomerK
	case r.Peak >= MasterPeak:
		return MasterK
	default:
		return SettledK
	}
}

// compare adds the terms of one pair to both.
func compare(settings arena.Settings, a, b *player, n int) {
	if g := a.seat.Group(); g != "" && g == b.seat.Group() {
		return // an owner must not gain from its own agents (threat F4)
	}
	// The lower-rated one is computed, the other is its negative. Equal ratings
	// are ordered by id, so that the order of the seats does not matter.
	low, high := a, b
	if low.before.MilliElo > high.before.MilliElo ||
		low.before.MilliElo == high.before.MilliElo && low.seat.AgentID > high.seat.AgentID {
		low, high = high, low
	}
	won, of := result(settings, low, high)
	if of == 0 {
		return
	}
	s := float64(won) / float64(of)
	surprise := s - expected(high.before.MilliElo-low.before.MilliElo)
	low.add(s, surprise, n)
	high.add(float64(of-won)/float64(of), -surprise, n)
}

func (p *player) add(s, surprise float64, n int) {
	p.sum += term(p.k, surprise, n)
	p.score += s
	p.pairs++
}

// term returns t for a participant with the given K and S-E (surprise) in a
// match of n.
func term(k int, surprise float64, n int) arena.MilliElo {
	// A product and then a quotient: nothing here can be fused.
	t := float64(float64(1000*k)*surprise) / float64(n-1)
	return arena.MilliElo(math.Round(t)) // rounds half away from zero
}

// result returns S of a against b as the fraction won/of. of is 0 if the two
// have no common round.
func result(settings arena.Settings, a, b *player) (won, of int) {
	switch {
	case settings.ScoreMode != arena.ScoreResult:
	case a.idle && b.idle:
		return 0, 0
	case a.idle:
		return 0, 2
	case b.idle:
		return 2, 2
	default:
		return game(int(a.seat.Points - b.seat.Points)), 2
	}
	var ahead arena.Points
	games, common, fewerLost := 0, 0, 0
	theirs := b.rounds[:len(a.rounds)]
	for round := range a.rounds {
		x, y := &a.rounds[round], &theirs[round]
		if !x.counted || !y.counted {
			continue
		}
		common++
		lost := compareLost(x.lost, y.lost)
		ahead += x.points - y.points
		fewerLost += lost
		if settings.ScoreMode == arena.ScoreRounds {
			games += game(cmp.Or(int(x.points-y.points), lost))
		}
	}
	switch {
	case common == 0:
		return 0, 0
	case settings.Format == arena.FormatElimination:
		return game(compareSeats(settings, a.seat, b.seat)), 2
	case settings.ScoreMode == arena.ScoreRounds:
		return games, 2 * common
	default:
		return game(cmp.Or(int(ahead), fewerLost)), 2
	}
}

// compareLost returns a positive number if only b lost the round and a negative
// one if only a did.
func compareLost(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return 1
	default:
		return -1
	}
}

// game counts a win as two halves, a draw as one.
func game(difference int) int {
	switch {
	case difference > 0:
		return 2
	case difference == 0:
		return 1
	default:
		return 0
	}
}

// expected returns E of the lower-rated of two whose ratings are gap >= 0
// apart: 1/(1+10^(gap/400)).
func expected(gap arena.MilliElo) float64 { return 1 / (1 + pow10(gap)) }

// expectedAhead returns E of one whose rating is ahead by gap, which may be
// negative.
func expectedAhead(gap arena.MilliElo) float64 {
	if gap >= 0 {
		return 1 - expected(gap)
	}
	return expected(-gap)
}

// pow10 returns 10^(gap/400 Elo), for gap >= 0. It is 1 exactly at 0 and a power
// of ten exactly at whole multiples of 400.
//
// It does not use math.Pow, which is an assembly routine on some architectures
// and may be compiled with fused multiply-add on others. pow10 uses only sums
// and products, and each product is converted, which prevents fusing. The result
// is therefore the same on every machine, and so is a replay of settlements.
func pow10(gap arena.MilliElo) float64 {
	const (
		unit = Scale * 1000 // milli-Elo per factor of ten
		step = unit / int64(len(sixteenths))
	)
	whole, part := int64(gap)/unit, int64(gap)%unit
	// The series of e^x with x = ln 10 * rest/unit, 0 <= x < 0.144: the terms
	// after the tenth power are below the last bit.
	x := float64(float64(part%step) * (math.Ln10 / unit))
	power := 1.0 / 3_628_800
	power = float64(power*x) + 1.0/362_880
	power = float64(power*x) + 1.0/40_320
	power = float64(power*x) + 1.0/5040
	power = float64(power*x) + 1.0/720
	power = float64(power*x) + 1.0/120
	power = float64(power*x) + 1.0/24
	power = float64(power*x) + 1.0/6
	power = float64(power*x) + 0.5
	power = float64(power*x) + 1
	power = float64(power*x) + 1
	power = float64(power * sixteenths[part/step])
	for range min(whole, 400) { // beyond 10^308 it is infinite anyway
		power = float64(power * 10)
	}
	return power
}

// sixteenths are 10^(i/16).
var sixteenths = [16]float64{
	1, 1.1547819846894581797, 1.3335214321633240257, 1.5399265260594919896,
	1.7782794100389228012, 2.0535250264571460746, 2.3713737056616552617, 2.7384196342643612942,
	3.1622776601683793320, 3.6517412725483770583, 4.2169650342858224857, 4.8696752516586311494,
	5.6234132519034908039, 6.4938163157621131513, 7.4989420933245582730, 8.6596432336006535235,
}

const (
	priorDeviation = 200  // of strengths before the first match, in Elo
	z95            = 1.96 // standard deviations around the mean that hold 95 % of a normal distribution
	levelMatches   = 300  // from here on Spread changes by less than a tenth of a point
)

// Spread returns half the width of the 95 % interval of a rating after so many
// rated matches, in Elo (docs/rules.md, section 7).
func Spread(matches int) float64 {
	variance := float64(priorDeviation * priorDeviation)
	for n := range min(matches, levelMatches) {
		k := float64(SettledK)
		if n < arena.ProvisionalMatches {
			k = NewcomerK
		}
		kept := 1 - k*math.Ln10/(4*Scale)
		variance = kept*kept*variance + k*k/4
	}
	return z95 * math.Sqrt(variance)
}
