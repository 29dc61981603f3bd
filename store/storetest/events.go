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
	add := func(agent string) error { return second(f.AppendEvents(ctx, "m_1", agent, think)) }

	f.fails(arena.CodeRoundClosed, add(ids[0])) // no such match
	f.match("m_1", "trivia", ids...)
	f.fails(arena.CodeRoundClosed, add(ids[0])) // scheduled
	m := f.claim()
	f.ok(second(f.StartMatch(ctx, m.Lease, m.Seats, start, nil, nil)))
	f.fails(arena.CodeRoundClosed, add(ids[0])) // before round 1
	f.ok(second(f.OpenRound(ctx, m.Lease, round(1), nil)))
	f.fails(arena.CodeRoundClosed, add("ag_stranger"))

	// Round and agent come from the store, whatever the event says.
	think[0].Round, think[0].AgentID, think[0].MatchID, think[0].Seq = 7, ids[1], "m_other", 99
	think[0].At = start.Add(1_234_567 * time.Nanosecond)
	stored, err := f.AppendEvents(ctx, "m_1", ids[0], think)
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
	f.equal(stored[1:], must(f.EventsAfter(ctx, "m_1", 2, 10))(f))
	f.equal(stored[:1], must(f.EventsAfter(ctx, "m_1", 1, 1))(f))
	f.equal(0, len(must(f.EventsAfter(ctx, "m_1", 3, 10))(f)))
	f.equal(0, len(must(f.EventsAfter(ctx, "m_none", 0, 10))(f)))
	_, err = f.EventsAfter(ctx, "m_1", 0, 0)
	f.fails(arena.CodeInvalid, err)
	f.ok(second(f.AppendEvents(ctx, "m_1", ids[0], nil)))

	m.Seats[1].State = arena.SeatOut
	f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.fails(arena.CodeRoundClosed, add(ids[0])) // after round 1
	f.ok(second(f.OpenRound(ctx, m.Lease, round(2), nil)))
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
			add := f.AppendEvents
			if i%2 == 1 {
				add = other.AppendEvents
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
	f.ok(second(f.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, func([]arena.Event) ([]arena.Event, error) {
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

// shown: a delayed match as spectators see it, by every read that has
// something of it (rulebook, section 5; threat F1).
func shown(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c")
	m := arena.Match{ID: "m_1", League: "trivia", Settings: settings(), CreatedAt: start, StartsAt: start}
	m.Settings.Visibility = "delayed:30"
	for i, id := range ids {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: id, State: arena.SeatActive})
	}
	f.ok(second(f.CreateMatch(ctx, m, event(arena.EventMatchScheduled, `{}`))))
	later := func(seconds int, kind arena.EventType, body string) arena.Event {
		e := event(kind, body)
		e.At = start.Add(time.Duration(seconds) * time.Second)
		return e
	}
	// A match: its start, two rounds, and in between c leaves.
	lease := f.claim().Lease
	left := later(0, arena.EventAgentLeft, `{"outcome":"unavailable","reason":"paused"}`)
	left.AgentID = ids[2]
	seats := append([]arena.Seat(nil), m.Seats...)
	seats[2].State, seats[2].Outcome = arena.SeatLeft, arena.OutcomeUnavailable
	f.ok(second(f.StartMatch(ctx, lease, seats, start, nil, []arena.Event{later(0, arena.EventMatchStarted, `{}`), left})))
	opening := func(no, at int) {
		e := later(at, arena.EventRoundStarted, `{}`)
		e.Round = no
		f.ok(second(f.OpenRound(ctx, lease, round(no), []arena.Event{e})))
		think := later(at+1, arena.EventThinking, `{"message":"hm"}`)
		f.ok(second(f.AppendEvents(ctx, m.ID, ids[0], []arena.Event{think})))
	}
	answered := arena.Answer{Round: 1, AgentID: ids[0], Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4"}, Points: 700, Judged: true}
	opening(1, 10)
	f.clock.advance(20 * time.Second)
	seats[0].Points, seats[0].Outcome = 700, arena.OutcomeAnswered
	seats[1].State, seats[1].OutRound, seats[1].Outcome = arena.SeatOut, 1, arena.OutcomeTimeout
	f.ok(second(f.CloseRound(ctx, lease, arena.RoundClose{Round: 1, Seats: seats, Answers: []arena.Answer{answered}}, func([]arena.Event) ([]arena.Event, error) {
		e := later(20, arena.EventRoundClosed, `{"seats":[{"agent_id":"ag_a","points":0.7,"outcome":"answered"},{"agent_id":"ag_b","points":0,"outcome":"timeout"}],
			"standings":[{"agent_id":"ag_a","points":0.7,"place":1,"state":"active"},{"agent_id":"ag_b","points":0,"place":2,"state":"out"},{"agent_id":"ag_c","points":0,"place":3,"state":"left"}]}`)
		e.Round = 1
		return []arena.Event{e}, nil
	})))
	sealed := func(e *arena.Envelope) { e.MatchID, e.Round, e.AgentID, e.Recipient, e.Seq = "m_1", 1, ids[0], "", -1 }
	f.post(envelope("answer", 1, sealed))
	opening(2, 20) // six seconds after, nobody knows of it

	type view struct {
		Seq    int64
		Round  int
		Open   bool
		Points arena.Points
		B, C   arena.SeatState
		Rounds int // of a that count
	}
	now := 20
	see := func(at int, want view) {
		f.t.Helper()
		f.clock.advance(time.Duration(at-now) * time.Second)
		now = at
		seen := must(f.Shown(ctx, must(f.Match(ctx, m.ID))(f)))(f)
		counted := 0
		for _, c := range must(f.AgentResults(ctx, ids[0], 10))(f) {
			counted += c.Rounds
		}
		f.equal(counted, len(must(f.AgentClaims(ctx, ids[0], "", 10))(f)))
		f.equal(want, view{seen.Seq, seen.Round, seen.RoundOpen, seen.Seats[0].Points, seen.Seats[1].State, seen.Seats[2].State, counted})
		log := must(f.ShownAfter(ctx, m.ID, 0, 100))(f)
		f.equal(seen.Seq, int64(len(log)))
		f.equal(log[len(log)-1:], must(f.ShownAfter(ctx, m.ID, seen.Seq-1, 100))(f))
		f.equal(0, len(must(f.ShownAfter(ctx, m.ID, seen.Seq, 100))(f)))
	}
	relay := func(want int) {
		f.t.Helper()
		f.equal(want, len(must(f.ShowEnvelopes(ctx, f.clock.read(), 10))(f)))
	}
	active, out, gone := arena.SeatActive, arena.SeatOut, arena.SeatLeft
	see(20, view{1, 0, false, 0, active, active, 0}) // that it was scheduled is no secret
	see(30, view{3, 0, false, 0, active, gone, 0})
	see(39, view{3, 0, false, 0, active, gone, 0})
	see(40, view{4, 1, true, 0, active, gone, 0})
	see(41, view{5, 1, true, 0, active, gone, 0})
	see(49, view{5, 1, true, 0, active, gone, 0})
	relay(0)
	see(50, view{7, 2, true, 700, out, gone, 0})
	relay(1)
	see(3600, view{7, 2, true, 700, out, gone, 0}) // of an open round the task alone

	whole := must(f.Match(ctx, m.ID))(f)
	f.equal(int64(8), whole.Seq)
	seen := must(f.Shown(ctx, whole))(f)
	for i := range whole.Seats { // what spectators see is what was
		f.equal(whole.Seats[i], seen.Seats[i])
	}
	f.settle(whole, start.Add(time.Hour))
	over := must(f.Match(ctx, m.ID))(f)
	f.equal(over, must(f.Shown(ctx, over))(f))
	f.equal(over.Seq, int64(len(must(f.ShownAfter(ctx, m.ID, 0, 100))(f))))
	f.equal(1, len(must(f.AgentClaims(ctx, ids[0], "", 10))(f)))
	f.fails(arena.CodeNotFound, second(f.ShownAfter(ctx, "m_none", 0, 10)))

	// A match that is not delayed is shown as it is.
	live := f.open("m_2", ids[:2]...)
	live = must(f.Match(ctx, live.ID))(f)
	f.equal(live, must(f.Shown(ctx, live))(f))
}
