package storetest

import (
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

func createMatch(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	a, b := f.agent("a"), f.agent("b")
	m := arena.Match{
		ID: "m_1", League: "trivia", Settings: settings(), Seed: 1<<64 - 1, CreatedAt: start,
		Seats: []arena.Seat{{No: 0, AgentID: a.ID}, {No: 1, AgentID: b.ID}},
	}
	e, err := f.Matches.CreateMatch(ctx, m, event(arena.EventMatchScheduled, `{"rated":true}`))
	f.ok(err)
	want := event(arena.EventMatchScheduled, `{"rated":true}`)
	want.MatchID, want.Seq = "m_1", 1
	f.equal(want, e)
	f.equal([]arena.Event{want}, f.log("m_1"))

	stored := m
	stored.Status, stored.StartsAt, stored.Seq, stored.Lease = arena.MatchScheduled, start, 1, arena.Lease{MatchID: "m_1"}
	stored.Seats = []arena.Seat{seatOf(0, a), seatOf(1, b)}
	f.equal(stored, must(f.Matches.Match(ctx, "m_1"))(f))

	// Until it starts, a seat is its agent as it is now.
	_, b, err = f.Agents.UpdateAgent(ctx, b.ID, func(a *arena.Agent) error { a.Name, a.Endpoint = "bee", "http://new"; return nil })
	f.ok(err)
	f.equal(seatOf(1, b), must(f.Matches.Match(ctx, "m_1"))(f).Seats[1])

	_, err = f.Matches.Match(ctx, "m_none")
	f.fails(arena.CodeNotFound, err)
	for _, c := range []struct {
		code   arena.Code
		change func(*arena.Match)
	}{
		{arena.CodeConflict, func(*arena.Match) {}},
		{arena.CodeNotFound, func(m *arena.Match) { m.League = "none" }},
		{arena.CodeInvalid, func(m *arena.Match) { m.Seats[1].AgentID = "ag_none" }},
		{arena.CodeInvalid, func(m *arena.Match) { m.Seats[1].AgentID = a.ID }},
	} {
		again := m
		again.Seats = []arena.Seat{{No: 0, AgentID: a.ID}, {No: 1, AgentID: b.ID}}
		if c.code != arena.CodeConflict {
			again.ID = "m_2"
		}
		c.change(&again)
		_, err := f.Matches.CreateMatch(ctx, again, e)
		f.fails(c.code, err)
	}
	f.equal(1, len(must(f.Matches.LiveMatches(ctx, "trivia"))(f)))
}

func seatOf(no int, a arena.Agent) arena.Seat {
	return arena.Seat{
		No: no, AgentID: a.ID, Name: a.Name, OwnerID: a.OwnerID, Protocol: a.Protocol, Endpoint: a.Endpoint,
		PublicKey: a.PublicKey, Version: a.Version, State: arena.SeatActive,
	}
}

func listMatches(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b", "c")
	f.settle(f.begin("m_1", "trivia", ids[0], ids[1]), start)
	f.begin("m_2", "sums", ids[0], ids[2])
	f.match("m_3", "trivia", ids[1], ids[2])
	due := start.Add(time.Minute)
	for _, c := range []struct {
		filter arena.MatchFilter
		want   []string
	}{
		{arena.MatchFilter{}, []string{"m_3", "m_2", "m_1"}},
		{arena.MatchFilter{League: "trivia"}, []string{"m_3", "m_1"}},
		{arena.MatchFilter{AgentID: ids[0]}, []string{"m_2", "m_1"}},
		{arena.MatchFilter{Statuses: []arena.MatchStatus{arena.MatchScheduled, arena.MatchFinished}}, []string{"m_3", "m_1"}},
		{arena.MatchFilter{League: "sums", AgentID: ids[2], Statuses: []arena.MatchStatus{arena.MatchRunning}}, []string{"m_2"}},
		{arena.MatchFilter{League: "none"}, []string{}},
		{arena.MatchFilter{IDs: []string{"m_1", "m_none", "m_2"}}, []string{"m_2", "m_1"}},
		{arena.MatchFilter{IDs: []string{"m_1", "m_2"}, League: "trivia"}, []string{"m_1"}},
		{arena.MatchFilter{IDs: []string{"m_1"}, AgentID: ids[0]}, []string{"m_1"}},
		{arena.MatchFilter{IDs: []string{"m_1"}, Statuses: []arena.MatchStatus{arena.MatchRunning, arena.MatchFinished}}, []string{"m_1"}},
		{arena.MatchFilter{AgentID: ids[0], OpponentID: ids[2]}, []string{"m_2"}},
		{arena.MatchFilter{AgentID: ids[2], OpponentID: ids[0], League: "trivia"}, []string{}},
		{arena.MatchFilter{AgentID: ids[0], OpponentID: "ag_none"}, []string{}},
		{arena.MatchFilter{Query: "A"}, []string{"m_2", "m_1"}},
		{arena.MatchFilter{Query: "a", League: "sums"}, []string{"m_2"}},
		{arena.MatchFilter{Query: "b", AgentID: ids[2]}, []string{"m_3"}},
		{arena.MatchFilter{Query: "%"}, []string{}},
		{arena.MatchFilter{From: due}, []string{"m_3", "m_2", "m_1"}},
		{arena.MatchFilter{From: due.Add(time.Millisecond)}, []string{}},
		{arena.MatchFilter{To: due}, []string{}},
		{arena.MatchFilter{To: due.Add(time.Millisecond), Soonest: true}, []string{"m_1", "m_2", "m_3"}},
		{arena.MatchFilter{From: start, AgentID: ids[0]}, []string{"m_2", "m_1"}},
		{arena.MatchFilter{Soonest: true, Query: "c", League: "trivia"}, []string{"m_3"}},
		{arena.MatchFilter{Soonest: true, League: "trivia", Statuses: []arena.MatchStatus{arena.MatchScheduled, arena.MatchFinished}}, []string{"m_1", "m_3"}},
		{arena.MatchFilter{From: start, Statuses: []arena.MatchStatus{arena.MatchRunning}}, []string{"m_2"}},
	} {
		items, _, err := f.Matches.Matches(ctx, c.filter, arena.Page{Limit: 10})
		f.ok(err)
		f.equal(c.want, pick(items, func(m arena.Match) string { return m.ID }))
		for _, m := range items {
			f.equal(must(f.Matches.Match(ctx, m.ID))(f), m)
		}
		var paged []string // one by one it is the same
		for p := (arena.Page{Limit: 1}); ; {
			items, next, err := f.Matches.Matches(ctx, c.filter, p)
			f.ok(err)
			paged = append(paged, matchIDs(items)...)
			if p.Cursor = next; next == "" {
				break
			}
		}
		f.equal(strings.Join(c.want, " "), strings.Join(paged, " "))
	}
	soon := arena.Match{ID: "m_9", League: "trivia", CreatedAt: start, Seats: []arena.Seat{{No: 0, AgentID: ids[0]}}}
	_, err := f.Matches.CreateMatch(ctx, soon, event(arena.EventMatchScheduled, `{}`))
	f.ok(err)
	f.equal([]string{"m_9", "m_3"}, matchIDs(must(f.Matches.LiveMatches(ctx, "trivia"))(f))) // first to start first

	// Where the order is by start, ids do not matter.
	early := arena.Match{ID: "m_99", League: "sums", CreatedAt: start, StartsAt: start.Add(-time.Hour), Seats: []arena.Seat{{No: 0, AgentID: ids[0]}}}
	_, err = f.Matches.CreateMatch(ctx, early, event(arena.EventMatchScheduled, `{}`))
	f.ok(err)
	var paged []string
	for p := (arena.Page{Limit: 2}); ; {
		items, next, err := f.Matches.Matches(ctx, arena.MatchFilter{Soonest: true}, p)
		f.ok(err)
		paged = append(paged, matchIDs(items)...)
		if p.Cursor = next; next == "" {
			break
		}
	}
	f.equal([]string{"m_99", "m_9", "m_1", "m_2", "m_3"}, paged)
	for _, cursor := range []string{"dDp4Om1fMQ", "dDox"} { // t:x:m_1, t:1
		_, _, err := f.Matches.Matches(ctx, arena.MatchFilter{Soonest: true}, arena.Page{Limit: 2, Cursor: cursor})
		f.fails(arena.CodeInvalid, err)
	}
}

func endMatch(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	end := func(id string, status arena.MatchStatus, kind arena.EventType) error {
		_, err := f.Matches.EndMatch(ctx, id, status, arena.OperatorReason("rain"), start.Add(time.Hour), event(kind, `{"reason":"rain"}`))
		return err
	}
	f.match("m_1", "trivia", ids...)
	f.ok(end("m_1", arena.MatchCancelled, arena.EventMatchVoid))
	m := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(arena.MatchCancelled, m.Status)
	f.equal(arena.OperatorReason("rain"), m.VoidReason)
	f.equal(start.Add(time.Hour), m.FinishedAt)
	f.equal([]arena.EventType{arena.EventMatchScheduled, arena.EventMatchVoid}, types(f.log("m_1")))
	f.fails(arena.CodeConflict, end("m_1", arena.MatchVoid, arena.EventMatchVoid))
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_1", ttl, 10, nil))(f)))

	// A running match can only be made void, and its runner loses it.
	running := f.open("m_2", ids...)
	f.fails(arena.CodeConflict, end("m_2", arena.MatchCancelled, arena.EventMatchVoid))
	f.equal(1, must(f.Agents.Agent(ctx, ids[0]))(f).Running)
	f.ok(end("m_2", arena.MatchVoid, arena.EventMatchVoid))
	f.equal(0, must(f.Agents.Agent(ctx, ids[0]))(f).Running)
	f.equal(false, must(f.Matches.Match(ctx, "m_2"))(f).RoundOpen)
	f.fails(arena.CodeLeaseLost, f.Matches.ReleaseLease(ctx, running.Lease))
	_, err := f.Matches.AppendEvents(ctx, "m_2", ids[0], []arena.Event{event(arena.EventThinking, `{}`)})
	f.fails(arena.CodeRoundClosed, err)
	f.equal(arena.EventMatchVoid, f.log("m_2")[3].Type)

	f.fails(arena.CodeNotFound, end("m_none", arena.MatchVoid, arena.EventMatchVoid))
	if err := end("m_1", arena.MatchFinished, arena.EventMatchFinished); err == nil {
		f.t.Fatal("EndMatch finished a match")
	}
}

func meetings(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b", "c")
	f.settle(f.begin("m_0", "sums", ids[1], ids[2]), start)
	f.match("m_1", "trivia", ids[0], ids[1])
	f.match("m_2", "trivia", ids[1], ids[0])
	f.match("m_3", "trivia", ids...) // not a duel
	f.match("m_4", "sums", ids[0], ids[1])
	f.match("m_5", "trivia", ids[0], ids[2])
	_, err := f.Matches.EndMatch(ctx, "m_5", arena.MatchCancelled, arena.VoidReason{}, start, event(arena.EventMatchVoid, `{}`))
	f.ok(err)
	at := start.Add(time.Minute)
	f.equal([]arena.Meeting{{A: ids[0], B: ids[1], At: at}, {A: ids[1], B: ids[0], At: at}}, must(f.Operations.Meetings(ctx, "trivia", at))(f))
	f.equal(0, len(must(f.Operations.Meetings(ctx, "trivia", at.Add(time.Millisecond)))(f)))
	f.equal(2, len(must(f.Operations.Meetings(ctx, "sums", at))(f)))
	for _, step := range []time.Duration{10 * time.Minute, 72 * time.Hour} { // threat C7: it was played by a clock that was ahead
		f.clock.advance(-step)
		f.equal([]arena.Meeting{{A: ids[0], B: ids[1], At: at}}, must(f.Operations.Meetings(ctx, "sums", at))(f))
	}
}

// claimTick: threat C3, a tick of a job is run by one node.
func claimTick(f *fixture) {
	ctx := f.t.Context()
	other := f.another()
	f.equal(true, must(f.Operations.LastTick(ctx, "sweep"))(f).IsZero())
	f.equal(true, must(f.Operations.ClaimTick(ctx, "sweep", time.Hour))(f))
	last := must(f.Operations.LastTick(ctx, "sweep"))(f)
	f.equal(false, last.IsZero())
	f.equal(false, must(f.Operations.ClaimTick(ctx, "sweep", time.Hour))(f))
	f.equal(false, must(other.Operations.ClaimTick(ctx, "sweep", time.Hour))(f))
	f.equal(true, must(other.Operations.ClaimTick(ctx, "other", time.Hour))(f))
	// What the clocks of nodes are does not matter.
	f.clock.advance(72 * time.Hour)
	f.equal(false, must(other.Operations.ClaimTick(ctx, "sweep", time.Hour))(f))
	f.equal(last, must(other.Operations.LastTick(ctx, "sweep"))(f))
}

func counts(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c")
	f.agent("pending", func(a *arena.Agent) { a.PassedAt = time.Time{} })
	f.agent("expired", func(a *arena.Agent) {
		a.PassedAt, a.Pauses = time.Time{}, []arena.Pause{{Reason: arena.PauseExpired}}
	})
	f.agent("paused", func(a *arena.Agent) { a.Pauses = []arena.Pause{{Reason: arena.PauseOwner}} })
	f.agent("limited", func(a *arena.Agent) {
		a.Pauses = []arena.Pause{{Reason: arena.PauseRateLimit, Until: start.Add(time.Minute)}}
	})
	f.agent("retired", func(a *arena.Agent) { a.RetiredAt = start })
	f.settle(f.begin("m_1", "trivia", ids[0], ids[1]), start) // 3 events
	f.match("m_2", "trivia", ids...)                          // 1 event
	f.equal(arena.Counts{
		Agents: map[arena.AgentStatus]int{
			arena.AgentActive: 3, arena.AgentPending: 1, arena.AgentPaused: 3, arena.AgentRetired: 1,
		},
		Matches: map[arena.MatchStatus]int{arena.MatchFinished: 1, arena.MatchScheduled: 1},
		Events:  4, Settlements: 1,
	}, must(f.Operations.Counts(ctx))(f))
	f.clock.advance(time.Minute)
	f.equal(2, must(f.Operations.Counts(ctx))(f).Agents[arena.AgentPaused])

	// Each end counts once, with the whole log.
	f.ok(second(f.Matches.EndMatch(ctx, "m_2", arena.MatchCancelled, arena.VoidReason{}, start, event(arena.EventMatchVoid, `{}`))))
	void := f.begin("m_3", "trivia", ids[0], ids[1])
	f.ok(second(f.Matches.VoidMatch(ctx, void.Lease, arena.OperatorReason("test"), result(void, false).Seats, start, event(arena.EventMatchVoid, `{}`))))
	after := must(f.Operations.Counts(ctx))(f)
	f.equal(map[arena.MatchStatus]int{arena.MatchFinished: 1, arena.MatchVoid: 1, arena.MatchCancelled: 1}, after.Matches)
	f.equal(int64(3+3+2), after.Events)
	f.equal(3, must(f.Matches.DropEvents(ctx, start.Add(time.Hour), 10))(f))
	f.equal(int64(0), must(f.Operations.Counts(ctx))(f).Events)
}

func opponents(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c")
	f.settle(f.begin("m_1", "trivia", ids[0], ids[1]), start)
	f.settle(f.begin("m_2", "trivia", ids[1], ids[0], ids[2]), start) // a and c share place 2
	m := f.begin("m_3", "trivia", ids[0], ids[2])
	r := result(m, false)
	r.Seats[1].State = arena.SeatLeft
	_, err := f.Matches.Settle(ctx, m.Lease, r, start, moves(m), finished)
	f.ok(err)
	f.equal([]arena.OpponentRecord{
		{AgentID: ids[1], Name: "b", Matches: 2, Wins: 1, Losses: 1},
		{AgentID: ids[2], Name: "c", Matches: 1, Draws: 1},
	}, must(f.Ratings.Opponents(ctx, ids[0]))(f))
	f.equal(0, len(must(f.Ratings.Opponents(ctx, "ag_none"))(f)))

	// Neither a second settlement nor a match that does not count changes them;
	// another score of the same match does, and may be taken back.
	f.equal(0, len(must(f.Matches.Settle(ctx, m.Lease, r, start, moves(m), finished))(f)))
	void := f.begin("m_4", "trivia", ids[0], ids[1])
	f.ok(second(f.Matches.VoidMatch(ctx, void.Lease, arena.OperatorReason("a seat left"), result(void, false).Seats, start, event(arena.EventMatchVoid, `{}`))))
	first := must(f.Matches.Match(ctx, "m_1"))(f)
	first.Seats[0].Place, first.Seats[1].Place = 2, 1
	f.ok(f.Matches.SaveRescore(ctx, arena.Rescore{MatchID: "m_1", Seats: first.Seats}))
	f.equal([]arena.OpponentRecord{
		{AgentID: ids[1], Name: "b", Matches: 2, Losses: 2},
		{AgentID: ids[2], Name: "c", Matches: 1, Draws: 1},
	}, must(f.Ratings.Opponents(ctx, ids[0]))(f))
	f.equal([]arena.OpponentRecord{
		{AgentID: ids[0], Name: "a", Matches: 2, Wins: 2},
		{AgentID: ids[2], Name: "c", Matches: 1, Wins: 1},
	}, must(f.Ratings.Opponents(ctx, ids[1]))(f))
	first.Seats[0].Place = 1
	f.ok(f.Matches.SaveRescore(ctx, arena.Rescore{MatchID: "m_1", Seats: first.Seats}))
	f.equal(arena.OpponentRecord{AgentID: ids[1], Name: "b", Matches: 2, Draws: 1, Losses: 1}, must(f.Ratings.Opponents(ctx, ids[0]))(f)[0])
}
