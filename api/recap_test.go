package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

// wonBy returns a match that the first of some points won.
func wonBy(id string, rounds int, format arena.Format, points ...arena.Points) visibility.Match {
	m := arena.Match{ID: id, League: "quiz", Status: arena.MatchFinished, Round: rounds, Settings: arena.Settings{Format: format}}
	for i, p := range points {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: fmt.Sprint("ag_", i), Name: fmt.Sprint("A", i), Points: p, Place: i + 1, State: arena.SeatOut})
	}
	m.Seats[0].State = arena.SeatActive
	return visibilitytest.Match(m)
}

// Each rule has one match that it chooses, among others that come near.
func TestRecap_rules(t *testing.T) {
	t.Parallel()
	duel, out := arena.FormatLadder, arena.FormatElimination
	drawn := wonBy("m_drawn", 9, duel, 9000, 9000)
	drawn.Row().Seats[1].Place = 1 // shared with the first
	game := arena.Match{ID: "m_game", Status: arena.MatchFinished, Round: 9, Settings: arena.Settings{Game: &arena.GameSpec{}}, Seats: []arena.Seat{{Place: 1, Points: 9000}, {Place: 2, Points: 8500}}}
	two := wonBy("m_two", 9, out, 3000, 2000, 1000, 0)
	two.Row().Seats[1].State = arena.SeatActive // ended by its number of rounds
	var won []wonMatch
	for _, m := range []visibility.Match{
		drawn, visibilitytest.Match(game), two,
		wonBy("m_short", 4, duel, 4000, 0), wonBy("m_perfect", 6, duel, 6000, 1000), wonBy("m_earlier", 6, duel, 6000, 0), wonBy("m_five", 5, duel, 5000, 0),
		wonBy("m_far", 5, duel, 3500, 2000), wonBy("m_one", 8, duel, 5000, 4000), wonBy("m_half", 5, duel, 4000, 3500), wonBy("m_long", 7, duel, 4000, 3500),
		wonBy("m_small", 9, out, 8000, 7000, 0), wonBy("m_quick", 4, out, 4000, 3000, 0, 0), wonBy("m_last", 5, out, 4000, 4000, 0, 0),
	} {
		won = append(won, wonMatches([]visibility.Match{m})...)
	}
	h := &recapHandlers{visible: closedAt{seq: 77}}
	for want, rule := range map[string]func(context.Context, []wonMatch) (momentView, bool, error){
		"perfect m_perfect 0 0": perfect, "close m_long 0 0": closest, "last_standing m_last 5 77": h.lastStanding,
	} {
		v, ok, err := rule(t.Context(), won)
		if got := fmt.Sprint(v.Kind, " ", v.MatchID, " ", v.Round, " ", v.Seq); !ok || err != nil || got != want {
			t.Errorf("%s, %v, %v, want %s", got, ok, err, want)
		}
		if _, ok, err := rule(t.Context(), nil); ok || err != nil {
			t.Errorf("%s of no matches: %v, %v", want, ok, err)
		}
	}
}

// A comeback is measured after rounds, by the winner.
func TestRecap_comeback(t *testing.T) {
	t.Parallel()
	h := &recapHandlers{visible: closedAt{seq: 40, rounds: map[string]string{"m_a": "LLWWWW", "m_b": "LLLWWWW", "m_c": "LWLWWW"}}}
	var won []wonMatch
	for _, id := range []string{"m_c", "m_a", "m_b", "m_a"} {
		won = append(won, wonMatches([]visibility.Match{wonBy(id, 7, arena.FormatLadder, 4000, 3000)})...)
	}
	v, ok, err := h.comeback(t.Context(), won)
	if err != nil || !ok || v.MatchID != "m_b" || v.Round != 3 || v.Seq != 40 || *v.Behind != 3*arena.OnePoint || v.Agents[0].AgentID != "ag_0" {
		t.Errorf("%+v, %v, %v", v, ok, err)
	}
	if v, ok, err := h.comeback(t.Context(), won[:1]); ok || err != nil {
		t.Errorf("one point behind is a comeback: %+v, %v", v, err)
	}
}

// closedAt has matches with the rounds that the first agent won or lost, and one event.
type closedAt struct {
	Visible
	seq    int64
	rounds map[string]string
}

func (c closedAt) ClosedRounds(_ context.Context, m visibility.Match) (rounds []visibility.ClosedRound, err error) {
	for i, result := range c.rounds[m.ID] {
		r := visibility.ClosedRound{Round: arena.Round{No: i + 1}, Answers: []arena.Answer{{AgentID: "ag_0"}, {AgentID: "ag_1"}}}
		r.Answers[strings.IndexRune("WL", result)].Points = arena.OnePoint
		rounds = append(rounds, r)
	}
	return rounds, nil
}

func (c closedAt) Events(_ context.Context, _ visibility.Log, since int64, _ int) (events []arena.Event, err error) {
	if since > 0 {
		return nil, nil
	}
	for round := range 9 {
		events = append(events, arena.Event{Seq: c.seq, Round: round + 1, Type: arena.EventRoundClosed})
	}
	return events, nil
}

// The recap of a day names its neighbors; a win is an upset only beyond the error of
// both ratings.
func TestAPI_recap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	if r := w.do("GET", "/v1/recap", "", nil).is(200); r.at("day") != nil || len(r.at("moments").([]any)) > 0 {
		t.Errorf("an arena without matches: %s", r.body)
	}
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	w.settleBy(b, a, 200_000)
	w.settle(a, b) // against 400 points more, in the second match of both
	if r := w.do("GET", "/v1/recap?day=2025-06-01", "", nil).is(200); r.at("matches") != 2.0 || len(r.at("moments").([]any)) > 0 {
		t.Errorf("within the error of the ratings: %s", r.body)
	}
	w.settleBy(b, a, 300_000)
	id := w.settle(a, b) // against 960 points more
	running := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	w.play(running)
	r := w.do("GET", "/v1/recap", "", nil).is(200)
	if r.at("day") != "2025-06-01" || r.at("matches") != 4.0 || r.at("earlier") != nil || r.at("moments.0.match_id") != id ||
		r.at("moments.0.kind") != "upset" || r.at("moments.0.chance") != 0.004 || r.at("moments.0.agents.0.agent_id") != a {
		t.Errorf("the last day: %s", r.body)
	}
	lobby := w.do("GET", "/v1/lobby", "", nil).is(200)
	if upsets := lobby.at("upsets").([]any); len(upsets) != 1 || lobby.at("upsets.0.match.match_id") != id || lobby.at("upsets.0.winner") != a || lobby.at("upsets.0.chance") != 0.004 {
		t.Errorf("the lobby: %v", upsets)
	}
	if got := r.header.Get("Cache-Control"); got != "public, max-age=60" {
		t.Errorf("Cache-Control %q", got)
	}
	if r := w.do("GET", "/v1/recap?day=2025-05-31", "", nil).is(200); r.at("later") != "2025-06-01" || r.at("earlier") != nil {
		t.Errorf("the day before: %s", r.body)
	}
	if r := w.do("GET", "/v1/recap?day=2025-06-02", "", nil).is(200); r.at("earlier") != "2025-06-01" || r.at("later") != nil {
		t.Errorf("the day after: %s", r.body)
	}
	for query, field := range map[string]string{
		"day=2025-02-30": "day", "day=yesterday": "day", "day=0001-01-01": "day", "day=2025-06-01T00:00": "day",
		"league=quiz": "season", "season=1": "league", "league=quiz&season=1&day=2025-06-01": "day",
	} {
		if r := w.do("GET", "/v1/recap?"+query, "", nil).is(422); !strings.Contains(string(r.body), `"`+field+`"`) {
			t.Errorf("%s: %s", query, r.body)
		}
	}
	w.do("GET", "/v1/recap?league=quiz&season=1", "", nil).is(404)
}
