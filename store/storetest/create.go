package storetest

import (
	"fmt"
	"slices"
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
		e, l, err := f.Matches.CreateAndClaim(ctx, m, event(arena.EventMatchScheduled, `{}`), "nd_1", ttl)
		f.ok(err)
		f.equal(int64(1), e.Seq)
		f.equal([]arena.EventType{arena.EventMatchScheduled}, types(f.log(m.ID)))
		return l
	}
	f.equal(arena.Lease{MatchID: "m_1", Node: "nd_1", Epoch: 1}, create(due("m_1", ids...), ttl))
	m := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(arena.MatchRunning, m.Status)
	f.equal(arena.Lease{MatchID: "m_1", Node: "nd_1", Epoch: 1}, m.Lease)
	f.equal(false, m.StartedAt.IsZero())
	f.equal(1, must(f.Agents.Agent(ctx, ids[0]))(f).Running)
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))
	f.equal(1, len(must(f.Matches.RenewLeases(ctx, "nd_1", []string{"m_1"}, ttl))(f)))

	// docs/rules.md, section 1: no free seat, so it waits. Another node has it once
	// there is one.
	f.equal(arena.Lease{}, create(due("m_2", ids...), ttl))
	f.equal(arena.MatchScheduled, must(f.Matches.Match(ctx, "m_2"))(f).Status)
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))
	first := round(1)
	_, err := f.Matches.StartMatch(ctx, m.Lease, m.Seats, start, &first, []arena.Event{event(arena.EventMatchStarted, `{}`), roundEvent()})
	f.ok(err)
	started := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(1, started.Round)
	f.equal(true, started.RoundOpen)
	f.equal(start, started.StartedAt)
	f.equal(3, len(f.log("m_1")))
	f.settle(m, start)

	// Whoever waited longest comes first: the seats are free, but promised.
	f.equal(arena.Lease{}, create(due("m_3", ids...), ttl))
	f.equal([]string{"m_2"}, matchIDs(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))

	// A node that is gone before it began: the lease ends, and another claims.
	c, d := f.agent("c").ID, f.agent("d").ID
	create(due("m_4", c, d), -time.Hour)
	claimed := must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)
	f.equal([]string{"m_4"}, matchIDs(claimed))
	f.equal(int64(2), claimed[0].Lease.Epoch)
	f.equal(0, claimed[0].Interruptions)

	later := due("m_5", f.agents("e", "f")...)
	later.StartsAt = start.Add(time.Millisecond)
	f.equal(arena.Lease{}, create(later, ttl))

	twice := due("m_6", c, c)
	_, _, err = f.Matches.CreateAndClaim(ctx, twice, event(arena.EventMatchScheduled, `{}`), "nd_1", ttl)
	f.fails(arena.CodeInvalid, err)
	_, _, err = f.Matches.CreateAndClaim(ctx, due("m_4", c, d), event(arena.EventMatchScheduled, `{}`), "nd_1", ttl)
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
			_, _, errs[i] = s.Matches.CreateAndClaim(ctx, due(fmt.Sprintf("m_%02d", i), busy.ID, other),
				event(arena.EventMatchScheduled, `{}`), fmt.Sprintf("nd_%d", i%2), ttl)
			if errs[i] == nil {
				_, errs[i] = s.Matches.ClaimMatches(ctx, fmt.Sprintf("nd_%d", i%2), ttl, 2, nil)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		f.ok(err)
	}
	f.equal(3, must(f.Agents.Agent(ctx, busy.ID))(f).Running)
	for _, m := range must(f.Matches.LiveMatches(ctx, "trivia"))(f) {
		f.equal(m.Status == arena.MatchRunning, m.Lease.Epoch == 1)
	}
}

// full is the estimate of a match of limited, for an agent that has played none.
const full = 300

// limited is due with a limit of the tokens of answers.
func limited(id string, agents ...string) arena.Match {
	m := due(id, agents...)
	m.Settings.MaxTokens = full / m.Settings.Rounds
	return m
}

// withBudget makes an agent with a budget that can play many matches at once.
func (f *fixture) withBudget(name string, b arena.Budget) arena.Agent {
	f.t.Helper()
	return f.agent(name, func(a *arena.Agent) { a.Budget, a.Health.MaxConcurrent = b, 100 })
}

// budgets checks that a budget is stored, and what matches cost from their creation
// to the next day.
func budgets(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	b := arena.Budget{TokensPerDay: 1000, Hours: &arena.PlayingHours{Zone: "Europe/Madrid", From: 60, To: 1440, Days: []time.Weekday{0, 6}}}
	a := f.agent("a")
	_, a, err := f.Agents.UpdateAgent(ctx, a.ID, func(a *arena.Agent) error {
		a.Budget, a.RoundTokens = b, 7
		return nil
	})
	f.ok(err)
	f.equal(b, a.Budget)
	f.equal(a, must(f.Agents.Agent(ctx, a.ID))(f))
	zones := arena.Zones{}
	today := zones.Day(a, start)
	use := func(d arena.AgentDay) arena.DayUse { return must(f.Budgets.DayUses(ctx, []arena.AgentDay{d}))(f)[a.ID] }
	f.equal(arena.DayUse{}, use(today))

	f.agent("b")
	m := f.open("m_1", a.ID, "ag_b")
	estimate := 2 * 3 * int64(7) // twice the rehearsal, in three rounds
	f.equal(arena.DayUse{Reserved: []int64{estimate}}, use(today))
	m.Seats[0].Tokens = 50
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.equal(arena.DayUse{Reserved: []int64{50}, Largest: 50}, use(today))
	end := start.Add(2 * time.Minute)
	seats := slices.Clone(result(m, true).Seats)
	seats[0].Tokens = 60
	r := result(m, true)
	r.Seats = seats
	f.ok(second(f.Matches.Settle(ctx, m.Lease, r, end, moves(m), finished)))
	// Threat C7: it ended by a clock that was ahead.
	f.equal(arena.DayUse{}, use(today))
	f.equal(true, must(f.Budgets.Played(ctx, "trivia", start, start))(f)[a.ID].Last.IsZero())
	f.clock.advance(2 * time.Minute)
	f.equal(arena.DayUse{Matches: 1, Tokens: 60, Largest: 60, WindowMatches: 1, WindowTokens: 60}, use(today))
	f.equal(arena.DayUse{Largest: 60, WindowMatches: 1, WindowTokens: 60}, use(zones.Day(a, start.Add(24*time.Hour))))
	f.clock.advance(arena.UseWindow + time.Hour)
	f.equal(arena.DayUse{}, use(zones.Day(a, f.clock.read())))

	played := must(f.Budgets.Played(ctx, "trivia", start, start))(f)
	f.equal(arena.Played{Matches: 1, First: start.Add(time.Minute), Last: end}, played[a.ID])
	f.equal(0, len(must(f.Budgets.Played(ctx, "trivia", end, end))(f)))
	f.equal(0, len(must(f.Budgets.Played(ctx, "other", start, start))(f)))

	c := f.withBudget("c", arena.Budget{MatchesPerDay: 1})
	_, lease, err := f.Matches.CreateAndClaim(ctx, due("m_2", c.ID, "ag_b"), event(arena.EventMatchScheduled, `{}`), "nd_1", ttl)
	f.ok(err)
	f.equal("m_2", lease.MatchID) // a budget does not delay the start
}

// budgetRefusals checks that the write of a match counts what the day has used, and
// changes nothing when the budget of an agent does not allow the match.
func budgetRefusals(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.agent("b")
	for _, test := range []struct {
		name    string
		budget  arena.Budget
		created int // of three
	}{
		{"matches", arena.Budget{MatchesPerDay: 2}, 2},
		{"tokens", arena.Budget{TokensPerDay: 2*full + 1}, 2},
	} {
		a := f.withBudget(test.name, test.budget)
		for i := range 3 {
			id := fmt.Sprintf("m_%s_%d", test.name, i)
			_, err := f.Matches.CreateMatch(ctx, limited(id, a.ID, "ag_b"), event(arena.EventMatchScheduled, `{}`))
			if i < test.created {
				f.ok(err)
				continue
			}
			f.fails(arena.CodeAgentNotReady, err)
			f.fails(arena.CodeNotFound, second(f.Matches.Match(ctx, id)))
		}
	}
	// A match of tomorrow counts tomorrow.
	f.ok(second(f.Matches.CreateMatch(ctx, later("m_later", 24*time.Hour, "ag_matches", "ag_b"), event(arena.EventMatchScheduled, `{}`))))
	// A canceled match costs nothing.
	f.ok(second(f.Matches.EndMatch(ctx, "m_matches_0", arena.MatchCancelled, arena.VoidReason{}, start, event(arena.EventMatchVoid, `{}`))))
	f.ok(second(f.Matches.CreateMatch(ctx, limited("m_again", "ag_matches", "ag_b"), event(arena.EventMatchScheduled, `{}`))))
	f.fails(arena.CodeAgentNotReady, second(f.Matches.CreateMatch(ctx, limited("m_once_more", "ag_matches", "ag_b"), event(arena.EventMatchScheduled, `{}`))))
}

func later(id string, d time.Duration, agents ...string) arena.Match {
	m := limited(id, agents...)
	m.StartsAt = m.StartsAt.Add(d)
	return m
}

// budgetRace has two nodes create matches of two agents with a budget side by side.
func budgetRace(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	few, cheap := f.withBudget("few", arena.Budget{MatchesPerDay: 5}), f.withBudget("cheap", arena.Budget{TokensPerDay: 3*full + 1})
	others := make([]string, 32)
	for i := range others {
		others[i] = f.agent(fmt.Sprintf("o%02d", i)).ID
	}
	peer := f.peer()
	errs := make([]error, len(others))
	var wg sync.WaitGroup
	for i, other := range others {
		s, a := f.Store, []string{few.ID, cheap.ID}[i/2%2]
		if i%2 == 1 {
			s = peer
		}
		wg.Go(func() {
			_, _, errs[i] = s.Matches.CreateAndClaim(ctx, limited(fmt.Sprintf("m_%02d", i), a, other), event(arena.EventMatchScheduled, `{}`), fmt.Sprintf("nd_%d", i%2), ttl)
		})
	}
	wg.Wait()
	refused := 0
	for _, err := range errs {
		if err != nil {
			f.fails(arena.CodeAgentNotReady, err)
			refused++
		}
	}
	f.equal(len(others)-5-3, refused)
	made := map[string]int{}
	for _, m := range must(f.Matches.LiveMatches(ctx, "trivia"))(f) {
		made[m.Seats[0].AgentID]++
	}
	f.equal(map[string]int{few.ID: 5, cheap.ID: 3}, made)
}
