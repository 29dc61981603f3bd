package format

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

func TestGauntlet(t *testing.T) {
	t.Parallel()
	late := field(5)
	late[0].Round = 2 // the best has come too late to be the champion
	withdrawn := field(3)
	withdrawn[2].WithdrawnRound = 1
	tests := []struct {
		name     string
		entrants []arena.Entrant
		options  arena.FormatOptions
		want     []string // rank, agent, wins, played
	}{
		{
			"the highest rated", field(4),
			arena.FormatOptions{},
			[]string{"1 agent001 3/3", "2 agent002 0/1", "3 agent003 0/1", "4 agent004 0/1"},
		},
		{
			"the champion of the options, ranked by its share",
			field(4),
			arena.FormatOptions{Champion: agent(3)},
			[]string{"1 agent001 1/1", "2 agent002 1/1", "3 agent003 1/3", "4 agent004 0/1"},
		},
		{
			"a late joiner", late,
			arena.FormatOptions{},
			[]string{"1 agent001 1/1", "2 agent002 3/4", "3 agent003 0/1", "4 agent004 0/1", "5 agent005 0/1"},
		},
		{
			"a withdrawn challenger", withdrawn,
			arena.FormatOptions{Champion: agent(2)},
			[]string{"1 agent001 1/1", "2 agent002 1/2", "3 agent003 0/1"},
		},
		{"alone", field(1), arena.FormatOptions{}, []string{"1 agent001 0/0"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newPlayed(arena.FormatGauntlet, tc.entrants, tc.options)
			p.finish(t, byStrength)
			var got []string
			for _, r := range p.table(p.State) {
				got = append(got, fmt.Sprintf("%d %s %d/%d", r.Rank, r.AgentID, r.Wins, r.Played))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestGauntlet_late: a challenger that joins while others play takes a new
// place, whatever its rating.
func TestGauntlet_late(t *testing.T) {
	t.Parallel()
	p := newPlayed(arena.FormatGauntlet, field(3), arena.FormatOptions{})
	p.Pairings = p.next(t).Pairings
	for i, rating := range []arena.MilliElo{1, 9_000_000} { // both in round 2, the better one later
		p.Season.Entrants = append(p.Season.Entrants, arena.Entrant{AgentID: fmt.Sprint("late", i), Rating: rating, Round: 2})
		step := p.next(t)
		p.Pairings = append(p.Pairings, step.Pairings...)
		if len(step.Pairings) != 1 || step.Pairings[0].Agents[0] != agent(1) || step.Pairings[0].Slot != i+1 {
			t.Fatalf("a late joiner: %+v", step.Pairings)
		}
	}
	p.Pairings[0].Result = arena.PairingVoid
	if again := p.next(t).Pairings; len(again) != 1 || again[0].Round != 1 || again[0].Slot != 1 || again[0].Game != 2 {
		t.Errorf("a void game: %+v", again)
	}
}
