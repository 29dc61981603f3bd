package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/record"
)

// The request of a seat names the highest price of an offer. What the agent
// offered and delivered is stored with its answer; in a sealed match spectators
// see it when the round closes.
func TestEngine_Offers(t *testing.T) {
	t.Parallel()
	const plan = "look it up"
	body := arena.AnswerBody{
		Answer: "right 1", Offer: &arena.Offer{Plan: plan, PriceUSD: 0.2},
		Metrics: json.RawMessage(`{"cost_actual":0.1}`), Artifacts: json.RawMessage(`["notes"]`),
	}
	b := newBench(t, func(context.Context, arena.Attempt) arena.Reply {
		r := says(body.Answer)
		r.Answer = &body
		return r
	}, wrong)
	n := b.node("n1")
	due, scheduled := b.due("m_1")
	due.Settings.Rounds, due.Settings.MaxCostUSD, due.Settings.Visibility = 1, 0.25, arena.VisibilitySealed
	_, err := n.Create(t.Context(), due, scheduled)
	b.ok(err)
	m, events := b.over("m_1")
	for _, a := range b.asked {
		if a.MaxCostUSD != 0.25 {
			t.Errorf("agent %s may offer at most %g", a.Seat.AgentID, a.MaxCostUSD)
		}
	}
	answers, err := b.store.Matches.Answers(t.Context(), m.ID)
	if err != nil || len(answers) != 2 {
		t.Fatalf("%d answers, %v", len(answers), err)
	}
	found := false
	for _, a := range answers {
		if a.Body.Offer != nil {
			found = true
			if d := cmp.Diff(body, *a.Body); d != "" {
				t.Error(d)
			}
		}
	}
	shown := ""
	for _, e := range events {
		if bytes.Contains(e.Body, []byte(plan)) {
			shown += string(e.Type) + " "
		}
	}
	if !found || shown != "reveal " {
		t.Errorf("stored: %t; shown by %q, want reveal", found, shown)
	}
	_, file, _ := b.record(m.ID)
	r, err := record.Verify(file, func([]byte, record.Signature) error { return nil })
	if err != nil || !bytes.Contains(file, []byte(plan)) || r.Format != record.Format {
		t.Errorf("the record: %s, %v", r.Format, err)
	}
}
