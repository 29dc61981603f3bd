package arena

import "time"

// RoundResult is the result of a closed round for one seat: the judgement of its
// answer, or the outcome of an attempt without one.
type RoundResult string

// The results of an answer. Any other result is the Outcome of the round.
const (
	ResultRight    RoundResult = "right"    // at least the whole point
	ResultPartial  RoundResult = "partial"  // a part of the point
	ResultWrong    RoundResult = "wrong"    // nothing
	ResultUnjudged RoundResult = "unjudged" // a speech before the end of its half
	ResultMove     RoundResult = "move"     // a legal move of a game: neither right nor wrong
	ResultIllegal  RoundResult = "illegal_move"
)

// GameSource is the prefix of the source of the task of a round of a game, followed
// by the game's name.
const GameSource = "game:"

// ResultCount counts the rounds of an agent that ended in the same way.
type ResultCount struct {
	Result RoundResult
	Rounds int
	Mean   time.Duration // from request to answer, as the arena measured it
}
