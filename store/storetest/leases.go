package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

func matchIDs(matches []arena.Match) []string {
	return pick(matches, func(m arena.Match) string { return m.ID })
}

func claimMatches(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	for i := range 4 {
		f.agents(fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i))
	}
	f.equal(time.Duration(0), must(f.Matches.UntilStart(ctx))(f))
	schedule := func(i int, at time.Time) {
		m := arena.Match{ID: fmt.Sprintf("m_%d", i), League: "trivia", Settings: settings(), CreatedAt: start, StartsAt: at}
		for no, side := range []string{"a", "b"} {
			m.Seats = append(m.Seats, arena.Seat{No: no, AgentID: fmt.Sprintf("ag_%s%d", side, i)})
		}
		_, err := f.Matches.CreateMatch(ctx, m, event(arena.EventMatchScheduled, `{}`))
		f.ok(err)
	}
	future := start.AddDate(200, 0, 0) // a Duration goes no further than 292 years
	schedule(0, start.Add(time.Hour))
	schedule(1, start)
	schedule(2, future.Add(time.Hour))
	schedule(3, future)
	f.equal(true, must(f.Matches.UntilStart(ctx))(f) > future.Sub(start)/2)

	claimed := must(f.Matches.ClaimMatches(ctx, "nd_1", ttl, 1, nil))(f) // the oldest first
	f.equal([]string{"m_1"}, matchIDs(claimed))
	m := claimed[0]
	f.equal(arena.MatchRunning, m.Status)
	f.equal(arena.Lease{MatchID: "m_1", Node: "nd_1", Epoch: 1}, m.Lease)
	f.equal(2, len(m.Seats))
	f.equal(false, m.StartedAt.IsZero())
	f.equal(m, must(f.Matches.Match(ctx, "m_1"))(f))
	f.equal(1, must(f.Agents.Agent(ctx, "ag_a1"))(f).Running)

	f.equal([]string{"m_0"}, matchIDs(must(f.Matches.ClaimMatches(ctx, "nd_1", ttl, 9, nil))(f)))
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 9, nil))(f)))
	f.equal(arena.MatchScheduled, must(f.Matches.Match(ctx, "m_2"))(f).Status) // not due: not ready
	_, err := f.Matches.ClaimMatches(ctx, "nd_1", ttl, 0, nil)
	f.fails(arena.CodeInvalid, err)
}

// claimFreeSeats: docs/rules.md, section 1: an agent takes a seat only while its
// running seats are fewer than its max_concurrent.
func claimFreeSeats(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	busy := f.agent("busy", func(a *arena.Agent) { a.Health.MaxConcurrent = 2 })
	ids := f.agents("a", "b", "c", "d")
	for i, other := range ids {
		f.match(fmt.Sprintf("m_%d", i), "trivia", busy.ID, other)
	}
	f.agents("x", "y")
	f.match("m_9", "trivia", "ag_x", "ag_y")

	// Four matches of busy are due; two fit, and they hold up nobody else.
	claimed := must(f.Matches.ClaimMatches(ctx, "nd_1", ttl, 10, nil))(f)
	f.equal([]string{"m_0", "m_1", "m_9"}, matchIDs(claimed))
	f.equal(2, must(f.Agents.Agent(ctx, busy.ID))(f).Running)
	f.equal(arena.MatchReady, must(f.Matches.Match(ctx, "m_2"))(f).Status)
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))

	// A seat that is out or has left its match is free again.
	m := claimed[0]
	_, err := f.Matches.StartMatch(ctx, m.Lease, m.Seats, start, nil, nil)
	f.ok(err)
	_, err = f.Matches.OpenRound(ctx, m.Lease, round(1), nil)
	f.ok(err)
	m.Seats[0].State = arena.SeatLeft
	_, err = f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)
	f.ok(err)
	f.equal(1, must(f.Agents.Agent(ctx, busy.ID))(f).Running)
	f.equal([]string{"m_2"}, matchIDs(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))

	// A running match is taken over however busy its agents are.
	f.ok(f.Matches.ReleaseLease(ctx, claimed[1].Lease))
	f.equal([]string{"m_1"}, matchIDs(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))
}

// claimOwn: a node that could not renew a lease in time keeps the match that it plays.
// Threat C5.
func claimOwn(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.match("m_1", "trivia", f.agents("a", "b")...)
	f.match("m_2", "trivia", f.agents("c", "d")...)
	claimed := must(f.Matches.ClaimMatches(ctx, "nd_1", -time.Hour, 2, nil))(f) // its leases end at once
	plays := func(l arena.Lease) bool { return l == claimed[0].Lease }
	again := must(f.Matches.ClaimMatches(ctx, "nd_1", ttl, 10, plays))(f)
	f.equal([]string{"m_2"}, matchIDs(again))
	f.equal(int64(2), again[0].Lease.Epoch)
	f.equal(claimed[0], must(f.Matches.Match(ctx, "m_1"))(f))
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f))) // it is renewed
}

func noEvents([]arena.Event) ([]arena.Event, error) { return nil, nil }

// claimAll lets goroutines on two nodes claim until nothing is left.
func claimAll(f *fixture, limit int) []string {
	ctx := f.t.Context()
	nodes := []*store.Matches{f.Matches, f.another().Matches}
	var wg sync.WaitGroup
	got, errs := make([][]string, 6), make([]error, 6)
	for i := range got {
		wg.Go(func() {
			for {
				claimed, err := nodes[i%2].ClaimMatches(ctx, fmt.Sprintf("nd_%d", i), ttl, limit, nil)
				if errs[i] = err; err != nil || len(claimed) == 0 {
					return
				}
				got[i] = append(got[i], matchIDs(claimed)...)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		f.ok(err)
	}
	return slices.Sorted(slices.Values(slices.Concat(got...)))
}

// claimRace: threat C3, two nodes never play one match.
func claimRace(f *fixture) {
	f.league("trivia")
	var want []string
	for i := range 12 {
		ids := f.agents(fmt.Sprintf("a%02d", i), fmt.Sprintf("b%02d", i))
		id := fmt.Sprintf("m_%02d", i)
		f.match(id, "trivia", ids...)
		want = append(want, id)
	}
	f.equal(want, claimAll(f, 2))
	for _, id := range want {
		f.equal(int64(1), must(f.Matches.Match(f.t.Context(), id))(f).Lease.Epoch)
	}
}

func claimFreeSeatsRace(f *fixture) {
	f.league("trivia")
	busy := f.agent("busy", func(a *arena.Agent) { a.Health.MaxConcurrent = 3 })
	for i := range 10 {
		f.match(fmt.Sprintf("m_%02d", i), "trivia", busy.ID, f.agent(fmt.Sprintf("a%02d", i)).ID)
	}
	f.equal(3, len(claimAll(f, 1)))
	f.equal(3, must(f.Agents.Agent(f.t.Context(), busy.ID))(f).Running)
}

func leases(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	m1 := f.begin("m_1", "trivia", f.agents("a", "b")...)
	m2 := f.begin("m_2", "trivia", f.agents("c", "d")...)
	held := func(node string, ttl time.Duration) []arena.Lease {
		ls := must(f.Matches.RenewLeases(ctx, node, []string{"m_2", "m_1"}, ttl))(f)
		slices.SortFunc(ls, func(a, b arena.Lease) int { return strings.Compare(a.MatchID, b.MatchID) })
		return ls
	}
	f.equal([]arena.Lease{m1.Lease, m2.Lease}, held("nd_1", ttl))
	f.equal(0, len(held("nd_2", ttl)))
	// Only what is named: a match that nobody plays must run out.
	f.equal([]arena.Lease{m2.Lease}, must(f.Matches.RenewLeases(ctx, "nd_1", []string{"m_2", "m_none"}, ttl))(f))
	f.equal(0, len(must(f.Matches.RenewLeases(ctx, "nd_1", nil, ttl))(f)))

	// A released match is anyone's at once and is no longer renewed.
	f.ok(f.Matches.ReleaseLease(ctx, m1.Lease))
	f.equal([]arena.Lease{m2.Lease}, held("nd_1", ttl))
	claimed := must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)
	f.equal([]string{"m_1"}, matchIDs(claimed))
	f.equal(int64(2), claimed[0].Lease.Epoch)
	f.equal(0, claimed[0].Interruptions)                  // it was given back
	f.equal(start.Add(time.Minute), claimed[0].StartedAt) // stays
	f.fails(arena.CodeLeaseLost, f.Matches.ReleaseLease(ctx, m1.Lease))

	// A lease that ended may be claimed however high the epoch is. Threat C2. It
	// counts only while the match is being judged. Threat J5.
	f.ok(second(f.Matches.OpenRound(ctx, m2.Lease, round(1), nil)))
	holder, charged := "nd_1", 0
	for epoch := int64(2); epoch <= 7; epoch++ {
		lease := arena.Lease{MatchID: "m_2", Node: holder, Epoch: epoch - 1}
		if epoch%2 == 0 {
			f.ok(f.Matches.MarkJudging(ctx, lease, 1))
			charged++
		}
		f.equal([]arena.Lease{lease}, held(holder, -time.Hour))
		holder = fmt.Sprintf("process %d", epoch)
		claimed := must(f.Matches.ClaimMatches(ctx, holder, ttl, 10, nil))(f)
		f.equal([]string{"m_2"}, matchIDs(claimed))
		f.equal(epoch, claimed[0].Lease.Epoch)
		f.equal(charged, claimed[0].Interruptions)
	}
	// A match that is over has no lease to renew.
	m2 = must(f.Matches.Match(ctx, "m_2"))(f)
	f.settle(m2, start)
	f.equal(0, len(held(holder, ttl)))
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_1", ttl, 10, nil))(f)))
}

// outages: threat C5, a lease that ended because its node could not reach the
// database does not count against the match.
func outages(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.equal(time.Duration(0), must(f.Matches.UntilLeaseEnd(ctx))(f))
	m := f.begin("m_1", "trivia", f.agents("a", "b")...)
	lapse := func(node string) {
		f.equal(1, len(must(f.Matches.RenewLeases(ctx, node, []string{"m_1"}, -time.Hour))(f)))
		f.equal(time.Duration(0), must(f.Matches.UntilLeaseEnd(ctx))(f))
	}
	interruptions := func() int { return must(f.Matches.Match(ctx, "m_1"))(f).Interruptions }
	claim := func(node string) arena.Lease {
		claimed := must(f.Matches.ClaimMatches(ctx, node, ttl, 10, nil))(f)
		f.equal([]string{"m_1"}, matchIDs(claimed))
		return claimed[0].Lease
	}

	// Nobody has claimed it: the node keeps its match, and nobody else gets it.
	lapse("nd_1")
	f.equal([]arena.Lease{m.Lease}, must(f.Matches.RenewLeases(ctx, "nd_1", []string{"m_1"}, ttl))(f))
	f.equal(true, must(f.Matches.UntilLeaseEnd(ctx))(f) > 0)
	f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(1), nil)))

	// Its own node claims it again.
	f.ok(f.Matches.MarkJudging(ctx, m.Lease, 1))
	lapse("nd_1")
	first := claim("nd_1")
	f.equal(m.Lease.Epoch+1, first.Epoch)
	f.equal(0, interruptions())
	f.ok(f.Matches.RevertInterruption(ctx, m.Lease)) // nothing was counted
	f.equal(0, interruptions())

	// Two others claim it, one after the other; both that lost it come back.
	f.ok(f.Matches.MarkJudging(ctx, first, 1))
	lapse("nd_1")
	other := claim("nd_2")
	f.equal(1, interruptions())
	f.ok(f.Matches.RevertInterruption(ctx, other)) // it holds
	f.equal(1, interruptions())
	f.ok(f.Matches.MarkJudging(ctx, other, 1))
	lapse("nd_2")
	third := claim("nd_3")
	f.equal(2, interruptions())
	f.ok(f.Matches.RevertInterruption(ctx, first))
	f.equal(1, interruptions())
	f.ok(f.Matches.RevertInterruption(ctx, other))
	f.equal(0, interruptions())
	f.ok(f.Matches.RevertInterruption(ctx, arena.Lease{MatchID: "m_none", Node: "nd_1", Epoch: 1}))

	// A match that is over stays as it is.
	f.ok(f.Matches.MarkJudging(ctx, third, 1))
	lapse("nd_3")
	last := claim("nd_4")
	f.settle(must(f.Matches.Match(ctx, "m_1"))(f), start)
	f.ok(f.Matches.RevertInterruption(ctx, other))
	f.equal(1, interruptions())
	f.equal(int64(5), last.Epoch)
}

// fencing: threat C2, a node that lost its lease changes nothing.
func fencing(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	stale := f.open("m_1", ids...)
	must(f.Matches.RenewLeases(ctx, "nd_1", []string{"m_1"}, -time.Hour))(f)
	current := must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 1, nil))(f)[0]
	before := must(f.Matches.Match(ctx, "m_1"))(f)

	es := []arena.Event{event(arena.EventSeatOutcome, `{}`)}
	over := event(arena.EventMatchVoid, `{}`)
	calls := map[string]func(l arena.Lease) error{
		"ReleaseLease": func(l arena.Lease) error { return f.Matches.ReleaseLease(ctx, l) },
		"StartMatch": func(l arena.Lease) error {
			return second(f.Matches.StartMatch(ctx, l, stale.Seats, start, nil, es))
		},
		"OpenRound": func(l arena.Lease) error { return second(f.Matches.OpenRound(ctx, l, round(1), es)) },
		"SaveAnswer": func(l arena.Lease) error {
			return second(f.Matches.SaveAnswer(ctx, l, arena.Answer{Round: 1, AgentID: ids[0], Outcome: arena.OutcomeError}, nil, es))
		},
		"CloseRound": func(l arena.Lease) error {
			return second(f.Matches.CloseRound(ctx, l, arena.RoundClose{Round: 1, Seats: stale.Seats}, noEvents))
		},
		"Settle": func(l arena.Lease) error {
			return second(f.Matches.Settle(ctx, l, result(stale, true), start, moves(stale), finished))
		},
		"VoidMatch": func(l arena.Lease) error {
			return second(f.Matches.VoidMatch(ctx, l, arena.OperatorReason("no"), stale.Seats, start, over))
		},
	}
	for name, call := range calls {
		for _, l := range []arena.Lease{
			stale.Lease,
			{MatchID: "m_1", Node: "nd_2", Epoch: current.Lease.Epoch + 1},
			{MatchID: "m_none", Node: "nd_2", Epoch: 1},
		} {
			if got := arena.CodeOf(call(l)); got != arena.CodeLeaseLost {
				f.t.Errorf("%s under %+v: code %q, want lease_lost", name, l, got)
			}
		}
	}
	if diff := cmp.Diff(before, must(f.Matches.Match(ctx, "m_1"))(f)); diff != "" {
		f.t.Errorf("a stale lease changed the match:\n%s", diff)
	}
	f.equal(0, len(must(f.Matches.Answers(ctx, "m_1"))(f)))
	f.equal(3, len(f.log("m_1")))

	// The current lease may do all of it; then the match is over and nobody.
	delete(calls, "Settle")
	for _, name := range []string{"StartMatch", "OpenRound", "SaveAnswer", "CloseRound", "VoidMatch"} {
		f.ok(calls[name](current.Lease))
	}
	f.ok(calls["VoidMatch"](current.Lease)) // once more: nothing
	delete(calls, "VoidMatch")
	for name, call := range calls {
		if got := arena.CodeOf(call(current.Lease)); got != arena.CodeLeaseLost {
			f.t.Errorf("%s after the end: code %q, want lease_lost", name, got)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// clockJump: threat C7, a lease ends by the clock of the database. What the
// clock of a node says ends none and keeps none.
func clockJump(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	m := f.begin("m_1", "trivia", f.agents("a", "b")...)
	for _, jump := range []time.Duration{time.Hour, -2 * time.Hour, 24 * time.Hour, -365 * 24 * time.Hour} {
		f.clock.advance(jump)
		f.equal(0, len(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))
		held := must(f.Matches.RenewLeases(ctx, m.Lease.Node, []string{"m_1"}, ttl))(f)
		f.equal(1, len(held))
		f.equal(m.Lease, held[0])
	}
	f.clock.advance(-time.Hour)
	f.equal(1, len(must(f.Matches.RenewLeases(ctx, m.Lease.Node, []string{"m_1"}, -time.Second))(f))) // it ends now
	f.equal([]string{"m_1"}, matchIDs(must(f.Matches.ClaimMatches(ctx, "nd_2", ttl, 10, nil))(f)))
}

func tlsFiles(f *fixture) {
	ctx := f.t.Context()
	_, err := f.Certificates.TLSFile(ctx, "a/certificate")
	f.fails(arena.CodeNotFound, err)
	f.ok(f.Certificates.PutTLSFile(ctx, "a/certificate", []byte("old")))
	f.ok(f.Certificates.PutTLSFile(ctx, "a/account/", []byte("other")))
	f.ok(f.Certificates.PutTLSFile(ctx, "a/certificate", []byte{0, 1}))
	f.equal([]byte{0, 1}, must(f.Certificates.TLSFile(ctx, "a/certificate"))(f))
	f.equal([]byte("other"), must(f.Certificates.TLSFile(ctx, "a/account/"))(f))
}

// A lock has one holder, who may extend it. It ends by the database's clock,
// whatever the clocks of the nodes are.
func tlsLocks(f *fixture) {
	ctx := f.t.Context()
	f.equal(true, must(f.Certificates.HoldTLSLock(ctx, "a", "1", time.Hour))(f))
	f.equal(false, must(f.Certificates.HoldTLSLock(ctx, "a", "2", time.Hour))(f))
	f.equal(true, must(f.Certificates.HoldTLSLock(ctx, "a", "1", time.Hour))(f))
	f.equal(true, must(f.Certificates.HoldTLSLock(ctx, "b", "2", time.Hour))(f))
	f.ok(f.Certificates.ReleaseTLSLock(ctx, "a", "2")) // not its own
	f.equal(false, must(f.Certificates.HoldTLSLock(ctx, "a", "2", time.Hour))(f))
	f.ok(f.Certificates.ReleaseTLSLock(ctx, "a", "1"))
	f.equal(true, must(f.Certificates.HoldTLSLock(ctx, "a", "2", -time.Second))(f)) // it has expired at once
	f.equal(true, must(f.Certificates.HoldTLSLock(ctx, "a", "1", time.Hour))(f))
	f.equal(false, must(f.Certificates.HoldTLSLock(ctx, "a", "2", time.Hour))(f))

	var holders atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if held, err := f.Certificates.HoldTLSLock(ctx, "c", strconv.Itoa(i), time.Hour); err == nil && held {
				holders.Add(1)
			}
		})
	}
	all.Wait()
	f.equal(int64(1), holders.Load())
}
