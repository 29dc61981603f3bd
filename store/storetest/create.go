package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

// due is a match that starts at its creation.
func due(id string, agents ...string) arena.Match {
	m := arena.Match{ID: id, League: "trivia", Settings: settings(), Seed: 7, CreatedAt: start, StartsAt: start}
	for i, a := range agents {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: a})
	}
	return m
}

func createAndClaim(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	create := func(m arena.Match, ttl time.Duration) arena.Lease {
		e, l, err := f.CreateAndClaim(ctx, m, event(arena.EventMatchScheduled, `{}`), "nd_1", ttl)
		f.ok(err)
		f.equal(int64(1), e.Seq)
		f.equal([]arena.EventType{arena.EventMatchScheduled}, types(f.log(m.ID)))
		return l
	}
	f.equal(arena.Lease{MatchID: "m_1", Node: "nd_1", Epoch: 1}, create(due("m_1", ids...), ttl))
	m := must(f.Match(ctx, "m_1"))(f)
	f.equal(arena.MatchRunning, m.Status)
	f.equal(arena.Lease{MatchID: "m_1", Node: "nd_1", Epoch: 1}, m.Lease)
	f.equal(false, m.StartedAt.IsZero())
	f.equal(1, must(f.Agent(ctx, ids[0]))(f).Running)
	f.equal(0, len(must(f.ClaimMatches(ctx, "nd_2", ttl, 10))(f)))
	f.equal(1, len(must(f.RenewLeases(ctx, "nd_1", []string{"m_1"}, ttl))(f)))

	// docs/rules.md, section 1: no free seat, so it waits. Another node has it once
	// there is one.
	f.equal(arena.Lease{}, create(due("m_2", ids...), ttl))
	f.equal(arena.MatchScheduled, must(f.Match(ctx, "m_2"))(f).Status)
	f.equal(0, len(must(f.ClaimMatches(ctx, "nd_2", ttl, 10))(f)))
	first := round(1)
	_, err := f.StartMatch(ctx, m.Lease, m.Seats, start, &first, []arena.Event{event(arena.EventMatchStarted, `{}`), roundEvent()})
	f.ok(err)
	started := must(f.Match(ctx, "m_1"))(f)
	f.equal(1, started.Round)
	f.equal(true, started.RoundOpen)
	f.equal(start, started.StartedAt)
	f.equal(3, len(f.log("m_1")))
	f.settle(m, start)

	// Whoever waited longest comes first: the seats are free, but promised.
	f.equal(arena.Lease{}, create(due("m_3", ids...), ttl))
	f.equal([]string{"m_2"}, matchIDs(must(f.ClaimMatches(ctx, "nd_2", ttl, 10))(f)))

	// A node that is gone before it began: the lease ends, and another claims.
	c, d := f.agent("c").ID, f.agent("d").ID
	create(due("m_4", c, d), -time.Hour)
	claimed := must(f.ClaimMatches(ctx, "nd_2", ttl, 10))(f)
	f.equal([]string{"m_4"}, matchIDs(claimed))
	f.equal(int64(2), claimed[0].Lease.Epoch)
	f.equal(0, claimed[0].Interruptions)

	later := due("m_5", f.agents("e", "f")...)
	later.StartsAt = start.Add(time.Millisecond)
	f.equal(arena.Lease{}, create(later, ttl))

	twice := due("m_6", c, c)
	_, _, err = f.CreateAndClaim(ctx, twice, event(arena.EventMatchScheduled, `{}`), "nd_1", ttl)
	f.fails(arena.CodeInvalid, err)
	_, _, err = f.CreateAndClaim(ctx, due("m_4", c, d), event(arena.EventMatchScheduled, `{}`), "nd_1", ttl)
	f.fails(arena.CodeConflict, err)
}

// createAndClaimRace: nodes that create and claim side by side give an agent
// no more seats than it has.
func createAndClaimRace(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	busy := f.agent("busy", func(a *arena.Agent) { a.Health.MaxConcurrent = 3 })
	others := make([]string, 24)
	for i := range others {
		others[i] = f.agent(fmt.Sprintf("a%02d", i)).ID
	}
	var wg sync.WaitGroup
	errs := make([]error, len(others))
	peer := f.peer()
	for i, other := range others {
		s := f.Store
		if i%2 == 1 {
			s = peer
		}
		wg.Go(func() {
			_, _, errs[i] = s.CreateAndClaim(ctx, due(fmt.Sprintf("m_%02d", i), busy.ID, other),
				event(arena.EventMatchScheduled, `{}`), fmt.Sprintf("nd_%d", i%2), ttl)
			if errs[i] == nil {
				_, errs[i] = s.ClaimMatches(ctx, fmt.Sprintf("nd_%d", i%2), ttl, 2)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		f.ok(err)
	}
	f.equal(3, must(f.Agent(ctx, busy.ID))(f).Running)
	for _, m := range must(f.LiveMatches(ctx, "trivia"))(f) {
		f.equal(m.Status == arena.MatchRunning, m.Lease.Epoch == 1)
	}
}
