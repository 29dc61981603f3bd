package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/match/engine"
)

// batching is a driver that can send without waiting.
type batching struct {
	*bench
	done []string // "tried" and "sent", with the agent, its round and its request's number
}

func (v *batching) Prepare(ctx context.Context, a arena.Attempt) (func(context.Context) arena.Reply, error) {
	send, err := v.bench.Prepare(ctx, a)
	note := func(what string) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.done = append(v.done, fmt.Sprintf("%s %s %d.%d", what, a.Seat.AgentID, a.Round, a.Number))
	}
	a.Batch.Add(func() { note("tried") })
	return func(ctx context.Context) arena.Reply {
		note("sent")
		return send(ctx)
	}, err
}

// A round tries to send all requests before it waits for a reply. A retry is
// sent by itself.
func TestEngine_Batch(t *testing.T) {
	t.Parallel()
	again := func(ctx context.Context, a arena.Attempt) arena.Reply {
		if a.Round == 2 && a.Number == 1 {
			r := bad(arena.OutcomeError, "dropped")
			r.Retry = true
			return r
		}
		return right(ctx, a)
	}
	b := newBench(t, again, right, right, right)
	v := &batching{bench: b}
	id := b.match()
	b.node("n1", func(o *engine.Options) { o.Drivers = map[string]engine.Driver{"fake": v} })
	b.over(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	orders := map[string]bool{}
	for round := 1; round <= 3; round++ {
		var did []string
		for _, d := range v.done {
			if strings.Contains(d, fmt.Sprintf(" %d.", round)) {
				did = append(did, d)
			}
		}
		want := 8
		if round == 2 {
			want++
		}
		if len(did) != want || slices.ContainsFunc(did[:4], func(d string) bool { return !strings.HasPrefix(d, "tried ") }) ||
			slices.ContainsFunc(did[4:], func(d string) bool { return !strings.HasPrefix(d, "sent ") }) {
			t.Fatalf("round %d: %q", round, did)
		}
		if round == 2 && !slices.Contains(did[4:], "sent ag_0 2.2") {
			t.Errorf("there is no second request: %q", did)
		}
		order := make([]string, 4)
		for i, d := range did[:4] {
			order[i] = strings.Fields(d)[1]
		}
		orders[strings.Join(order, " ")] = true
		if slices.Sort(order); len(slices.Compact(order)) != 4 {
			t.Errorf("round %d: %q", round, did)
		}
	}
	if len(orders) < 2 {
		t.Errorf("the seats are always in one order: %v", orders)
	}
}
