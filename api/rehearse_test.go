package api

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

func TestAPI_rehearse(t *testing.T) {
	t.Parallel()
	var asked arena.Rehearsal
	text := "Canberra"
	w := newWorld(t, func(o *parts) {
		o.Limits.RehearsalsPerHour = 3
		o.Rehearse = func(ctx context.Context, r arena.Rehearsal) (arena.RehearsalReport, error) {
			asked = r
			deadline, _ := ctx.Deadline()
			if left := time.Until(deadline); left < 50*time.Second || left > time.Minute {
				t.Errorf("a rehearsal has %v", left)
			}
			return arena.RehearsalReport{StartedAt: testNow, Elapsed: 1500 * time.Microsecond, Rounds: []arena.RehearsedRound{
				{
					No: 1, Task: arena.Task{Answers: []string{"Canberra"}}, Verdict: arena.RehearsalPassed, Outcome: arena.OutcomeAnswered,
					Answer: &text, Points: arena.OnePoint, Tokens: 40, Declared: true, TimeLimit: time.Second,
					Attempts: []arena.Delivery{{Attempt: 1, Status: 200, Outcome: arena.OutcomeAnswered, SentAt: testNow, Request: []byte("{}")}},
				},
				{No: 2, Fault: arena.FaultHugeTask, Verdict: arena.RehearsalFailed, Outcome: arena.OutcomeTimeout},
				{No: 3, Fault: arena.FaultExpiredToken, Verdict: arena.RehearsalNotPlayed},
			}}, nil
		}
	})
	w.league("trivia", nil)
	id := w.agent(w.alice, "steady")
	path := "/v1/agents/" + id + "/rehearse"
	for _, tc := range []struct {
		name, token string
		body        any
		status      int
		field       string
	}{
		{"a stranger", w.bob, object{"league": "trivia"}, 404, ""},
		{"nobody", "", object{"league": "trivia"}, 401, ""},
		{"no such league", w.alice, object{"league": "poetry"}, 422, "league"},
		{"no such fault", w.alice, object{"league": "trivia", "faults": []string{"meteor"}}, 422, "faults[0]"},
		{"too few rounds", w.alice, object{"league": "trivia", "rounds": 5}, 422, "rounds"},
		{"too many rounds", w.alice, object{"league": "trivia", "rounds": 11}, 422, "rounds"},
	} {
		r := w.do("POST", path, tc.token, tc.body).is(tc.status)
		if tc.field != "" && r.at("errors.0.field") != tc.field {
			t.Errorf("%s: %s", tc.name, r.body)
		}
	}

	r := w.do("POST", path, w.alice, object{"league": "trivia"}).is(200)
	if !slices.Equal(asked.Faults, arena.Faults()) || asked.Agent.ID != id || asked.League.Slug != "trivia" || asked.Rounds != 0 {
		t.Errorf("asked for %+v", asked)
	}
	if r.at("passed") != 1.0 || r.at("failed") != 1.0 || r.at("rounds.0.answer") != "Canberra" || r.at("rounds.0.attempts.0.request") != "{}" ||
		r.at("rounds.1.fault") != "huge_task" || r.at("rounds.2.outcome") != nil || r.at("elapsed_ms") != 1.5 {
		t.Errorf("%s", r.body)
	}
	if r.at("tokens.per_round") != 40.0 || r.at("tokens.per_match") != 120.0 || r.at("tokens.declared") != true { // three rounds
		t.Errorf("tokens: %v", r.at("tokens"))
	}
	if use := w.do("GET", "/v1/agents/"+id+"/budget", w.alice, nil).is(200); use.at("tokens_per_match") != nil { // it plays in no league
		t.Errorf("%s", use.body)
	}
	w.do("POST", path, w.admin, object{"league": "trivia", "faults": []string{"slow_network"}, "rounds": 10}).is(200)
	if len(asked.Faults) != 1 || asked.Rounds != 10 {
		t.Errorf("asked for %+v", asked)
	}
	w.do("POST", path, w.alice, object{"league": "trivia", "faults": []string{}}).is(200)
	if len(asked.Faults) != 0 {
		t.Errorf("asked for %+v", asked)
	}
	if h := w.do("POST", path, w.alice, object{"league": "trivia"}).is(429).header.Get("Retry-After"); h != "1200" {
		t.Errorf("Retry-After %q, want 20 minutes", h)
	}
	w.do("DELETE", "/v1/agents/"+id, w.alice, nil).is(204)
	w.do("POST", path, w.alice, object{"league": "trivia"}).is(409)
}

// Threat S7: no task goes to an endpoint that has never answered as an agent.
func TestAPI_rehearse_pending(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) {
		o.Rehearse = func(context.Context, arena.Rehearsal) (arena.RehearsalReport, error) {
			t.Error("an endpoint that nobody has checked was called")
			return arena.RehearsalReport{}, nil
		}
	})
	w.league("trivia", nil)
	r := w.do("POST", "/v1/agents", w.alice, object{"name": "victim", "endpoint": "https://down.example/agora", "leagues": []string{"trivia"}}).is(201)
	if r.at("status") != "pending" {
		t.Fatalf("%s", r.body)
	}
	r = w.do("POST", "/v1/agents/"+r.str("agent_id")+"/rehearse", w.alice, object{"league": "trivia"}).is(422)
	if r.at("code") != string(arena.CodeAgentNotReady) {
		t.Errorf("%s", r.body)
	}
}
