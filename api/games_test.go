package api

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_Games(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.do("POST", "/v1/games", w.admin, tossNamed("toss")).is(201)
	again := w.do("POST", "/v1/games", w.admin, tossNamed("toss")).is(201)
	if first.str("name") != "toss" || first.str("version") != "1" || len(first.str("sha256")) != 64 || again.str("sha256") != first.str("sha256") || again.str("created_at") != first.str("created_at") {
		t.Errorf("%s, again %s", first.body, again.body)
	}
	var form bytes.Buffer
	fw := multipart.NewWriter(&form)
	part, err := fw.CreateFormFile("file", "flip.js")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(tossNamed("flip")))
	_ = fw.Close()
	if r := w.do("POST", "/v1/games", w.admin, form.String(), "Content-Type", fw.FormDataContentType()).is(201); r.str("name") != "flip" {
		t.Errorf("a form: %s", r.body)
	}
	if r := w.do("POST", "/v1/games", w.admin, "throw new Error('threw an error')").is(422); !strings.Contains(string(r.body), "threw an error") {
		t.Errorf("%s", r.body)
	}
	w.do("POST", "/v1/games", w.admin, strings.Repeat(" ", maxGameBody+1)).is(413)
	if r := w.do("GET", "/v1/games/toss", "", nil).is(200); r.str("source") != tossNamed("toss") {
		t.Errorf("%s", r.body)
	}
	w.do("GET", "/v1/games/toss?sha256="+first.str("sha256"), "", nil).is(200)
	w.do("GET", "/v1/games/toss?sha256=00", "", nil).is(404)
	w.do("GET", "/v1/games/chess", "", nil).is(404)
	list := string(w.do("GET", "/v1/games", "", nil).is(200).body)
	for _, want := range []string{`"name":"connect_four"`, `"options":[]`, `"versions":[]`, first.str("sha256")} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in %s", want, list)
		}
	}
}

// The table of a league of games and the pages of its agents show how games ended,
// and what it is worth to move first.
func TestAPI_gameResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("POST", "/v1/leagues", w.admin, object{"slug": "fours", "title": "Fours", "game": object{"name": "connect_four"}, "time_limit_seconds": 5, "rated": true}).is(201)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "fours"), w.agent(w.bob, "b", "fours")
	table := "/v1/leagues/fours/standings"
	for _, path := range []string{table, "/v1/leagues/quiz/standings"} {
		if r := w.do("GET", path, "", nil).is(200); strings.Contains(string(r.body), `"games"`) || strings.Contains(string(r.body), `"first_mover"`) {
			t.Errorf("no game has ended: %s", r.body)
		}
	}
	lease, m := w.play(w.do("POST", "/v1/matches", w.admin, object{"league": "fours", "agents": []string{a, b}}).is(201).str("match_id"))
	record := func(agent string, order arena.TurnOrder, end arena.GameEnd, cause arena.RoundResult, win bool) arena.GameRecord {
		r := arena.GameRecord{AgentID: agent, Order: order, End: end, Cause: cause, GameScore: arena.GameScore{Games: 1, Losses: 1}}
		if win {
			r.GameScore = arena.GameScore{Games: 1, Wins: 1, Points: arena.OnePoint}
		}
		return r
	}
	result := arena.Result{MatchID: m.ID, League: "fours", Seats: m.Seats, Games: []arena.GameRecord{
		record(a, arena.MovedFirst, arena.GamePlayedOut, "", true), record(b, arena.MovedLater, arena.GamePlayedOut, "", false),
		record(a, arena.MovedLater, arena.GameForfeit, arena.ResultIllegal, false), record(b, arena.MovedFirst, arena.GameForfeit, "", true),
	}}
	if _, err := w.store.Matches.Settle(t.Context(), lease, result, testNow, nil, func([]arena.RatingChange) (arena.Event, error) {
		return arena.Event{MatchID: m.ID, At: testNow, Type: arena.EventMatchFinished, Body: json.RawMessage(`{}`)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	const tally = `{"all":{"games":2,"wins":1,"draws":0,"losses":1,"points":1},"played_out":{"games":1,"wins":1,"draws":0,"losses":0,"points":1},` +
		`"default_moves":0,"forfeits_won":0,"forfeits_lost":1,"illegal_moves":1,"timeouts":0,"no_shows":0,"faults":0}`
	w.run([]scenario{
		{name: "table", method: "GET", path: table, status: 200, says: `"games":` + tally},
		{name: "ratings stay", method: "GET", path: table, status: 200, says: `"rating":1500.000,"rated_matches":0`},
		{name: "first mover", method: "GET", path: table, status: 200, says: `"first_mover":{"all":{"first":{"games":2,"won":{"share":1,"low":0.34`},
		{name: "first mover in games that were played out", method: "GET", path: table, status: 200, says: `"played_out":{"first":{"games":1,"won":{"share":1,"low":0.20`},
		{name: "agent", method: "GET", path: "/v1/agents/" + a + "/outcomes", status: 200, says: `"games":[{"league":"fours","games":` + tally + `}]`},
		{name: "an agent without games", method: "GET", path: "/v1/agents/" + w.agent(w.bob, "c", "quiz") + "/outcomes", status: 200, says: `"games":[]`},
	})
	// A frozen league hides them with its table.
	w.do("POST", "/v1/leagues/fours/start", w.admin, nil).is(200)
	w.do("POST", "/v1/leagues/fours/freeze", w.admin, nil).is(200)
	if r := w.do("GET", table, "", nil).is(200); strings.Contains(string(r.body), `"first_mover"`) || strings.Contains(string(r.body), `"games"`) {
		t.Errorf("frozen: %s", r.body)
	}
}
