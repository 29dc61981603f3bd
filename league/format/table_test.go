package format

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// result is a decided pairing.
func result(round, slot int, a, b int, score arena.Points) arena.Pairing {
	return arena.Pairing{
		Round: round, Slot: slot, Game: 1, Agents: []string{agent(a), agent(b)},
		Result: arena.PairingPlayed, Scores: []arena.Points{score, won - score},
	}
}

func bye(round, slot, a int) arena.Pairing {
	return arena.Pairing{
		Round: round, Slot: slot, Game: 1, Agents: []string{agent(a)}, Result: arena.PairingBye, Scores: []arena.Points{won},
	}
}

// line is what a test looks at of a table: agent, rank, score, tie-breaks.
type line struct {
	Agent  string
	Rank   int
	Score  arena.Points
	Breaks []arena.Points
}

func lines(rows []arena.TableRow) (all []line) {
	for _, r := range rows {
		l := line{Agent: r.AgentID, Rank: r.Rank, Score: r.Score}
		for _, b := range r.TieBreaks {
			if b.Name != "rating" {
				l.Breaks = append(l.Breaks, b.Value)
			}
		}
		all = append(all, l)
	}
	return all
}

func TestSwissTable(t *testing.T) {
	t.Parallel()
	equal := func(n int) []arena.Entrant {
		entrants := field(n)
		for i := range entrants {
			entrants[i].Rating = arena.StartRating
		}
		return entrants
	}
	late := field(3)
	late[2].Round = 2
	for _, tc := range []struct {
		name     string
		entrants []arena.Entrant
		pairings []arena.Pairing
		want     []line // Buchholz cut 1, Buchholz, direct, Sonneborn–Berger
	}{
		{"nobody has played", equal(2), nil, []line{
			{agent(1), 1, 0, []arena.Points{0, 0, 0, 0}},
			{agent(2), 1, 0, []arena.Points{0, 0, 0, 0}},
		}},
		{
			// The bye of 3 is a loss of 0 points that draws then: 500. For 1 it is
			// a draw.
			"byes", field(3),
			[]arena.Pairing{result(1, 1, 1, 2, won), bye(1, 2, 3), result(2, 1, 1, 3, won), bye(2, 2, 2)},
			[]line{
				{agent(1), 1, 2000, []arena.Points{500, 1000, 0, 1000}},
				{agent(3), 2, 1000, []arena.Points{2000, 2500, 0, 500}},
				{agent(2), 3, 1000, []arena.Points{2000, 2000, 0, 0}},
			},
		},
		{
			// 3 was not there: that brings it nothing, and half a point to 1.
			"a late joiner", late,
			[]arena.Pairing{result(1, 1, 1, 2, won), result(2, 1, 3, 1, won), bye(2, 2, 2)},
			[]line{
				{agent(1), 1, 1000, []arena.Points{1500, 2000, 0, 500}},
				{agent(3), 2, 1000, []arena.Points{1000, 1000, 0, 1000}},
				{agent(2), 3, 1000, []arena.Points{1000, 1000, 0, 0}},
			},
		},
		{
			"direct meetings", field(4),
			[]arena.Pairing{
				result(1, 1, 2, 1, won), result(1, 2, 4, 3, won),
				result(2, 1, 2, 4, won), result(2, 2, 1, 3, won),
				result(3, 1, 2, 3, lost), result(3, 2, 1, 4, won),
			},
			[]line{
				{agent(2), 1, 2000, []arena.Points{3000, 4000, 1000, 3000}},
				{agent(1), 2, 2000, []arena.Points{3000, 4000, 0, 2000}},
				{agent(4), 3, 1000, []arena.Points{4000, 5000, 1000, 1000}},
				{agent(3), 4, 1000, []arena.Points{4000, 5000, 0, 2000}},
			},
		},
		{
			"equals that have not met share a rank", equal(4),
			[]arena.Pairing{result(1, 1, 1, 3, won), result(1, 2, 4, 2, lost)},
			[]line{
				{agent(1), 1, 1000, []arena.Points{0, 0, 0, 0}},
				{agent(2), 1, 1000, []arena.Points{0, 0, 0, 0}},
				{agent(3), 3, 0, []arena.Points{0, 1000, 0, 0}},
				{agent(4), 3, 0, []arena.Points{0, 1000, 0, 0}},
			},
		},
		{
			"what is open does not count", field(2),
			[]arena.Pairing{{Round: 1, Slot: 1, Game: 1, Agents: []string{agent(1), agent(2)}}},
			[]line{
				{agent(1), 1, 0, []arena.Points{0, 0, 0, 0}},
				{agent(2), 2, 0, []arena.Points{0, 0, 0, 0}},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := newSwiss(tc.entrants, 3)
			p.Pairings = tc.pairings
			if d := cmp.Diff(tc.want, lines(swissTable(p.State))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSwissTable_forfeit(t *testing.T) {
	t.Parallel()
	p := newSwiss(field(2), 1)
	q := result(1, 1, 1, 2, lost)
	q.Result = arena.PairingForfeit
	p.Pairings = []arena.Pairing{q}
	// A forfeit is no meeting.
	want := []line{
		{agent(2), 1, 1000, []arena.Points{0, 0, 0, 0}},
		{agent(1), 2, 0, []arena.Points{0, 0, 0, 0}},
	}
	rows := swissTable(p.State)
	if d := cmp.Diff(want, lines(rows)); d != "" {
		t.Error(d)
	}
	if rows[1].Forfeits != 1 || rows[0].Wins != 1 {
		t.Errorf("%+v", rows)
	}
}

// TestTurns_direct counts meetings among equals only where all have met.
func TestTurns_direct(t *testing.T) {
	t.Parallel()
	met := turns{agent(1): {{opponent: agent(2), score: won}}, agent(2): {{opponent: agent(1)}}, agent(3): {{}}}
	rows := []arena.TableRow{{AgentID: agent(1), Rank: 1}, {AgentID: agent(2), Rank: 1}, {AgentID: agent(3), Rank: 3}}
	if got := met.direct(rows); got[agent(1)] != won || got[agent(2)] != lost {
		t.Errorf("two that have met: %v", got)
	}
	rows[2].Rank = 1
	if got := met.direct(rows); got[agent(1)] != 0 {
		t.Errorf("three that have not all met: %v", got)
	}
}
