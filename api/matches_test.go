package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
)

// The service tests every rule; here each kind of refusal has one case.
func TestAPI_createMatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	w.league("table", object{"format": "elimination", "min_seats": 3, "max_seats": 4, "rated": false})
	w.league("over", nil)
	w.do("POST", "/v1/leagues/over/finish", w.admin, nil).is(200)
	a, b := w.agent(w.alice, "a", "quiz", "table"), w.agent(w.bob, "b", "quiz", "table")
	other := w.agent(w.bob, "c", "table")
	paused := w.agent(w.bob, "d", "quiz")
	w.do("POST", "/v1/agents/"+paused+"/pause", w.bob, nil).is(200)
	later := testNow.Add(time.Hour).Format(time.RFC3339)

	post := func(name string, body object, status int, code arena.Code, says string, fields ...string) scenario {
		if body["league"] == nil {
			body["league"] = "quiz"
		}
		return scenario{name: name, method: "POST", path: "/v1/matches", token: w.admin, body: body, status: status, code: code, says: says, fields: fields}
	}
	seats := func(ids ...string) object { return object{"agents": ids} }
	with := func(o object, more object) object {
		maps.Copy(o, more)
		return o
	}
	w.run([]scenario{
		post("duel at once", seats(a, b), 201, "", `"status":"scheduled","rated":true`),
		post("later, with a paused agent", with(seats(a, paused), object{"starts_at": later}), 201, "", `"starts_at":"2025-06-01T13:00:00.000Z","started_at":null,"finished_at":null`),
		post("unrated, one round", with(seats(a, b), object{"rated": false, "rounds": 1}), 201, "", `"total_rounds":1`),
		post("one seat", seats(a), 422, arena.CodeInvalid, ">= 2", "agents"),
		post("two seats at a table of three", with(seats(a, b), object{"league": "table"}), 422, arena.CodeInvalid, "3 to 4 seats", "agents"),
		post("table", with(seats(a, b, other), object{"league": "table"}), 201, "", `"rated":false`),
		post("one agent twice", seats(a, a), 422, arena.CodeInvalid, "has a seat", "agents[1]"),
		post("paused agent", seats(a, paused), 422, arena.CodeAgentNotReady, "paused (owner)", "agents[1]"),
		post("finished league", with(seats(a, b), object{"league": "over"}), 409, arena.CodeConflict, "finished"),
		post("not a time", with(seats(a, b), object{"starts_at": "tomorrow"}), 422, arena.CodeInvalid, "", "starts_at"),
		post("no rounds", with(seats(a, b), object{"rounds": 0}), 422, arena.CodeInvalid, "", "rounds"),
	})
	types := w.pub.types()
	if n := len(types); n != 5 || types[n-1] != arena.EventMatchScheduled {
		t.Errorf("published %v, want one pause and four match_scheduled", types)
	}
	last := w.pub.events[len(w.pub.events)-1]
	var body arena.MatchScheduledBody
	if err := json.Unmarshal(last.Body, &body); err != nil || last.Seq != 1 || len(body.Seats) != 3 || body.Seats[0].Name != "a" {
		t.Errorf("event %+v: %v", last, err)
	}
}

// Threat G1: a match that is not rated says why.
func TestAPI_unratedReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	agent := func(token, name, host string) string {
		return w.do("POST", "/v1/agents", token, object{"name": name, "endpoint": "https://" + host + "/?plays=quiz", "leagues": []string{"quiz"}}).is(201).str("agent_id")
	}
	a, b := agent(w.alice, "a", "shared.example"), agent(w.bob, "b", "shared.example")
	twin, other := w.agent(w.alice, "twin", "quiz"), w.agent(w.bob, "other", "quiz")
	post := func(a, b string, edit object) response {
		body := object{"league": "quiz", "agents": []string{a, b}, "starts_at": testNow.Add(time.Hour).Format(time.RFC3339)}
		maps.Copy(body, edit)
		return w.do("POST", "/v1/matches", w.admin, body).is(201)
	}
	for want, r := range map[string]response{
		`"rated":false,"unrated_reason":"shared_endpoint"`: post(a, b, nil),
		`"rated":false,"unrated_reason":"same_owner"`:      post(a, twin, nil),
		`"rated":false,"unrated_reason":"request"`:         post(a, other, object{"rated": false}),
	} {
		reason := r.str("unrated_reason")
		if got := fmt.Sprintf(`"rated":%v,"unrated_reason":%q`, r.at("rated"), reason); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if r := w.do("GET", "/v1/matches/"+r.str("match_id"), "", nil).is(200); r.str("unrated_reason") != reason {
			t.Errorf("the match says %q, not %q", r.str("unrated_reason"), reason)
		}
		if r := w.do("GET", "/v1/matches/"+r.str("match_id")+"/events", "", nil).is(200); !strings.Contains(string(r.body), want) {
			t.Errorf("the log lacks %s: %s", want, r.body)
		}
	}
}

func TestAPI_listMatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b, c := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz"), w.agent(w.bob, "c", "quiz")
	schedule := func(x, y string) string {
		w.now.Add(1) // newest first is by the millisecond
		return w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{x, y}}).is(201).str("match_id")
	}
	first, second := schedule(a, b), schedule(a, c)
	w.do("POST", "/v1/matches/"+first+"/cancel", w.admin, object{"reason": "rain"}).is(200)
	list := func(path string) string {
		t.Helper()
		var ids []string
		for _, m := range w.do("GET", path, "", nil).is(200).at("items").([]any) {
			ids = append(ids, m.(object)["match_id"].(string))
		}
		return strings.NewReplacer(first, "first", second, "second").Replace(strings.Join(ids, " "))
	}
	for path, want := range map[string]string{
		"/v1/matches":                                    "second first",
		"/v1/matches?league=quiz":                        "second first",
		"/v1/matches?league=none":                        "",
		"/v1/matches?agent=" + b:                         "first",
		"/v1/matches?status=cancelled":                   "first",
		"/v1/matches?status=scheduled,cancelled":         "second first",
		"/v1/matches?status=live":                        "",
		"/v1/leagues/quiz/matches?status=scheduled":      "second",
		"/v1/agents/" + c + "/matches":                   "second",
		"/v1/agents/" + c + "/matches?status=cancelled":  "",
		"/v1/matches?agent=" + a + "&opponent=" + c:      "second",
		"/v1/matches?agent=" + b + "&opponent=" + c:      "",
		"/v1/matches?q=C":                                "second",
		"/v1/matches?q=nobody":                           "",
		"/v1/matches?order=soonest":                      "first second",
		"/v1/matches?from=2025-06-01T12:00:00.002Z":      "second",
		"/v1/matches?to=2025-06-01T14:00:00.002%2B02:00": "first",
		"/v1/matches?limit=1&order=soonest&cursor=" + w.do("GET", "/v1/matches?limit=1&order=soonest", "", nil).is(200).str("next_cursor"): "second",
	} {
		if got := list(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	w.run([]scenario{
		{name: "unknown status", method: "GET", path: "/v1/matches?status=lost", status: 422, code: arena.CodeInvalid, fields: []string{"status[0]"}},
		{name: "opponent of nobody", method: "GET", path: "/v1/matches?opponent=" + b, status: 422, code: arena.CodeInvalid, says: "needs agent", fields: []string{"opponent"}},
		{name: "no time", method: "GET", path: "/v1/matches?from=today", status: 422, code: arena.CodeInvalid, fields: []string{"from"}},
		{name: "unknown order", method: "GET", path: "/v1/matches?order=oldest", status: 422, code: arena.CodeInvalid, fields: []string{"order"}},
		{name: "long text", method: "GET", path: "/v1/matches?q=" + strings.Repeat("x", 41), status: 422, code: arena.CodeInvalid, fields: []string{"q"}},
		{name: "cursor of another order", method: "GET", path: "/v1/matches?order=soonest&cursor=bTptXzE", status: 422, code: arena.CodeInvalid, fields: []string{"cursor"}},
		{name: "unknown league", method: "GET", path: "/v1/leagues/none/matches", status: 404, code: arena.CodeNotFound},
		{name: "unknown match", method: "GET", path: "/v1/matches/m_none", status: 404, code: arena.CodeNotFound},
		{name: "unknown match's events", method: "GET", path: "/v1/matches/m_none/events", status: 404, code: arena.CodeNotFound},
		{name: "unknown match's rounds", method: "GET", path: "/v1/matches/m_none/rounds", status: 404, code: arena.CodeNotFound},
		{name: "cancel again", method: "POST", path: "/v1/matches/" + first + "/cancel", token: w.admin, status: 409, code: arena.CodeConflict},
		{name: "void what is over", method: "POST", path: "/v1/matches/" + first + "/void", token: w.admin, status: 409, code: arena.CodeConflict},
		{name: "why", method: "GET", path: "/v1/matches/" + first, status: 200, says: `"void_reason":"rain","void_code":"operator"`},
		{name: "a snapshot has the parts of the contract", method: "GET", path: "/v1/matches/" + first, status: 200, says: `"match":{"match_id":"` + first},
		{name: "a snapshot has points by agent", method: "GET", path: "/v1/matches/" + first, status: 200, says: `"` + a + `":0`},
		{name: "void", method: "POST", path: "/v1/matches/" + second + "/void", token: w.admin, status: 200, says: `"status":"void"`},
		{name: "why without words", method: "GET", path: "/v1/matches/" + second, status: 200, says: `"void_reason":"voided by an admin","void_code":"voided_by_admin"`},
		{name: "a reason with a line break", method: "POST", path: "/v1/matches/" + second + "/void", token: w.admin, body: object{"reason": "a\nb"}, status: 422, code: arena.CodeInvalid, fields: []string{"reason"}},
	})
}

// play opens a round of a scheduled match, in which the first seat answers.
// What is secret until the round closes has "SECRET" in it.
func (w *world) play(id string) (arena.Lease, arena.Match) {
	w.t.Helper()
	claimed, err := w.store.Matches.ClaimMatches(w.t.Context(), "nd_runner", time.Minute, 1, nil)
	if err != nil || len(claimed) != 1 || claimed[0].ID != id {
		w.t.Fatalf("claimed %v, %v", claimed, err)
	}
	m := claimed[0]
	if _, err := w.store.Matches.StartMatch(w.t.Context(), m.Lease, m.Seats, testNow, nil, nil); err != nil {
		w.t.Fatal(err)
	}
	round := arena.Round{
		MatchID: id, No: 1, OpenedAt: testNow,
		Task: arena.Task{ID: "tk_1", Description: "What is asked?", Answers: []string{"SECRET right"}, InputFormat: "string", OutputFormat: "string", Options: w.options},
	}
	started := arena.Event{MatchID: id, Round: 1, At: testNow, Type: arena.EventRoundStarted, Body: json.RawMessage(`{"task":{"description":"What is asked?"}}`)}
	if _, err := w.store.Matches.OpenRound(w.t.Context(), m.Lease, round, []arena.Event{started}); err != nil {
		w.t.Fatal(err)
	}
	agent := m.Seats[0].AgentID
	answer := arena.Answer{
		MatchID: id, Round: 1, AgentID: agent, Outcome: arena.OutcomeAnswered, Elapsed: 4200 * time.Millisecond, Attempts: 1,
		Body: &arena.AnswerBody{Answer: "SECRET reply", Reasoning: "SECRET thought"},
	}
	outcome := arena.Event{
		MatchID: id, Round: 1, AgentID: agent, At: testNow, Type: arena.EventSeatOutcome,
		Body:   json.RawMessage(`{"outcome":"answered","elapsed_ms":4200,"commitment":"abc"}`),
		Hidden: json.RawMessage(`{"answer":"SECRET reply"}`),
	}
	delivery := arena.Delivery{
		ID: arena.NewID(arena.DeliveryPrefix, testNow), MatchID: id, League: m.League, AgentID: agent, Round: 1, TaskID: "tk_1", Attempt: 1,
		Status: 200, Outcome: arena.OutcomeAnswered, SentAt: testNow, Elapsed: 4200 * time.Millisecond, Request: []byte(`{"description":"What is asked?"}`),
	}
	if _, err := w.store.Matches.SaveAnswer(w.t.Context(), m.Lease, answer, []arena.Delivery{delivery}, []arena.Event{outcome}); err != nil {
		w.t.Fatal(err)
	}
	return m.Lease, m
}

func (w *world) closeRound(l arena.Lease, m arena.Match) {
	w.t.Helper()
	seats := m.Seats
	seats[0].Points, seats[0].Outcome, seats[1].Outcome = arena.OnePoint, arena.OutcomeAnswered, arena.OutcomeTimeout
	answers := []arena.Answer{
		{AgentID: seats[0].AgentID, Outcome: arena.OutcomeAnswered, Points: arena.OnePoint, Judged: true},
		{AgentID: seats[1].AgentID, Outcome: arena.OutcomeTimeout, Judged: true},
	}
	verdict := arena.Verdict{MatchID: m.ID, Round: 1, Judge: "exact", Version: "SECRET", Seats: []arena.SeatVerdict{}, At: testNow}
	_, err := w.store.Matches.CloseRound(w.t.Context(), l, arena.RoundClose{Round: 1, Answers: answers, Seats: seats, Verdict: verdict}, func([]arena.Event) ([]arena.Event, error) {
		return []arena.Event{{MatchID: m.ID, Round: 1, At: testNow, Type: arena.EventRoundClosed, Body: json.RawMessage(
			`{"correct":"SECRET right","standings":[{"agent_id":"` + seats[0].AgentID + `","points":1,"place":1,"state":"active"}]}`)}}, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// leaks returns the paths by which a secret of a match of an agent of Alice and one of
// Bob can be read, by anyone but admins, and owners who ask what their own agent lost.
func (w *world) leaks(secret, league, match string, agents ...string) (paths []string) {
	w.t.Helper()
	for _, r := range routes() {
		if r.method != "GET" {
			continue
		}
		for i, agent := range agents {
			object := match
			if strings.Contains(r.path, "/agents/") {
				object = agent
			}
			path := strings.NewReplacer("{id}", object, "{slug}", league).Replace(r.path)
			queries := []string{""}
			if r.id == "export-league" {
				for _, k := range exportKinds() {
					queries = append(queries, "?kind="+k.name)
				}
			}
			if r.id == "compare-agents" {
				queries = []string{"?a=" + agent + "&b=" + agents[len(agents)-1-i]}
			}
			for _, token := range []string{"", w.alice, w.bob} {
				if r.id == "list-agent-losses" && token == []string{w.alice, w.bob}[i] {
					continue
				}
				for _, query := range queries {
					for _, accept := range []string{jsonType, ndjsonType, csvType} {
						if body := string(w.do("GET", path+query, token, nil, "Accept", accept).body); strings.Contains(body, secret) {
							paths = append(paths, path+query)
						}
					}
				}
			}
		}
	}
	return paths
}

// No byte of an open sealed round reaches anyone, by any route; when it is
// closed, everyone sees it. Threat F1.
func TestAPI_sealedRound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", object{"visibility": "sealed"})
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	lease, match := w.play(id)
	leaks := func() []string { return w.leaks("SECRET", "quiz", id, a, b) }
	if paths := leaks(); len(paths) > 0 {
		t.Errorf("an open round leaks in %v", paths)
	}
	r := w.do("GET", "/v1/matches/"+id, "", nil).is(200)
	want := object{
		"round": 1.0, "closed": false, "started_at": "2025-06-01T12:00:00.000Z", "deadline": "2025-06-01T12:00:05.000Z",
		"task": object{"task_id": "tk_1", "description": "What is asked?", "input_format": "string", "output_format": "string"},
	}
	if diff := cmp.Diff(want, r.at("current_round")); diff != "" {
		t.Errorf("current round (-want +got):\n%s", diff)
	}
	for _, list := range []string{"/v1/matches?status=running", "/v1/leagues/quiz/matches"} {
		if diff := cmp.Diff(want, w.do("GET", list, "", nil).is(200).at("items.0.current_round")); diff != "" {
			t.Errorf("current round in %s (-want +got):\n%s", list, diff)
		}
	}
	if r.str("status") != "running" || r.at("viewers") != 3.0 || r.at("seq") != 3.0 {
		t.Errorf("match: %s", r.body)
	}

	w.do("GET", "/v1/matches/"+id+"/record", "", nil).is(409) // whatever the rows would give
	w.closeRound(lease, match)
	r = w.do("GET", "/v1/matches/"+id+"/rounds", "", nil).is(200)
	wantRound := object{
		"round": 1.0, "started_at": "2025-06-01T12:00:00.000Z", "closed_at": "2025-06-01T12:00:00.000Z", "correct": "SECRET right",
		"task": want["task"],
		"seats": []any{
			object{"agent_id": a, "answer": "SECRET reply", "points": 1.0, "outcome": "answered", "elapsed_ms": 4200.0},
			object{"agent_id": b, "answer": nil, "points": 0.0, "outcome": "timeout", "elapsed_ms": 0.0},
		},
	}
	if diff := cmp.Diff(wantRound, r.at("items.0")); diff != "" {
		t.Errorf("closed round (-want +got):\n%s", diff)
	}
	if r := w.do("GET", "/v1/matches/"+id+"/rounds?since=1", "", nil).is(200); !strings.Contains(string(r.body), `"items":[],"next_since":1`) {
		t.Errorf("after the last: %s", r.body)
	}
	if len(leaks()) == 0 {
		t.Error("the closed round is shown nowhere: this test could not fail")
	}
}

// The guesses of spectators on an open round are counted, and shown once it has closed.
func TestAPI_guesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", object{"visibility": "sealed"})
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	path := "/v1/matches/" + id
	w.options = []string{"one", "two"}
	lease, match := w.play(id)
	for answer, status := range map[string]int{"C": 422, "": 422, "AB": 422} {
		w.do("POST", path+"/rounds/1/guess", "", object{"answer": answer}).is(status)
	}
	for _, round := range []string{"0", "x"} {
		w.do("POST", path+"/rounds/"+round+"/guess", "", object{"answer": "A"}).is(422)
	}
	if r := w.do("POST", path+"/rounds/2/guess", "", object{"answer": "A"}).is(409); r.str("code") != "conflict" {
		t.Errorf("a round to come: %s", r.body)
	}
	w.do("POST", "/v1/matches/m_none/rounds/1/guess", "", object{"answer": "A"}).is(404)
	w.do("POST", path+"/rounds/1/guess", "", object{"answer": "B"}).is(204)
	w.do("POST", path+"/rounds/1/guess", w.alice, object{"answer": "A"}).is(429)
	if r := w.do("GET", path+"/guesses", "", nil).is(200); len(r.at("items").([]any)) > 0 {
		t.Errorf("shown before the reveal: %s", r.body)
	}
	w.closeRound(lease, match)
	if r := w.do("GET", path+"/guesses", "", nil).is(200); r.at("items.0.round") != 1.0 || r.at("items.0.answers.B") != 1.0 {
		t.Errorf("after the reveal: %s", r.body)
	}
	w.do("POST", path+"/rounds/1/guess", "", object{"answer": "B"}).is(409)
	w.do("GET", "/v1/matches/m_none/guesses", "", nil).is(404)
}

// No record is made of a match that is not finished, whatever makes records
// would say to it. Threat F1.
func TestAPI_record_unfinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) {
		o.Matches.Record = func(_ context.Context, rows record.Rows) (record.Signed, error) {
			t.Errorf("asked for the record of a match that is %s", rows.Match.Status)
			return record.Signed{}, nil
		}
	})
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	path := "/v1/matches/" + id + "/record"
	w.do("GET", path, "", nil).is(409)
	w.play(id)
	w.do("GET", path, w.admin, nil).is(409)
	w.do("POST", "/v1/matches/"+id+"/void", w.admin, nil).is(200)
	w.do("GET", path, w.alice, nil).is(409)
}

func TestAPI_listEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	w.play(id)
	path := "/v1/matches/" + id + "/events"

	all := w.do("GET", path, "", nil).is(200)
	if n := len(all.at("items").([]any)); n != 3 || all.at("next_since") != 3.0 || all.str("items.0.type") != "match_scheduled" {
		t.Errorf("the log: %s", all.body)
	}
	part := w.do("GET", path+"?since=1&limit=1", "", nil).is(200)
	if len(part.at("items").([]any)) != 1 || part.str("items.0.type") != "round_started" || part.at("next_since") != 2.0 {
		t.Errorf("since=1&limit=1: %s", part.body)
	}
	end := w.do("GET", path+"?since=3", "", nil).is(200)
	if !strings.Contains(string(end.body), `{"items":[],"next_since":3}`) {
		t.Errorf("since the last: %s", end.body)
	}
	lines := w.do("GET", path, "", nil, "Accept", ndjsonType).is(200)
	if got := lines.header.Get("Content-Type"); got != ndjsonType {
		t.Errorf("content type %q", got)
	}
	rows := strings.Split(strings.TrimSuffix(string(lines.body), "\n"), "\n")
	if len(rows) != 3 {
		t.Fatalf("%d lines: %s", len(rows), lines.body)
	}
	for i, row := range rows {
		var e struct {
			Seq int `json:"seq"`
		}
		if err := json.Unmarshal([]byte(row), &e); err != nil || e.Seq != i+1 {
			t.Errorf("line %d: %v: %s", i+1, err, row)
		}
	}
	// A problem is a problem in every form.
	for _, query := range []string{"?since=-1", "?limit=1001"} {
		w.do("GET", path+query, "", nil, "Accept", ndjsonType).is(422)
	}
}

func TestAPI_finishedMatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.settle(a, b)

	r := w.do("GET", "/v1/matches/"+id, "", nil).is(200)
	for _, says := range []string{
		`"status":"finished"`, `"rating_before":1500.000,"rating_delta":20.000`, `"rating_before":1500.000,"rating_delta":-20.000`,
		`"place":1`, `"viewers":0`, `"closed":true`,
	} {
		if !strings.Contains(string(r.body), says) {
			t.Errorf("the match does not say %s: %s", says, r.body)
		}
	}
	w.run([]scenario{
		{name: "agent", method: "GET", path: "/v1/agents/" + a, status: 200, says: `"ratings":{"quiz":{"rating":1520.000,"rated_matches":1,"provisional":true,"wins":1`},
		{name: "outcomes", method: "GET", path: "/v1/agents/" + b, status: 200, says: `"outcomes":{"timeout":1}`},
		{name: "ratings", method: "GET", path: "/v1/agents/" + a + "/ratings?league=quiz", status: 200, says: fmt.Sprintf(`"history":[{"match_id":%q,"at":"2025-06-01T12:00:00.000Z","rating":1520.000,"delta":20.000}]`, id)},
		{name: "ratings without history", method: "GET", path: "/v1/agents/" + a + "/ratings?limit=0", status: 200, says: `"history":[]`},
		{name: "ratings elsewhere", method: "GET", path: "/v1/agents/" + a + "/ratings?league=other", status: 200, says: `"items":[]`},
		{name: "opponents", method: "GET", path: "/v1/agents/" + a + "/opponents", status: 200, says: `"matches":1,"wins":1,"draws":0,"losses":0`},
		{name: "standings", method: "GET", path: "/v1/leagues/quiz/standings", status: 200, says: `"rating":1480.000`},
		{name: "deliveries", method: "GET", path: "/v1/agents/" + a + "/deliveries?match=" + id, token: w.alice, status: 200, says: `"request":"{\"description\":\"What is asked?\"}"`},
		{name: "deliveries for another owner", method: "GET", path: "/v1/agents/" + a + "/deliveries", token: w.bob, status: 404, code: arena.CodeNotFound},
		{name: "deliveries by outcome", method: "GET", path: "/v1/agents/" + a + "/deliveries?outcome=timeout", token: w.admin, status: 200, says: `"items":[]`},
		{name: "status", method: "GET", path: "/v1/admin/status", token: w.admin, status: 200, says: `"finished":1`},
	})
}

func TestAPI_getStatus_nodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	w.play(w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id"))
	r := w.do("GET", "/v1/admin/status", w.admin, nil).is(200)
	want := []any{
		object{"node": "nd_runner", "matches": 1.0, "self": false, "alive": true, "draining": false},
		object{"node": "nd_test", "matches": 0.0, "self": true, "alive": true, "draining": false, "version": "v0.0.0-test"},
	}
	if diff := cmp.Diff(want, r.at("nodes")); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	want = []any{object{"name": "disk", "level": "warning", "subject": "/data", "value": 15.0, "of": 100.0}}
	if diff := cmp.Diff(want, r.at("vitals")); diff != "" {
		t.Errorf("vitals (-want +got):\n%s", diff)
	}
}

// settle plays a rated match of quiz that a wins, and returns its id.
func (w *world) settle(a, b string) (id string) {
	w.t.Helper()
	return w.settleBy(a, b, 20_000)
}

// settleBy is settle with the change of the ratings.
func (w *world) settleBy(a, b string, by arena.MilliElo) (id string) {
	w.t.Helper()
	id = w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	lease, match := w.play(id)
	w.closeRound(lease, match)
	seats := match.Seats
	seats[0].Place, seats[1].Place = 1, 2
	change := func(before arena.Rating, agent string, delta arena.MilliElo) arena.RatingChange {
		from := before.MilliElo
		if before.Matches == 0 {
			from = arena.StartRating
		}
		return arena.RatingChange{
			AgentID: agent, Before: from, After: from + delta, Delta: delta, K: 40, Score: arena.Points((delta/by + 1) / 2 * 1000), Matches: before.Matches + 1,
		}
	}
	_, err := w.store.Matches.Settle(w.t.Context(), lease, arena.Result{MatchID: id, League: "quiz", Seats: seats, Rated: true}, testNow,
		func(before map[string]arena.Rating) []arena.RatingChange {
			return []arena.RatingChange{change(before[a], a, by), change(before[b], b, -by)}
		},
		func([]arena.RatingChange) (arena.Event, error) {
			return arena.Event{MatchID: id, At: testNow, Type: arena.EventMatchFinished, Body: json.RawMessage(`{}`)}, nil
		})
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}
