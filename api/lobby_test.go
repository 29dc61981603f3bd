package api

import (
	"strings"
	"testing"

	"github.com/agora-arena/arena/internal/quota"
)

// A challenge is an unrated match at once, between agents that are there for
// it, within the quotas of who asks and of who is asked.
func TestAPI_challenge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) { o.Limits = quota.Limits{ChallengesPerDay: 3, ChallengedPerDay: 2} })
	w.league("quiz", nil)
	w.league("closed", object{"entry": object{"password": "sesame"}})
	mine, second := w.agent(w.alice, "Ann", "quiz"), w.agent(w.bob, "Cid", "quiz")
	theirs, away := w.agent(w.bob, "Bob", "quiz"), w.agent(w.bob, "Far")
	ask := func(token, agent, opponent, league string) response {
		return w.do("POST", "/v1/challenges", token, object{"agent_id": agent, "opponent_id": opponent, "league": league})
	}
	refused := func(r response, status int, words string) {
		t.Helper()
		if r.is(status); !strings.Contains(string(r.body), words) {
			t.Errorf("%q is not in %s", words, r.body)
		}
	}
	refused(ask(w.alice, mine, mine, "quiz"), 422, `"opponent_id","message":"agent `)
	refused(ask(w.alice, mine, away, "quiz"), 422, `"opponent_id"`)
	refused(ask(w.alice, mine, theirs, "closed"), 422, "closed")
	refused(ask(w.alice, mine, theirs, "none"), 422, `"league"`)
	ask(w.alice, theirs, mine, "quiz").is(404) // not hers
	w.do("POST", "/v1/agents/"+second+"/pause", w.bob, nil).is(200)
	refused(ask(w.alice, mine, second, "quiz"), 422, "is paused (owner)")
	w.do("POST", "/v1/agents/"+second+"/resume", w.bob, nil).is(200)

	made := ask(w.alice, mine, theirs, "quiz").is(201)
	if !strings.Contains(string(made.body), `"rated":false`) {
		t.Errorf("a challenge is rated: %s", made.body)
	}
	ask(w.alice, mine, theirs, "quiz").is(201)
	refused(ask(w.alice, mine, theirs, "quiz"), 429, "this agent was challenged too often")
	ask(w.alice, mine, second, "quiz").is(201)
	r := ask(w.alice, mine, second, "quiz")
	refused(r, 429, "too many challenges of this owner")
	if got := r.header.Get("Retry-After"); got != "28800" { // a third of a day
		t.Errorf("Retry-After %q", got)
	}
	if log := string(w.do("GET", "/v1/admin/audit?find=challenge", w.admin, nil).is(200).body); strings.Count(log, `"action":"challenge"`) != 3 {
		t.Errorf("the audit log: %s", log)
	}
}

// The first page comes in one answer, with the banner in it.
func TestAPI_lobby(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.league("quiz", nil)
	match := w.do("POST", "/v1/matches", w.admin, object{"league": "quiz", "agents": []string{w.agent(w.alice, "Ann", "quiz"), w.agent(w.bob, "Bob", "quiz")}}).is(201).str("match_id")
	w.do("POST", "/v1/admin/banner", w.admin, object{"text": " padded"}).is(422)
	w.do("POST", "/v1/admin/banner", w.admin, object{"text": "Down at six"}).is(200)
	lobby := string(w.do("GET", "/v1/lobby", "", nil).is(200).body)
	for _, want := range []string{`"next":[{"match_id":"` + match, `"slug":"quiz"`, `"banner":{"text":"Down at six","since":"`, `"upsets":[]`, `"movers":[]`} {
		if !strings.Contains(lobby, want) {
			t.Errorf("%s is not in %s", want, lobby)
		}
	}
	w.do("POST", "/v1/admin/banner", w.admin, object{"text": ""}).is(200)
	if got := string(w.do("GET", "/v1/banner", "", nil).is(200).body); !strings.Contains(got, `{"text":""}`) {
		t.Errorf("the banner: %s", got)
	}
}
