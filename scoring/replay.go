package scoring

import "github.com/agora-arena/arena/arena"

// Replay returns the ratings of all agents of results by "agora-elo-1" from the
// places alone: S_ij is 1 for the better place. results must be in the order of
// their settlements. Rate returns the same if every round counted for every seat
// and no new version was declared. The returned ratings have only rating, peak
// and number of matches.
func Replay(results []arena.RatedResult) map[string]arena.Rating {
	index := map[string]int{}
	var ratings []arena.Rating
	var seats []replayed
	for i := range results {
		r := &results[i]
		seats = seats[:0]
		for j := range r.Seats {
			id := r.Seats[j].AgentID
			at, known := index[id]
			if !known {
				at = len(ratings)
				index[id] = at
				ratings = append(ratings, arena.NewRating("", id))
			}
			seats = append(seats, replayed{RatedSeat: &r.Seats[j], at: at, before: ratings[at].MilliElo, k: kFactor(&ratings[at])})
		}
		replay(seats)
		for j := range seats {
			if s := &seats[j]; s.met {
				rating := &ratings[s.at]
				rating.MilliElo = max(s.before+s.sum, arena.FloorRating)
				rating.Peak = max(rating.Peak, rating.MilliElo)
				rating.Matches++
			}
		}
	}
	byID := make(map[string]arena.Rating, len(ratings))
	for i := range ratings {
		byID[ratings[i].AgentID] = ratings[i]
	}
	return byID
}

// replayed is a seat of a replayed match.
type replayed struct {
	*arena.RatedSeat
	at     int // in the table of ratings
	before arena.MilliElo
	k      int
	sum    arena.MilliElo // of t_ij
	met    bool           // any opponent
}

func replay(seats []replayed) {
	for i := range seats {
		for j := i + 1; j < len(seats); j++ {
			low, high := &seats[i], &seats[j]
			if low.OwnerID != "" && low.OwnerID == high.OwnerID {
				continue
			}
			if low.before > high.before {
				low, high = high, low
			}
			surprise := float64(game(high.Place-low.Place))/2 - expected(high.before-low.before)
			low.sum += term(low.k, surprise, len(seats))
			high.sum += term(high.k, -surprise, len(seats))
			low.met, high.met = true, true
		}
	}
}
