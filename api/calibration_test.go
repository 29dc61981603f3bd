package api

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Claims of an open round stay hidden (threat F1), those of closed rounds are
// public and marked as what they are.
func TestAPI_getCalibration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	lease, match := w.play(id)
	said := arena.Answer{
		MatchID: id, Round: 1, AgentID: b, Outcome: arena.OutcomeAnswered, Attempts: 1, OverTokens: true,
		Body: &arena.AnswerBody{Answer: "yes", Confidence: new(0.75), Tokens: new(int64(70))},
	}
	if _, err := w.store.Matches.SaveAnswer(t.Context(), lease, said, nil, nil); err != nil {
		t.Fatal(err)
	}
	path := "/v1/agents/" + b + "/calibration"
	const nothing, noTokens = `"declared":true,"answers":0,"brier":null,"bins":[{"from":0,"to":0.1,"count":0,"mean_confidence":null,"right_share":null}`,
		`"tokens":{"declared":true,"answers":0,"total":0,"per_right":null,"over_max_tokens":0}}`
	for _, token := range []string{"", w.bob, w.admin} {
		if r := w.do("GET", path, token, nil).is(200); !strings.Contains(string(r.body), nothing) || !strings.Contains(string(r.body), noTokens) {
			t.Errorf("of an open round: %s", r.body)
		}
	}
	said.Judged = true
	if _, err := w.store.Matches.CloseRound(t.Context(), lease, arena.RoundClose{Round: 1, Seats: match.Seats, Answers: []arena.Answer{said}}, func([]arena.Event) ([]arena.Event, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	w.run([]scenario{
		{name: "closed", method: "GET", path: path, status: 200, says: `"answers":1,"brier":0.5625,`},
		{name: "tokens", method: "GET", path: path + "?league=quiz", status: 200, says: `"tokens":{"declared":true,"answers":1,"total":70,"per_right":null,"over_max_tokens":1}`},
		{name: "another league", method: "GET", path: path + "?league=other", status: 200, says: nothing},
		{name: "nobody", method: "GET", path: "/v1/agents/ag_none/calibration", status: 404, code: arena.CodeNotFound},
		{name: "a long league", method: "GET", path: path + "?league=" + strings.Repeat("x", 41), status: 422, code: arena.CodeInvalid, fields: []string{"league"}},
	})
}

// A table shows the refit beside the rating, where there is one.
func TestAPI_listStandings_fit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	if r := w.do("GET", "/v1/leagues/quiz/standings", "", nil).is(200); strings.Contains(string(r.body), `"fit"`) {
		t.Errorf("no fit yet: %s", r.body)
	}
	err := w.store.Leagues.SaveFit(t.Context(), arena.Fit{League: "quiz", Settlement: 1, At: testNow, Lines: []arena.FitLine{{
		AgentID: b, Rating: 1_600_000, Low: 1_500_000, High: 1_700_500, RankLow: 1, RankHigh: 2, Component: 1,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r := w.do("GET", "/v1/leagues/quiz/standings", "", nil).is(200)
	const want = `"fit":{"rating":1600.000,"low":1500.000,"high":1700.500,"rank_low":1,"rank_high":2,"island":1}`
	if strings.Count(string(r.body), `"fit":`) != 1 || !strings.Contains(string(r.body), want) {
		t.Errorf("standings: %s", r.body)
	}
	// By the live rating, not by the fit.
	if r.str("items.0.agent_id") != min(a, b) {
		t.Errorf("the fit changes the order: %s", r.body)
	}
}

// A table is in the order of tiers, and gives the reason why there are none.
func TestAPI_listStandings_tiers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	ids := []string{w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz"), w.agent(w.bob, "c", "quiz")}
	slices.Sort(ids) // as the table of equal ratings does
	const path = "/v1/leagues/quiz/standings"
	const none = `"tiers":{"reason":"too_few_matches","owner_groups":0,"needed_opponents":6,"max_agents":2000,"conflicts":[],"cycles":[]}`
	if r := w.do("GET", path, "", nil).is(200); !strings.Contains(string(r.body), none) || strings.Contains(string(r.body), `"tier"`) {
		t.Errorf("no matches: %s", r.body)
	}
	w.settle(ids[0], ids[1])
	if r := w.do("GET", path, "", nil).is(200); r.str("tiers.reason") != "pending" {
		t.Errorf("before the fit: %s", r.body)
	}
	leader := w.do("GET", path, "", nil).is(200).str("items.0.agent_id")
	second := w.do("GET", path, "", nil).is(200).str("items.1.agent_id")
	fit := arena.Fit{League: "quiz", Settlement: 1, At: testNow, Lines: []arena.FitLine{
		{AgentID: leader, RankLow: 1, RankHigh: 9, Component: 1},
		{AgentID: second, Tier: 2, RankLow: 2, RankHigh: 9, Component: 1},
	}, Board: arena.FitBoard{Groups: 9, Cycles: [][3]string{{"ag_x", "ag_y", "ag_z"}}, Conflicts: []arena.FitPair{{Better: second, Worse: leader}, {Better: leader, Worse: second}}}}
	for _, id := range ids {
		if id != leader && id != second {
			fit.Lines = append(fit.Lines, arena.FitLine{AgentID: id, Tier: 1, RankLow: 1, RankHigh: 8, Component: 1})
		}
	}
	if err := w.store.Leagues.SaveFit(t.Context(), fit); err != nil {
		t.Fatal(err)
	}
	r := w.do("GET", path, "", nil).is(200)
	if r.str("items.0.agent_id") != fit.Lines[2].AgentID || r.str("items.1.agent_id") != second || r.str("items.2.agent_id") != leader {
		t.Errorf("not by tier: %s", r.body)
	}
	for _, want := range []string{
		`"tier":1,"tier_range":[1,8],`, `"tier":2,"tier_range":[2,9],`,
		// The other conflict ended: its better agent leads now.
		`"tiers":{"owner_groups":9,"needed_opponents":6,"max_agents":2000,"conflicts":[{"better":"` + second + `","worse":"` + leader + `"}],"cycles":[["ag_x","ag_y","ag_z"]]}`,
	} {
		if !strings.Contains(string(r.body), want) {
			t.Errorf("no %s in %s", want, r.body)
		}
	}
	if strings.Count(string(r.body), `"tier_range"`) != 2 {
		t.Errorf("an agent without a tier has a range: %s", r.body)
	}
}

// Lost rounds and topics are public when their round has closed. Threat F1.
func TestAPI_losses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	a, b := w.agent(w.alice, "a", "quiz"), w.agent(w.bob, "b", "quiz")
	id := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{a, b}}).is(201).str("match_id")
	lease, match := w.play(id)
	said := arena.Answer{
		MatchID: id, Round: 1, AgentID: b, Outcome: arena.OutcomeAnswered, Attempts: 1, Elapsed: 1500 * time.Millisecond, Body: &arena.AnswerBody{Answer: "yes"},
	}
	if _, err := w.store.Matches.SaveAnswer(t.Context(), lease, said, nil, nil); err != nil {
		t.Fatal(err)
	}
	losses, topics := "/v1/agents/"+b+"/losses", "/v1/agents/"+b+"/topics"
	for _, token := range []string{"", w.bob, w.admin} {
		for _, path := range []string{losses, topics} {
			if r := w.do("GET", path, token, nil).is(200); !strings.Contains(string(r.body), `"items":[]`) {
				t.Errorf("of an open round: %s", r.body)
			}
		}
	}
	said.Judged = true
	if _, err := w.store.Matches.CloseRound(t.Context(), lease, arena.RoundClose{Round: 1, Seats: match.Seats, Answers: []arena.Answer{said}}, func([]arena.Event) ([]arena.Event, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	r := w.do("GET", losses, "", nil).is(200)
	for member, want := range map[string]string{
		"match_id": id, "league": "quiz", "answer": "yes", "outcome": "answered", "reason": "",
	} {
		if got := r.str("items.0." + member); got != want {
			t.Errorf("%s is %q, want %q", member, got, want)
		}
	}
	if r.str("items.0.description") == "" || r.str("items.0.correct") == "" || !strings.Contains(string(r.body), `"elapsed_ms":1500`) ||
		!strings.HasPrefix(r.str("items.0.url"), "https://arena.example/m/"+id+"?seq=") {
		t.Errorf("losses: %s", r.body)
	}
	w.run([]scenario{
		{name: "topics", method: "GET", path: topics + "?league=quiz", status: 200, says: `"answered":1,"right":0,"share":0,"low":0,"high":0.79`},
		{name: "another league", method: "GET", path: losses + "?league=other", status: 200, says: `"items":[]`},
		{name: "another topic", method: "GET", path: losses + "?topic=none", status: 200, says: `"items":[]`},
		{name: "another agent", method: "GET", path: "/v1/agents/" + a + "/losses", status: 200, says: `"items":[]`},
		{name: "nobody", method: "GET", path: "/v1/agents/ag_none/losses", status: 404, code: arena.CodeNotFound},
		{name: "nobody's topics", method: "GET", path: "/v1/agents/ag_none/topics", status: 404, code: arena.CodeNotFound},
		{name: "a strange cursor", method: "GET", path: losses + "?cursor=eA", status: 422, code: arena.CodeInvalid, fields: []string{"cursor"}},
	})
}
