package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// meeting is a match of two agents of one round, or of a game.
type meeting struct {
	league, a, b string
	topic        string
	turn         string // observation of the last turn; "": none
	points       [2]arena.Points
	running      bool // it does not end
}

// meet plays a meeting in the store.
func (w *world) meet(no int, m meeting) {
	w.t.Helper()
	none := func([]arena.Event) ([]arena.Event, error) { return nil, nil }
	id := fmt.Sprintf("m_%04d", no)
	match := arena.Match{ID: id, League: m.league, CreatedAt: testNow, Seats: []arena.Seat{{No: 0, AgentID: m.a, State: arena.SeatActive}, {No: 1, AgentID: m.b, State: arena.SeatActive}}}
	_, err := w.store.Matches.CreateMatch(w.t.Context(), match, arena.Event{At: testNow, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)})
	w.ok(err)
	claimed, err := w.store.Matches.ClaimMatches(w.t.Context(), "nd_runner", time.Minute, 1, nil)
	w.ok(err)
	match = claimed[0]
	round := arena.Round{MatchID: id, No: 1, OpenedAt: testNow, Task: arena.Task{Description: "?", Topic: m.topic, Source: "pk/" + id}}
	if m.turn != "" {
		round.Task = arena.Task{Source: arena.GameSource + "connect_four"}
		round.Turn = arena.Turn{Prompts: []arena.Prompt{{Observation: json.RawMessage(m.turn)}}}
	}
	_, err = w.store.Matches.StartMatch(w.t.Context(), match.Lease, match.Seats, testNow, &round, nil)
	w.ok(err)
	var answers []arena.Answer
	for i := range match.Seats {
		s := &match.Seats[i]
		a := arena.Answer{MatchID: id, Round: 1, AgentID: s.AgentID, Outcome: arena.OutcomeAnswered, Attempts: 1, Body: &arena.AnswerBody{Answer: "x"}}
		_, err = w.store.Matches.SaveAnswer(w.t.Context(), match.Lease, a, nil, nil)
		w.ok(err)
		s.Points, a.Points, a.Judged = m.points[i], m.points[i], true
		answers = append(answers, a)
	}
	_, err = w.store.Matches.CloseRound(w.t.Context(), match.Lease, arena.RoundClose{Round: 1, Seats: match.Seats, Answers: answers}, none)
	w.ok(err)
	if m.running {
		return
	}
	_, err = w.store.Matches.Settle(w.t.Context(), match.Lease, arena.Result{MatchID: id, League: m.league, Seats: match.Seats}, testNow, nil,
		func([]arena.RatingChange) (arena.Event, error) {
			return arena.Event{MatchID: id, At: testNow, Type: arena.EventMatchFinished, Body: json.RawMessage(`{}`)}, nil
		})
	w.ok(err)
}

// Twelve rounds of twelve are better; from the other side they are worse. What runs,
// and what a frozen table hides, does not show. Threat F1.
func TestAPI_comparison(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	address := func(a, b string) string { return "/v1/leagues/quiz/comparison?a=" + a + "&b=" + b }
	w.meet(100, meeting{league: "quiz", a: a, b: b, points: [2]arena.Points{arena.OnePoint, 0}, running: true})
	want := `"verdict":"too_few","reason":"no_matches","p":1,"matches":0,"tasks":0,"won":0,"even":0,"lost":0,"elo":{"mean":null,"low":null,"high":null},` +
		`"league":"quiz","a":"` + a + `","b":"` + b + `","unit":"round","needed":{"elo":50,"matches":385},"topics":[],"sides":[]`
	if body := string(w.do("GET", address(a, b), "", nil).is(200).body); !strings.Contains(body, want) {
		t.Errorf("of a running match: %s\nwant %s", body, want)
	}
	for i := range 12 {
		m := meeting{league: "quiz", a: a, b: b, topic: "sums", points: [2]arena.Points{arena.OnePoint, 500}}
		if i%2 == 0 { // the other way around
			m.a, m.b, m.points = b, a, [2]arena.Points{500, arena.OnePoint}
		}
		if i < 2 {
			m.topic = "maths"
		}
		w.meet(i, m)
	}
	type part struct {
		Name    string
		Verdict string
		Reason  string
		Matches int
	}
	type comparison struct {
		part
		P      float64
		Tasks  int
		Won    int
		Lost   int
		Elo    struct{ Mean, Low, High *float64 }
		Topics []part
		Sides  []part
	}
	c := into[comparison](w.do("GET", address(a, b), "", nil).is(200))
	if c.Verdict != "better" || c.Matches != 12 || c.Tasks != 12 || c.Won != 12 || c.P <= 0 || c.P > 0.001 || c.Elo.High != nil || c.Elo.Low == nil || *c.Elo.Low < 100 || *c.Elo.Mean < *c.Elo.Low {
		t.Errorf("%+v", c)
	}
	if len(c.Topics) != 2 || c.Topics[0] != (part{"sums", "better", "", 10}) || c.Topics[1] != (part{"maths", "too_few", "few_matches", 2}) || len(c.Sides) != 0 {
		t.Errorf("topics %+v, sides %+v", c.Topics, c.Sides)
	}
	if back := into[comparison](w.do("GET", address(b, a), "", nil).is(200)); back.Verdict != "worse" || back.Lost != 12 || back.P != c.P || *back.Elo.High != -*c.Elo.Low {
		t.Errorf("%+v", back)
	}

	w.run([]scenario{
		{name: "no league", method: "GET", path: "/v1/leagues/none/comparison?a=" + a + "&b=" + b, status: 404, code: arena.CodeNotFound},
		{name: "no agent a", method: "GET", path: address("ag_none", b), status: 422, code: arena.CodeInvalid, fields: []string{"a"}},
		{name: "no agent b", method: "GET", path: address(a, "ag_none"), status: 422, code: arena.CodeInvalid, fields: []string{"b"}},
		{name: "itself", method: "GET", path: address(a, a), status: 422, code: arena.CodeInvalid, fields: []string{"b"}},
		{name: "half", method: "GET", path: "/v1/leagues/quiz/comparison?a=" + a, status: 422, code: arena.CodeInvalid, fields: []string{"b"}},
		{name: "long", method: "GET", path: address(a, strings.Repeat("x", 65)), status: 422, code: arena.CodeInvalid, fields: []string{"b"}},
	})
	for _, action := range []string{"start", "freeze"} {
		w.do("POST", "/v1/leagues/quiz/"+action, w.admin, nil).is(200)
	}
	if hidden := into[comparison](w.do("GET", address(a, b), w.alice, nil).is(200)); hidden.Reason != "frozen" || hidden.Matches != 0 || hidden.Won != 0 || len(hidden.Topics) != 0 {
		t.Errorf("a frozen league shows %+v", hidden)
	}
	if c := into[comparison](w.do("GET", address(a, b), w.admin, nil).is(200)); c.Verdict != "better" {
		t.Errorf("an admin of a frozen league sees %+v", c)
	}
}

// Of a match of games each game counts, on the side on which it was played.
func TestAPI_comparison_games(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("POST", "/v1/leagues", w.admin, object{"slug": "fours", "title": "Fours", "game": object{"name": "connect_four"}, "time_limit_seconds": 5, "rated": true}).is(201)
	a, b := w.agent(w.alice, "a", "fours"), w.agent(w.bob, "b", "fours")
	for i := range 12 { // a wins as player 0, and draws as player 1
		w.meet(i, meeting{
			league: "fours", a: a, b: b, points: [2]arena.Points{1500, 500},
			turn: `{"series":{"game":2,"games":2,"you":0,"earlier":[{"you":1,"points":[1,0],"moves":[]}]}}`,
		})
	}
	body := string(w.do("GET", "/v1/leagues/fours/comparison?a="+a+"&b="+b, "", nil).is(200).body)
	for _, want := range []string{
		`"verdict":"better"`, `"matches":12,"tasks":0,"won":12,"even":12,"lost":0`, `"unit":"game"`, `"topics":[]`,
		`"sides":[{"name":"first","verdict":"better"`, `{"name":"second","verdict":"too_few","reason":"all_even"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}
