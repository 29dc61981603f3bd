package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// appendEvents: threat E5, the state table of agents' events.
func appendEvents(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	think := []arena.Event{event(arena.EventThinking, `{"message":"hm"}`), event(arena.EventToolCall, `{"tool":"t"}`)}
	add := func(agent string) error { return second(f.Matches.AppendEvents(ctx, "m_1", agent, think)) }

	f.fails(arena.CodeRoundClosed, add(ids[0])) // no such match
	f.match("m_1", "trivia", ids...)
	f.fails(arena.CodeRoundClosed, add(ids[0])) // scheduled
	m := f.claim()
	f.ok(second(f.Matches.StartMatch(ctx, m.Lease, m.Seats, start, nil, nil)))
	f.fails(arena.CodeRoundClosed, add(ids[0])) // before round 1
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(1), nil)))
	f.fails(arena.CodeRoundClosed, add("ag_stranger"))

	// Round and agent come from the store, whatever the event says.
	think[0].Round, think[0].AgentID, think[0].MatchID, think[0].Seq = 7, ids[1], "m_other", 99
	think[0].At = start.Add(1_234_567 * time.Nanosecond)
	stored, err := f.Matches.AppendEvents(ctx, "m_1", ids[0], think)
	f.ok(err)
	f.equal([]arena.Event{
		{
			MatchID: "m_1", Seq: 2, Round: 1, AgentID: ids[0], At: start.Add(time.Millisecond), Type: arena.EventThinking,
			Body: json.RawMessage(`{"message":"hm"}`),
		},
		{
			MatchID: "m_1", Seq: 3, Round: 1, AgentID: ids[0], At: start, Type: arena.EventToolCall,
			Body: json.RawMessage(`{"tool":"t"}`),
		},
	}, stored)
	f.equal(stored, f.log("m_1")[1:])
	f.equal(stored[1:], must(f.Matches.EventsAfter(ctx, "m_1", 2, 10))(f))
	f.equal(stored[:1], must(f.Matches.EventsAfter(ctx, "m_1", 1, 1))(f))
	f.equal(0, len(must(f.Matches.EventsAfter(ctx, "m_1", 3, 10))(f)))
	f.equal(0, len(must(f.Matches.EventsAfter(ctx, "m_none", 0, 10))(f)))
	_, err = f.Matches.EventsAfter(ctx, "m_1", 0, 0)
	f.fails(arena.CodeInvalid, err)
	f.ok(second(f.Matches.AppendEvents(ctx, "m_1", ids[0], nil)))

	m.Seats[1].State = arena.SeatOut
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.fails(arena.CodeRoundClosed, add(ids[0])) // after round 1
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(2), nil)))
	f.fails(arena.CodeRoundClosed, add(ids[1])) // out
	f.ok(add(ids[0]))
	f.settle(m, start)
	f.fails(arena.CodeRoundClosed, add(ids[0])) // over
	f.equal(arena.EventMatchFinished, f.log("m_1")[5].Type)
}

// appendRace: threat E5, many writers against the end of a round and of the
// match, on two nodes where there may be two.
func appendRace(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	other := f.peer()

	const writers = 50
	var wrote, stopped sync.WaitGroup
	wrote.Add(writers)
	accepted := make([][]int64, writers)
	errs := make([]error, writers)
	for i := range writers {
		stopped.Go(func() {
			first := sync.OnceFunc(wrote.Done)
			defer first()
			add := f.Matches.AppendEvents
			if i%2 == 1 {
				add = other.Matches.AppendEvents
			}
			for {
				stored, err := add(ctx, "m_1", ids[i%len(ids)], []arena.Event{
					event(arena.EventThinking, fmt.Sprintf(`{"message":"%d"}`, i)), event(arena.EventThinking, `{}`),
				})
				if err != nil {
					errs[i] = err
					return
				}
				for _, e := range stored {
					accepted[i] = append(accepted[i], e.Seq)
				}
				first()
			}
		})
	}
	wrote.Wait() // everyone has written: now the round and the match end under them
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, func([]arena.Event) ([]arena.Event, error) {
		return []arena.Event{event(arena.EventRoundClosed, `{}`)}, nil
	})))
	f.settle(m, start)
	stopped.Wait()

	for _, err := range errs {
		f.fails(arena.CodeRoundClosed, err)
	}
	events := f.log("m_1")
	kinds := types(events)
	f.equal(arena.EventMatchFinished, kinds[len(kinds)-1])
	f.equal(arena.EventRoundClosed, kinds[len(kinds)-2])
	var want []int64 // what was acknowledged is in the log, once
	for _, e := range events {
		if e.Type == arena.EventThinking {
			want = append(want, e.Seq)
		}
	}
	f.equal(want, slices.Sorted(slices.Values(slices.Concat(accepted...))))
}
