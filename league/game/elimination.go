package game

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// elimination is a quiz in which a seat that misses a round is out. Several
// leaders at the cap of an open end play a sudden death (docs/rules.md, section
// 6). Its state is a list of totals in the order of the seats; a match that
// cannot have a sudden death has none.
type elimination struct{ quiz }

// total is what a seat's rounds add up to.
type total struct {
	Points     arena.Points `json:"points,omitempty"`
	LostRounds int          `json:"lost_rounds,omitempty"`
}

// Init returns the totals before the first round.
func (elimination) Init(_ context.Context, p Position) (State, error) {
	if !scoring.SuddenDeath(p.Settings) {
		return nil, nil
	}
	return json.Marshal(make([]total, len(p.Seats)))
}

// Over reports whether the quiz is over and has no sudden death to play.
func (e elimination) Over(p Position) (End, error) {
	end, err := e.quiz.Over(p)
	end.Over = end.Over && !playsOn(p.Settings, p.Round-1, leaders(p.Seats, totals(p)))
	return end, err
}

// playsOn reports whether a match that has reached its cap opens another round.
func playsOn(s arena.Settings, played int, leaders []int) bool {
	last := scoring.LastRound(s)
	return scoring.SuddenDeath(s) && len(leaders) > 1 && played >= last && played < last+scoring.SuddenDeathRounds
}

// totals returns the totals in the state of a position, or nil if there are
// none.
func totals(p Position) []total {
	var all []total
	if p.State == nil || json.Unmarshal(p.State, &all) != nil || len(all) != len(p.Seats) {
		return nil
	}
	return all
}

// leaders returns the indexes of the active seats that lead by their totals.
func leaders(seats []arena.Seat, all []total) []int {
	if all == nil {
		return nil
	}
	seats = slices.Clone(seats)
	for i := range seats {
		seats[i].Points, seats[i].LostRounds = all[i].Points, all[i].LostRounds
	}
	return scoring.Leaders(seats)
}

// Turn returns the position of a round in the sudden death, and before it the
// zero Turn.
func (elimination) Turn(_ context.Context, p Position) (turn arena.Turn, _ error) {
	if n := p.Round - scoring.LastRound(p.Settings); n > 0 && scoring.SuddenDeath(p.Settings) {
		turn.SuddenDeath = &arena.SuddenDeathTurn{Turn: n, Turns: scoring.SuddenDeathRounds}
	}
	return turn, nil
}

// Close returns the points of the judge and the seats that are out: those that
// missed the round and, if a sudden death follows, those that do not lead.
func (e elimination) Close(ctx context.Context, p Position, replies []Reply, v *arena.Verdict) (Result, error) {
	result, err := e.quiz.Close(ctx, p, replies, v)
	if err != nil {
		return Result{}, err
	}
	seats, all := slices.Clone(p.Seats), totals(p)
	answers, score := make(map[string]arena.Answer, len(replies)), make([]*Score, len(p.Seats))
	for i, r := range replies {
		s := &result.Scores[i]
		a := arena.Answer{Outcome: r.Outcome, Points: s.Points}
		if s.Void {
			a.Outcome = arena.OutcomeVoid
		}
		lost := seats[r.Seat].LostRounds
		answers[seats[r.Seat].AgentID], score[r.Seat] = a, s
		seats[r.Seat] = seats[r.Seat].Closed(p.Round, a.Outcome)
		if all != nil {
			all[r.Seat].Points += s.Points
			all[r.Seat].LostRounds += seats[r.Seat].LostRounds - lost
		}
	}
	seats = scoring.Eliminate(seats, p.Round, answers)
	if first := leaders(seats, all); playsOn(p.Settings, p.Round, first) {
		for i := range seats {
			if seats[i].State == arena.SeatActive && !slices.Contains(first, i) {
				seats[i].State = arena.SeatOut
			}
		}
	}
	for i, s := range seats {
		if s.State == arena.SeatOut && p.Seats[i].State == arena.SeatActive && score[i] != nil {
			score[i].Out = true
		}
	}
	if all == nil {
		return result, nil
	}
	if result.State, err = json.Marshal(all); err != nil {
		return Result{}, fmt.Errorf("encode the totals of the seats: %w", err)
	}
	return result, nil
}
