package scoring_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/scoring"
)

// settledOneByOne rates results as settlements do.
func settledOneByOne(results []arena.RatedResult) map[string]arena.Rating {
	ratings := map[string]arena.Rating{}
	for _, r := range results {
		var seats []arena.Seat
		var answers []arena.Answer
		for _, s := range r.Seats {
			seats = append(seats, arena.Seat{AgentID: s.AgentID, OwnerID: s.OwnerID, State: arena.SeatActive})
			answers = append(answers, arena.Answer{
				AgentID: s.AgentID, Round: 1, Outcome: arena.OutcomeAnswered, Points: 1000 - arena.Points(s.Place),
			})
		}
		for _, c := range scoring.Rate(rated, seats, answers, ratings) {
			was, known := ratings[c.AgentID]
			if !known {
				was = arena.NewRating("", c.AgentID)
			}
			was.MilliElo, was.Peak, was.Matches = c.After, max(was.Peak, c.After), c.Matches
			ratings[c.AgentID] = was
		}
	}
	return ratings
}

// TestReplay: a replay from places gives what the settlements gave, match by
// match, where all rounds count for all.
func TestReplay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		results := drawResults(t)
		got := scoring.Replay(results)
		for id, r := range got {
			if r.Matches == 0 { // met only agents of its owner
				delete(got, id)
			}
		}
		if d := cmp.Diff(settledOneByOne(results), got); d != "" {
			t.Fatal(d)
		}
	})
}

// To the floor, and above the peak from which K is 10.
func TestReplay_far(t *testing.T) {
	t.Parallel()
	var results []arena.RatedResult
	for i := range 40_000 {
		results = append(results, duel(fmt.Sprint(i), "last", false), duel("first", fmt.Sprint(i), false))
	}
	got := scoring.Replay(results)
	if got["last"].MilliElo != arena.FloorRating || got["first"].Peak < 2_400_000 {
		t.Errorf("first %+v, last %+v", got["first"], got["last"])
	}
	if d := cmp.Diff(settledOneByOne(results), got); d != "" {
		t.Error(d)
	}
}
