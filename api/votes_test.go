package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/visibility"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

// crowd plays a match of seats up to its open round, where all have answered.
// The store is written to as the runner would.
func (w *world) crowd(judge string, agents ...string) (arena.Lease, arena.Match) {
	w.t.Helper()
	return w.crowdWith(judge, false, agents...)
}

// crowdWith is crowd, with votes that need an account or do not.
func (w *world) crowdWith(judge string, accounts bool, agents ...string) (arena.Lease, arena.Match) {
	w.t.Helper()
	ctx := w.t.Context()
	m := arena.Match{
		ID: arena.NewID(arena.MatchPrefix, testNow), League: "poems", Status: arena.MatchScheduled, Seed: 5, CreatedAt: testNow, StartsAt: testNow,
		Settings: arena.Settings{Judge: arena.JudgeSpec{Kind: judge, Criteria: "the funnier", Window: time.Minute, VoterAccounts: accounts}, Rounds: 1, MinSeats: 2, MaxSeats: 8, TimeLimit: time.Second, Visibility: arena.VisibilitySealed},
	}
	for i, id := range agents {
		a, err := w.store.Agents.Agent(ctx, id)
		w.ok(err)
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: id, Name: a.Name, OwnerID: a.OwnerID, Protocol: "aap", State: arena.SeatActive})
	}
	_, err := w.store.Matches.CreateMatch(ctx, m, arena.Event{MatchID: m.ID, At: testNow, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)})
	w.ok(err)
	claimed, err := w.store.Matches.ClaimMatches(ctx, "nd_runner", time.Minute, 1, nil)
	w.ok(err)
	lease := claimed[0].Lease
	_, err = w.store.Matches.StartMatch(ctx, lease, m.Seats, testNow, nil, nil)
	w.ok(err)
	started := arena.Event{MatchID: m.ID, Round: 1, At: testNow, Type: arena.EventRoundStarted, Body: json.RawMessage(`{}`)}
	_, err = w.store.Matches.OpenRound(ctx, lease, arena.Round{MatchID: m.ID, No: 1, OpenedAt: testNow, Task: arena.Task{ID: "tk_1", Description: "A joke."}}, []arena.Event{started})
	w.ok(err)
	for i, id := range agents {
		_, err = w.store.Matches.SaveAnswer(ctx, lease, arena.Answer{
			MatchID: m.ID, Round: 1, AgentID: id, Outcome: arena.OutcomeAnswered, Attempts: 1, Body: &arena.AnswerBody{Answer: strings.Repeat("ha", i+1)},
		}, nil, nil)
		w.ok(err)
	}
	return lease, m
}

func (w *world) ok(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// openFor opens the vote as the runner does.
func (w *world) openFor(l arena.Lease, m arena.Match, window time.Duration) {
	w.t.Helper()
	until := time.UnixMilli(w.now.Load()).Add(window)
	body, err := json.Marshal(arena.VoteOpenedBody{Until: until.UTC().Format(arena.TimeFormat), Criteria: m.Settings.Judge.Criteria})
	w.ok(err)
	_, err = w.store.Matches.OpenVote(w.t.Context(), l, 1, until, []arena.Event{{MatchID: m.ID, Round: 1, At: testNow, Type: arena.EventVoteOpened, Body: body}})
	w.ok(err)
}

// newCrowdWorld has a league, and agents of carol and dora.
func newCrowdWorld(t *testing.T, edit ...func(*parts)) (w *world, carol string, agents []string) {
	t.Helper()
	w = newWorld(t, edit...)
	w.league("poems", nil)
	carol, _ = w.owner("carol")
	dora, _ := w.owner("dora")
	return w, carol, []string{w.agent(carol, "a", "poems"), w.agent(dora, "b", "poems"), w.agent(dora, "c", "poems")}
}

func TestAPI_vote(t *testing.T) {
	t.Parallel()
	w, carol, agents := newCrowdWorld(t, func(o *parts) {
		o.Limits, o.Site.URL, o.Site.TrustedProxies = quota.Limits{}, "http://arena.example", []string{"192.0.2.1"}
	})
	lease, m := w.crowd(arena.JudgeCrowd, agents[:2]...)
	votes, ballot := "/v1/matches/"+m.ID+"/votes", "/v1/matches/"+m.ID+"/ballot"
	good := object{"round": 1, "better": "A"}
	w.run([]scenario{
		{name: "no ballot before the vote", method: "GET", path: ballot, status: 404, code: arena.CodeNotFound},
		{name: "no vote before the vote", method: "POST", path: votes, body: good, status: 409, code: arena.CodeConflict},
	})
	if r := w.do("GET", "/v1/matches/"+m.ID, "", nil).is(200); strings.Contains(string(r.body), "open_vote") {
		t.Errorf("match before the vote: %s", r.body)
	}
	w.openFor(lease, m, time.Hour)
	w.openFor(lease, m, time.Minute) // by a node that took over
	for _, path := range []string{"/v1/matches/" + m.ID, "/v1/matches?league=poems"} {
		if r := w.do("GET", path, "", nil).is(200); !strings.Contains(string(r.body), `"open_vote":{"round":1,"until":"2025-06-01T12:01:00.000Z"}`) {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	r := w.do("GET", ballot, "", nil).is(200)
	if r.str("until") != "2025-06-01T12:01:00.000Z" || r.str("criteria") != "the funnier" || strings.Contains(string(r.body), "ag_") {
		t.Errorf("ballot %s", r.body)
	}
	byText := map[string]string{agents[0]: "ha", agents[1]: "haha"}
	label := func(agent string) string {
		for _, e := range r.at("entries").([]any) {
			if e.(object)["text"] == byText[agent] {
				return e.(object)["label"].(string)
			}
		}
		return ""
	}
	post := func(name string, body any, status int, code arena.Code, fields ...string) scenario {
		return scenario{name: name, method: "POST", path: votes, body: body, status: status, code: code, fields: fields}
	}
	w.run([]scenario{
		post("unknown label", object{"round": 1, "better": "C"}, 422, arena.CodeInvalid, "better"),
		post("an agent's id", object{"round": 1, "better": agents[0]}, 422, arena.CodeInvalid, "better"),
		post("small letter", object{"round": 1, "better": "a"}, 422, arena.CodeInvalid, "better"),
		post("with itself", object{"round": 1, "better": "A", "other": "A"}, 422, arena.CodeInvalid, "other"),
		post("tie with itself", object{"round": 1, "better": "tie", "other": "A A"}, 422, arena.CodeInvalid, "other"),
		post("tie with nobody", object{"round": 1, "better": "tie", "other": "A C"}, 422, arena.CodeInvalid, "other"),
		post("no round", object{"better": "A"}, 422, arena.CodeInvalid, "round"),
		post("round 0", object{"round": 0, "better": "A"}, 422, arena.CodeInvalid, "round"),
		post("nothing", object{}, 422, arena.CodeInvalid, "better", "round"),
		post("another round", object{"round": 2, "better": "A"}, 409, arena.CodeConflict),
		{name: "unknown match", method: "POST", path: "/v1/matches/m_none/votes", body: good, status: 404, code: arena.CodeNotFound},
		{name: "owner of a player", method: "POST", path: votes, token: carol, body: good, status: 403, code: arena.CodeForbidden},
		{name: "another owner", method: "POST", path: votes, token: w.alice, body: good, status: 200, says: `"better":"A","other":"B"`},
	})

	// Two browsers; the first one changes its mind, and keeps its name.
	first := w.do("POST", votes, "", object{"round": 1, "better": label(agents[0])}).is(200)
	cookie := first.header.Get("Set-Cookie")
	for _, part := range []string{"arena_voter=", "HttpOnly", "SameSite=Lax", "Path=/v1/matches", "Max-Age="} {
		if !strings.Contains(cookie, part) || strings.Contains(cookie, "Secure") {
			t.Errorf("cookie %q lacks %s, or is secure over http", cookie, part)
		}
	}
	name, _, _ := strings.Cut(cookie, ";")
	again := w.do("POST", votes, "", object{"round": 1, "better": label(agents[1])}, "Cookie", name).is(200)
	if c := again.header.Get("Set-Cookie"); c != "" {
		t.Errorf("a known browser was named again: %s", c)
	}
	forged := w.do("POST", votes, "", object{"round": 1, "better": "tie"}, "Cookie", "arena_voter=forged."+strings.Repeat("A", 43)).is(200)
	if forged.header.Get("Set-Cookie") == "" {
		t.Error("a forged name was taken")
	}
	stored, err := w.store.Matches.Votes(t.Context(), m.ID, 1)
	w.ok(err)
	choices := map[string]string{}
	for _, v := range stored {
		choices[v.Choice] = v.Other
	}
	both := min(agents[0], agents[1]) + " " + max(agents[0], agents[1])
	if len(stored) != 3 || choices[agents[1]] != agents[0] || choices[""] != both {
		t.Errorf("stored %v of %v", choices, agents)
	}

	// A flood from one address: the limit of browsers counts, and names itself.
	for range 20 - (len(stored) - 1) { // owners are counted apart
		w.do("POST", votes, "", good).is(200)
	}
	flood := w.do("POST", votes, "", good).is(429)
	if flood.header.Get("Retry-After") != "60" || !strings.Contains(string(flood.body), "20 people") || flood.str("code") != "rate_limited" {
		t.Errorf("%v %s", flood.header, flood.body)
	}
	w.do("POST", votes, "", object{"round": 1, "better": "A"}, "Cookie", name).is(200) // who has a name may still change
	w.do("POST", votes, w.bob, good).is(200)

	// Threat G5: one visitor votes from a network that people do not share.
	from := func(token string, header ...string) response {
		return w.do("POST", votes, token, good, append(header, "X-Forwarded-For", "203.0.113.9")...)
	}
	name, _, _ = strings.Cut(from("").is(200).header.Get("Set-Cookie"), ";")
	from("", "Cookie", name).is(200)
	if second := from("").is(429); !strings.Contains(string(second.body), "sign in to vote as well") {
		t.Errorf("%s", second.body)
	}
	erin, _ := w.owner("erin")
	from(erin).is(200)

	w.now.Add(time.Minute.Milliseconds())
	w.run([]scenario{
		{name: "no ballot after the end", method: "GET", path: ballot, status: 404, code: arena.CodeNotFound},
		post("too late", good, 409, arena.CodeConflict),
	})
}

func TestAPI_vote_manyEntries(t *testing.T) {
	t.Parallel()
	w, _, agents := newCrowdWorld(t, func(o *parts) { o.Limits = quota.Limits{} })
	lease, m := w.crowd(arena.JudgeCrowd, agents...)
	w.openFor(lease, m, time.Minute)
	votes := "/v1/matches/" + m.ID + "/votes"
	post := func(name, better, other string, status int, says string, fields ...string) scenario {
		s := scenario{name: name, method: "POST", path: votes, body: object{"round": 1, "better": better, "other": other}, status: status, fields: fields, says: says}
		if status == 422 {
			s.code = arena.CodeInvalid
		}
		return s
	}
	w.run([]scenario{
		post("good", "C", "A", 200, `"better":"C","other":"A"`),
		post("which other", "C", "", 422, "A, B", "other"),
		post("two others", "C", "A B", 422, "", "other"),
		post("tie of which", "tie", "", 422, "", "other"),
		post("tie of one", "tie", "A", 422, "", "other"),
		post("tie", "tie", "C B", 200, `"other":"C B"`),
	})
	secure := w.do("POST", votes, "", object{"round": 1, "better": "A", "other": "B"}).is(200)
	if c := secure.header.Get("Set-Cookie"); !strings.Contains(c, "Secure") {
		t.Errorf("cookie %q over https", c)
	}
	stored, err := w.store.Matches.Votes(t.Context(), m.ID, 1)
	w.ok(err)
	j := arena.Judging{Seed: m.Seed, Round: 1}
	for _, id := range agents {
		j.Answers = append(j.Answers, arena.JudgedAnswer{AgentID: id})
	}
	shown := j.Blind()
	b, c := shown[1].AgentID, shown[2].AgentID
	got := map[string]string{}
	for _, v := range stored {
		got[v.Choice] = v.Other
	}
	want := map[string]string{c: shown[0].AgentID, "": min(b, c) + " " + max(b, c), shown[0].AgentID: b}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Threat G5: where votes need an account, an owner has one vote, from whatever
// browser, and anyone else has none.
func TestAPI_vote_accounts(t *testing.T) {
	t.Parallel()
	w, carol, agents := newCrowdWorld(t, func(o *parts) { o.Limits = quota.Limits{} })
	lease, m := w.crowdWith(arena.JudgeCrowd, true, agents[:2]...)
	w.openFor(lease, m, time.Hour)
	votes, good := "/v1/matches/"+m.ID+"/votes", object{"round": 1, "better": "A"}
	w.do("POST", votes, "", good).is(401)
	w.do("POST", votes, w.admin, good).is(401)
	w.do("POST", votes, carol, good).is(403)
	for _, better := range []string{"A", "B", "A"} {
		w.do("POST", votes, w.alice, object{"round": 1, "better": better}).is(200)
	}
	w.do("POST", votes, w.bob, good).is(200)
	stored, err := w.store.Matches.Votes(t.Context(), m.ID, 1)
	w.ok(err)
	if len(stored) != 2 {
		t.Errorf("%d votes of two owners: %+v", len(stored), stored)
	}
}

// A vote belongs to the crowd's leagues alone.
func TestAPI_vote_otherJudge(t *testing.T) {
	t.Parallel()
	w, _, agents := newCrowdWorld(t)
	lease, m := w.crowd(arena.JudgePanel, agents[:2]...)
	w.openFor(lease, m, time.Minute)
	w.do("GET", "/v1/matches/"+m.ID+"/ballot", "", nil).is(404)
	w.do("POST", "/v1/matches/"+m.ID+"/votes", "", object{"round": 1, "better": "A"}).is(409)
}

// A vote ends with its round, and with its match, whatever its window says.
func TestAPI_vote_over(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world, arena.Lease, arena.Match){
		"round": func(w *world, l arena.Lease, m arena.Match) {
			_, err := w.store.Matches.CloseRound(w.t.Context(), l, arena.RoundClose{Round: 1, Seats: m.Seats}, func([]arena.Event) ([]arena.Event, error) { return nil, nil })
			w.ok(err)
		},
		"match": func(w *world, _ arena.Lease, m arena.Match) {
			_, err := w.store.Matches.EndMatch(w.t.Context(), m.ID, arena.MatchVoid, arena.OperatorReason("rain"), testNow, arena.Event{MatchID: m.ID, At: testNow, Type: arena.EventMatchVoid, Body: json.RawMessage(`{}`)})
			w.ok(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, agents := newCrowdWorld(t)
			lease, m := w.crowd(arena.JudgeCrowd, agents[:2]...)
			w.openFor(lease, m, time.Hour)
			w.do("GET", "/v1/matches/"+m.ID+"/ballot", "", nil).is(200)
			end(w, lease, m)
			w.do("GET", "/v1/matches/"+m.ID+"/ballot", "", nil).is(404)
			w.do("POST", "/v1/matches/"+m.ID+"/votes", "", object{"round": 1, "better": "A"}).is(409)
		})
	}
}

// The vote on a round shows no answer of the next one, and none of its own once
// it was begun anew: whoever has not answered yet could read what others said.
// Threat F1.
func TestAPI_vote_anotherRound(t *testing.T) {
	t.Parallel()
	w, _, agents := newCrowdWorld(t)
	lease, m := w.crowd(arena.JudgeCrowd, agents[:2]...)
	ballot := "/v1/matches/" + m.ID + "/ballot"
	w.openFor(lease, m, time.Hour)
	w.do("GET", ballot, "", nil).is(200)
	again := arena.Event{MatchID: m.ID, Round: 1, At: testNow, Type: arena.EventRoundStarted, Body: json.RawMessage(`{}`)}
	_, err := w.store.Matches.OpenRound(t.Context(), lease, arena.Round{No: 1, OpenedAt: testNow, Interruptions: 1}, []arena.Event{again})
	w.ok(err)
	w.do("GET", ballot, "", nil).is(404) // a node took over

	w.openFor(lease, m, time.Hour)
	w.do("GET", ballot, "", nil).is(200)
	_, err = w.store.Matches.CloseRound(t.Context(), lease, arena.RoundClose{Round: 1, Seats: m.Seats}, func([]arena.Event) ([]arena.Event, error) { return nil, nil })
	w.ok(err)
	// Even if nothing in the log said that it has begun.
	_, err = w.store.Matches.OpenRound(t.Context(), lease, arena.Round{MatchID: m.ID, No: 2, OpenedAt: testNow, Task: arena.Task{ID: "tk_2"}}, nil)
	w.ok(err)
	_, err = w.store.Matches.SaveAnswer(t.Context(), lease, arena.Answer{
		MatchID: m.ID, Round: 2, AgentID: agents[0], Outcome: arena.OutcomeAnswered, Attempts: 1, Body: &arena.AnswerBody{Answer: "SECRET"},
	}, nil, nil)
	w.ok(err)
	if r := w.do("GET", ballot, "", nil); r.status != 404 || strings.Contains(string(r.body), "SECRET") {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}

// manyVerdicts has verdicts of many matches.
type manyVerdicts []arena.Verdict

func (v manyVerdicts) LeagueVerdicts(_ context.Context, _ string, limit int) ([]arena.Verdict, error) {
	return v[:min(limit, len(v))], nil
}

// healthMatches is the number of matches whose answers are measured.
const healthMatches = 100

// fewLengths counts the matches that are read.
type fewLengths struct {
	Visible
	reads int
}

func (s *fewLengths) Match(_ context.Context, id string) (visibility.Match, error) {
	s.reads++
	return visibilitytest.Match(arena.Match{
		ID: id, Settings: arena.Settings{Judge: arena.JudgeSpec{Kind: arena.JudgeModel}}, Seats: []arena.Seat{{AgentID: "ag_1"}, {No: 1, AgentID: "ag_2"}},
	}), nil
}

func (s *fewLengths) ClosedRounds(_ context.Context, m visibility.Match) ([]visibility.ClosedRound, error) {
	return []visibility.ClosedRound{{Round: arena.Round{No: 1}, Answers: []arena.Answer{
		{MatchID: m.ID, Round: 1, AgentID: "ag_1", Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "four"}},
		{MatchID: m.ID, Round: 1, AgentID: "ag_2", Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4"}},
	}}}, nil
}

func TestAPI_getJudge(t *testing.T) {
	t.Parallel()
	few := &fewLengths{}
	var verdicts []arena.Verdict
	for i := range 300 {
		for round := 1; round <= 2; round++ {
			ballot := arena.Ballot{First: "ag_1", Second: "ag_2", Choice: "ag_1"}
			if i >= healthMatches {
				ballot.Choice = "ag_2"
			}
			verdicts = append(verdicts, arena.Verdict{MatchID: fmt.Sprint("m_", i), Round: round, Version: "v1", Ballots: []arena.Ballot{ballot}})
		}
	}
	w := newWorld(t, func(o *parts) {
		few.Visible, o.Matches.Visible = o.Matches.Visible, few
		o.Store.Verdicts = manyVerdicts(verdicts)
	})
	w.league("quiz", nil)
	w.league("poems", object{"judge": object{"kind": "model", "criteria": "the funnier"}})
	w.do("GET", "/v1/leagues/none/judge", "", nil).is(http.StatusNotFound)
	quiz := w.do("GET", "/v1/leagues/quiz/judge", "", nil).is(200)
	if quiz.str("kind") != "exact" || quiz.at("verdicts") != 0.0 || quiz.at("flip_rate") != nil {
		t.Errorf("%s", quiz.body)
	}
	poems := w.do("GET", "/v1/leagues/poems/judge", "", nil).is(200)
	// The answers of the newest matches alone are read and measured.
	if poems.str("criteria") != "the funnier" || poems.at("verdicts") != 500.0 || few.reads != healthMatches || poems.str("versions.0") != "v1" || poems.at("longer_rate") != 1.0 {
		t.Errorf("%d matches read: %.300s", few.reads, poems.body)
	}
}
