package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/builtin"
)

// matches is the store: one match, after a wait.
type matches struct {
	m    arena.Match
	wait time.Duration
	err  error
}

func (m matches) played(ctx context.Context, _ string) (arena.Settings, uint64, error) {
	select {
	case <-time.After(m.wait):
	case <-ctx.Done():
		return arena.Settings{}, 0, ctx.Err()
	}
	return m.m.Settings, m.m.Seed, m.err
}

func driver(m matches) *builtin.Driver {
	return builtin.New(builtin.Options{Played: m.played, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
}

func id(t *testing.T, name string) string {
	t.Helper()
	k, ok := arena.BuiltInOf(name)
	if !ok {
		t.Fatal(name)
	}
	return k.Agent(time.Time{}).ID
}

// ask returns the reply of an opponent in the only match.
func ask(t *testing.T, d *builtin.Driver, name string, a arena.Attempt) arena.Reply {
	t.Helper()
	a.MatchID, a.TimeLimit, a.Seat.AgentID = "m_1", time.Second, id(t, name)
	send, err := d.Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return send(t.Context())
}

// A move follows from the match, the seat and the round, and from the seed, which
// opponents do not know.
func TestDriver_Games(t *testing.T) {
	t.Parallel()
	play := func(seed uint64, round int) string {
		d := driver(matches{m: arena.Match{Seed: seed, Settings: arena.Settings{Game: &arena.GameSpec{Name: "connect_four"}}}})
		r := ask(t, d, "random", arena.Attempt{Round: round, Task: arena.Task{Observation: json.RawMessage(`{"board":[".......",".......",".......",".......",".......","......."],"you":"x"}`)}})
		if r.Outcome != arena.OutcomeAnswered || r.SentAt.IsZero() {
			t.Fatalf("%+v", r)
		}
		return r.Answer.Answer
	}
	bySeed, byRound := map[string]bool{}, map[string]bool{}
	for n := range 30 {
		if first, again := play(uint64(n), 1), play(uint64(n), 1); first != again {
			t.Errorf("%s and then %s", first, again)
		}
		bySeed[play(uint64(n), 1)], byRound[play(1, n)] = true, true
	}
	if len(bySeed) < 5 || len(byRound) < 5 {
		t.Errorf("moves by seed %v, by round %v", bySeed, byRound)
	}
}

// A question is known in every match or in none.
func TestDriver_Questions(t *testing.T) {
	t.Parallel()
	task := arena.Task{Description: "2 + 2?", Answers: []string{"4"}, Options: []string{"3", "4", "5"}}
	answers := map[string]bool{}
	for seed := range uint64(10) {
		d := driver(matches{m: arena.Match{Seed: seed, Settings: arena.Settings{Judge: arena.JudgeSpec{Kind: arena.JudgeChoice}}}})
		answers[ask(t, d, "p50", arena.Attempt{Round: 1 + int(seed), Task: task}).Answer.Answer] = true
	}
	if len(answers) != 1 {
		t.Errorf("one question is answered %v", answers)
	}
}

// A reply that cannot be computed is no answer, and one that comes too late is a
// timeout.
func TestDriver_Fails(t *testing.T) {
	t.Parallel()
	if _, err := driver(matches{}).Prepare(t.Context(), arena.Attempt{Seat: arena.Seat{AgentID: "ag_ann"}}); err == nil {
		t.Error("another agent is answered for")
	}
	for name, m := range map[string]matches{
		"no match":    {err: errors.New("disk on fire")},
		"other game":  {m: arena.Match{Settings: arena.Settings{Game: &arena.GameSpec{Name: "go"}}}},
		"no game":     {},
		"observation": {m: arena.Match{Settings: arena.Settings{Game: &arena.GameSpec{Name: "chess"}}}},
	} {
		if r := ask(t, driver(m), "greedy", arena.Attempt{}); r.Outcome != arena.OutcomeError || r.Answer != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		if r := ask(t, driver(matches{wait: time.Minute}), "greedy", arena.Attempt{}); r.Outcome != arena.OutcomeTimeout || r.Elapsed != time.Second {
			t.Errorf("%+v", r)
		}
	})
}

// Opponents are always healthy, and play many matches at once.
func TestDriver_Probe(t *testing.T) {
	t.Parallel()
	if h := driver(matches{}).Probe(t.Context(), arena.Agent{}); !h.OK || h.MaxConcurrent < 500 || h.CheckedAt.IsZero() {
		t.Errorf("%+v", h)
	}
}
