package arena

import (
	"cmp"
	"math"
	"slices"
)

// GameEnd is how a game of a match ended (docs/rules/games.md).
type GameEnd string

// The ends of a game.
const (
	GamePlayedOut    GameEnd = "played_out"    // by its rules, and every move was its agent's own
	GameDefaultMoves GameEnd = "default_moves" // by its rules, with default moves of agents that gave none
	GameForfeit      GameEnd = "forfeit"       // an agent gave no move, and the game has no default
)

// TurnOrder is whether a seat had the first move of a game.
type TurnOrder int

// The orders. A game that all players begin at once, or that never began, has no
// first mover.
const (
	NoFirstMover TurnOrder = iota
	MovedFirst
	MovedLater
)

// GameRecord counts games of an agent in a league that ended in the same way for
// it. The game says how each game of a match ended with records of one game each.
type GameRecord struct {
	League  string
	AgentID string
	Order   TurnOrder
	End     GameEnd
	// Cause is why the agent lost the game without a move, or why a default move was
	// played for it the first time; "": it did all that it was asked for.
	Cause RoundResult
	GameScore
}

// GameScore is the result of games for one side.
type GameScore struct {
	Games  int // the sum of the next three
	Wins   int // with more points than any other seat
	Draws  int // with the most points, shared with another seat
	Losses int
	Points Points
}

// Add adds other games.
func (s *GameScore) Add(o GameScore) {
	s.Games += o.Games
	s.Wins += o.Wins
	s.Draws += o.Draws
	s.Losses += o.Losses
	s.Points += o.Points
}

// SumGames adds up records that differ in nothing but their score, and returns
// the sums in a fixed order.
func SumGames(records []GameRecord) []GameRecord {
	sums := map[GameRecord]GameScore{}
	for _, r := range records {
		key := r
		key.GameScore = GameScore{}
		sum := sums[key]
		sum.Add(r.GameScore)
		sums[key] = sum
	}
	all := make([]GameRecord, 0, len(sums))
	for r, sum := range sums {
		r.GameScore = sum
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b GameRecord) int {
		return cmp.Or(cmp.Compare(a.League, b.League), cmp.Compare(a.AgentID, b.AgentID), cmp.Compare(a.Order, b.Order),
			cmp.Compare(a.End, b.End), cmp.Compare(a.Cause, b.Cause))
	})
	return all
}

// GameTally summarizes the games of an agent in a league.
type GameTally struct {
	All       GameScore
	PlayedOut GameScore // only those in which every move was its agent's own

	DefaultMoves int // games that ended by their rules with default moves of any agent
	ForfeitsWon  int // games that ended because other agents gave no move
	ForfeitsLost int // games that ended because it gave none

	// Games that the agent lost without a move, or in which a default move was played
	// for it, by the first cause.
	Illegal  int // an illegal move, twice
	Timeouts int
	NoShows  int // it answered 503, or could not be reached
	Faults   int // any other cause
}

// TallyGames summarizes records by agent.
func TallyGames(records []GameRecord) map[string]GameTally {
	tallies := map[string]GameTally{}
	for _, r := range records {
		t := tallies[r.AgentID]
		t.All.Add(r.GameScore)
		switch {
		case r.End == GamePlayedOut:
			t.PlayedOut.Add(r.GameScore)
		case r.End == GameDefaultMoves:
			t.DefaultMoves += r.Games
		case r.Cause == "":
			t.ForfeitsWon += r.Games
		default:
			t.ForfeitsLost += r.Games
		}
		switch r.Cause {
		case "":
		case ResultIllegal:
			t.Illegal += r.Games
		case RoundResult(OutcomeTimeout):
			t.Timeouts += r.Games
		case RoundResult(OutcomeUnavailable):
			t.NoShows += r.Games
		default:
			t.Faults += r.Games
		}
		tallies[r.AgentID] = t
	}
	return tallies
}

// FirstMover compares the seats that had the first move of a game with the others.
type FirstMover struct {
	First  GameShares
	Others GameShares // every other seat of these games
}

// GameShares are the shares of games with a result.
type GameShares struct {
	Games            int // of a seat: a game of three seats has two others
	Won, Drawn, Lost Share
}

// Share is a share of a number of observations, 0 to 1, with its interval, at 95 % unless
// its source says otherwise.
type Share struct{ Share, Low, High float64 }

// FirstMoverOf returns the results of first movers in games, or only in those that
// were played out, and nil if there are none.
func FirstMoverOf(records []GameRecord, playedOut bool) *FirstMover {
	var first, others GameScore
	for _, r := range records {
		switch {
		case playedOut && r.End != GamePlayedOut:
		case r.Order == MovedFirst:
			first.Add(r.GameScore)
		case r.Order == MovedLater:
			others.Add(r.GameScore)
		}
	}
	if first.Games == 0 {
		return nil
	}
	return &FirstMover{First: sharesOf(first), Others: sharesOf(others)}
}

func sharesOf(s GameScore) GameShares {
	return GameShares{Games: s.Games, Won: ShareOf(s.Wins, s.Games), Drawn: ShareOf(s.Draws, s.Games), Lost: ShareOf(s.Losses, s.Games)}
}

// ShareOf returns k of n with the Wilson score interval at 95 %.
func ShareOf(k, n int) Share {
	if n == 0 {
		return Share{High: 1}
	}
	return WilsonShare(float64(k)/float64(n), float64(n), 1.959964)
}

// WilsonShare returns a share p of n > 0 observations with its Wilson score interval.
// z is the quantile of the normal distribution: 1.96 for 95 %. n need not be whole.
func WilsonShare(p, n, z float64) Share {
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	reach := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Share{Share: p, Low: max(0, middle-reach), High: min(1, middle+reach)}
}
