package game

import (
	"context"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// elimination is a quiz in which a seat that misses a round is out.
type elimination struct{ quiz }

// Close returns the points of the judge and the seats that are out.
func (e elimination) Close(ctx context.Context, p Position, replies []Reply, v *arena.Verdict) (Result, error) {
	result, err := e.quiz.Close(ctx, p, replies, v)
	if err != nil {
		return Result{}, err
	}
	seats := slices.Clone(p.Seats)
	answers, score := make(map[string]arena.Answer, len(replies)), make([]*Score, len(p.Seats))
	for i, r := range replies {
		s := &result.Scores[i]
		a := arena.Answer{Outcome: r.Outcome, Points: s.Points}
		if s.Void {
			a.Outcome = arena.OutcomeVoid
		}
		answers[seats[r.Seat].AgentID], score[r.Seat] = a, s
		seats[r.Seat] = seats[r.Seat].Closed(p.Round, a.Outcome)
	}
	for i, s := range scoring.Eliminate(seats, p.Round, answers) {
		if s.State == arena.SeatOut && seats[i].State == arena.SeatActive {
			score[i].Out = true
		}
	}
	return result, nil
}
