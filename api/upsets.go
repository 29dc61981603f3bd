package api

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
	"github.com/agora-arena/arena/visibility"
)

// wonMatch is a match that one agent won.
type wonMatch struct {
	visibility.Match
	seats []arena.Seat // the winner first, then by place and points
}

// wonMatches returns the matches that one agent won, in their order.
func wonMatches(matches []visibility.Match) (won []wonMatch) {
	for _, m := range matches {
		seats := slices.Clone(m.Seats)
		slices.SortStableFunc(seats, func(x, y arena.Seat) int {
			return cmp.Or(cmp.Compare(x.Place, y.Place), cmp.Compare(y.Points, x.Points))
		})
		if len(seats) > 1 && seats[0].Place == 1 && seats[1].Place > 1 {
			won = append(won, wonMatch{Match: m, seats: seats})
		}
	}
	return won
}

// upset is a rated duel that the lower rated agent won although the difference exceeds
// the error of both ratings (docs/rules/ratings.md).
type upset struct {
	wonMatch
	chance float64 // the expected score of the winner, to a tenth of a percent
}

// upsetsLooked is how many of the largest differences are looked at for upsets.
const upsetsLooked = 20

// upsetsOf returns the upsets among matches, the least likely first.
func upsetsOf(ctx context.Context, rows Rows, won []wonMatch) ([]upset, error) {
	gap := func(w wonMatch) arena.MilliElo { return w.seats[1].Before - w.seats[0].Before }
	var duels []wonMatch
	for _, w := range won {
		if len(w.seats) == 2 && w.seats[0].Delta != nil && w.seats[1].Delta != nil && gap(w) > 0 {
			duels = append(duels, w)
		}
	}
	slices.SortStableFunc(duels, func(x, y wonMatch) int { return cmp.Compare(gap(y), gap(x)) })
	duels = duels[:min(len(duels), upsetsLooked)]
	ids := make([]string, len(duels))
	for i, w := range duels {
		ids[i] = w.ID
	}
	changes, err := rows.Ratings.ChangesIn(ctx, ids...)
	if err != nil {
		return nil, err
	}
	var found []upset
	for _, w := range duels {
		variance := 0.0
		for _, c := range changes[w.ID] {
			variance += math.Pow(scoring.Spread(c.Matches-1), 2)
		}
		if elo := float64(gap(w)) / 1000; len(changes[w.ID]) == 2 && elo > math.Sqrt(variance) {
			found = append(found, upset{w, math.Round(1000/(1+math.Pow(10, elo/scoring.Scale))) / 1000})
		}
	}
	return found, nil
}
