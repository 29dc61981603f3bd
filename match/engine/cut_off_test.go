package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
)

// cut makes a node believe that it is cut off from agents.
func cut(o *engine.Options) { o.CutOff = func(context.Context, time.Time) bool { return true } }

// Threat N1: a round in which an attempt has no reply because the arena is cut
// off is void for all seats. No seat leaves, loses it or is timed out.
func TestEngine_CutOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails arena.Reply
		void  bool
	}{
		"not reached":         {refusing, true},
		"no reply in time":    {bad(arena.OutcomeTimeout, "time_limit"), true},
		"connection lost":     {bad(arena.OutcomeError, "dropped"), true},
		"no poll":             {bad(arena.OutcomeUnavailable, "not_polling"), true},
		"an error":            {failing, false},
		"late":                {arena.Reply{Outcome: arena.OutcomeTimeout, Status: 200, Reason: "late"}, false},
		"a reply that is bad": {arena.Reply{Outcome: arena.OutcomeInvalid, Status: 200, Reason: "bad_json"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, in(1, always(c.fails)), right)
			b.node("n1", cut)
			id := b.match()
			m, events := b.over(id)
			var of1 []arena.Answer
			all, err := b.store.Matches.Answers(t.Context(), id)
			b.ok(err)
			for _, a := range all {
				if a.Round == 1 {
					of1 = append(of1, a)
				}
			}
			for _, a := range of1 {
				if got := a.Outcome == arena.OutcomeVoid && a.Reason == arena.ReasonCutOff && a.Points == 0; got != c.void {
					t.Errorf("answer %+v", a)
				}
			}
			if !c.void {
				return
			}
			if m.Status != arena.MatchFinished || m.Seats[0].Points != 2*arena.OnePoint || m.Seats[1].Points != 2*arena.OnePoint ||
				m.Seats[0].State != arena.SeatActive || m.Seats[0].LostRounds != 0 || *m.Seats[0].Delta != 0 {
				t.Errorf("match %+v", m)
			}
			for _, e := range events {
				if e.Type == arena.EventAgentLeft {
					t.Errorf("event %s", e.Body)
				}
			}
		})
	}
}

// What the network knows is asked about the time since the request was sent.
func TestEngine_CutOff_since(t *testing.T) {
	t.Parallel()
	b := newBench(t, in(1, always(bad(arena.OutcomeTimeout, "time_limit"))), right)
	since := make(chan time.Time, 10)
	b.node("n1", func(o *engine.Options) {
		o.CutOff = func(_ context.Context, t time.Time) bool { since <- t; return false }
	})
	before := time.Now()
	id := b.match()
	b.over(id)
	if len(since) != 1 {
		t.Fatalf("asked %d times", len(since))
	}
	if at := <-since; at.Before(before) || at.After(time.Now()) {
		t.Errorf("asked since %v, the match began at %v", at, before)
	}
	if diff := cmp.Diff(outcomes("timeout answered answered"), b.answers(id)[agentID(0)]); diff != "" {
		t.Error(diff)
	}
}

// An elimination goes on with all seats, and a debate is judged without the void
// turn. A node that takes the match over sees the same.
func TestEngine_CutOff_games(t *testing.T) {
	t.Parallel()
	t.Run("elimination", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, in(1, always(refusing)), in(1, wrong), right)
		b.node("n1", cut)
		m, _ := b.over(b.match(func(s *arena.Settings) { s.Format, s.Rounds = arena.FormatElimination, 2 }))
		for _, s := range m.Seats {
			if s.State != arena.SeatActive || s.Points != arena.OnePoint {
				t.Errorf("seat %+v", s)
			}
		}
	})
	t.Run("debate", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, in(1, always(refusing)), right)
		j := &jury{}
		b.node("n1", cut, j.join)
		b.over(b.match(func(s *arena.Settings) {
			s.Judge, s.Debate, s.Rounds = arena.JudgeSpec{Kind: arena.JudgeModel}, &arena.DebateSpec{Turns: 2}, 4
		}))
		if len(j.asked) != 2 {
			t.Fatalf("judged %d times", len(j.asked))
		}
		for _, a := range j.asked[0].Answers {
			if strings.Contains(a.Text, "right 1") {
				t.Errorf("the judge got the speech of a void turn: %q", a.Text)
			}
		}
	})
	t.Run("taken over", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, in(1, always(refusing)), in(1, hang))
		id := b.match()
		first := b.node("n1", lively, impatient, cut)
		b.wait("seat 0 has its outcome", func() bool {
			return count(b.published, func(e arena.Event) bool { return e.Type == arena.EventSeatOutcome }) == 1
		})
		first.stop()
		b.mu.Lock()
		b.agent[agentID(1)] = right
		b.mu.Unlock()
		b.node("n2", lively)
		m, _ := b.over(id)
		if diff := cmp.Diff(outcomes("void answered answered"), b.answers(id)[agentID(1)]); diff != "" || m.Seats[1].Points != 2*arena.OnePoint {
			t.Errorf("seats %+v: %s", m.Seats, diff)
		}
	})
}
