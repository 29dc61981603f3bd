package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agora-arena/arena/arena"
)

func settle(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	at := start.Add(time.Hour)
	changes := []arena.RatingChange{
		{AgentID: ids[0], Before: 1_500_000, After: 1_520_000, Delta: 20_000, K: 40, Score: 1000, Matches: 1},
		{AgentID: ids[1], Before: 1_500_000, After: 1_490_000, Delta: -10_000, K: 20, Score: 0, Matches: 1},
	}
	stored, err := f.Matches.Settle(ctx, m.Lease, result(m, true), at, func(before map[string]arena.Rating) []arena.RatingChange {
		f.equal(map[string]arena.Rating{
			ids[0]: arena.NewRating("trivia", ids[0]), ids[1]: arena.NewRating("trivia", ids[1]),
		}, before)
		return changes
	}, func(got []arena.RatingChange) (arena.Event, error) {
		f.equal(changes, got)
		return finished(got)
	})
	f.ok(err)
	events := f.log("m_1")
	f.equal(stored, events[len(events)-1:])
	f.equal(arena.EventMatchFinished, stored[0].Type)

	now := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(arena.MatchFinished, now.Status)
	f.equal(at, now.FinishedAt)
	seats := result(m, true).Seats
	seats[0].Before, seats[0].Delta = 1_500_000, new(arena.MilliElo(20_000))
	seats[1].Before, seats[1].Delta = 1_500_000, new(arena.MilliElo(-10_000))
	f.equal(seats, now.Seats)
	f.equal(0, must(f.Agents.Agent(ctx, ids[0]))(f).Running)
	f.equal(arena.MilliElo(10_000), must(f.Leagues.League(ctx, "trivia"))(f).Drift)
	f.equal([]arena.Settlement{{Seq: 1, MatchID: "m_1", League: "trivia", At: at, Changes: changes, Drift: 10_000}},
		must(f.Ratings.Settlements(ctx, "", 0, 10))(f))
	f.equal(map[string][]arena.Rating{
		ids[0]: {{League: "trivia", AgentID: ids[0], MilliElo: 1_520_000, Matches: 1, Peak: 1_520_000, Wins: 1, LastRatedAt: at}},
		ids[1]: {{League: "trivia", AgentID: ids[1], MilliElo: 1_490_000, Matches: 1, Peak: 1_500_000, Losses: 1, LastRatedAt: at}},
	}, must(f.Ratings.AgentRatings(ctx, ids))(f))

	// An unrated match, and a rated one without a contest, move nothing.
	for i, rated := range []bool{false, true} {
		m := f.begin(fmt.Sprintf("m_%d", i+2), "trivia", ids...)
		f.ok(second(f.Matches.Settle(ctx, m.Lease, result(m, rated), at, func(map[string]arena.Rating) []arena.RatingChange {
			f.equal(true, rated)
			return nil
		}, func(got []arena.RatingChange) (arena.Event, error) {
			f.equal(0, len(got))
			return finished(got)
		})))
		f.equal(true, must(f.Matches.Match(ctx, m.ID))(f).Seats[0].Delta == nil)
	}
	f.equal(1, len(must(f.Ratings.Settlements(ctx, "trivia", 0, 10))(f)))
	f.equal(0, len(must(f.Ratings.Settlements(ctx, "none", 0, 10))(f)))
	_, err = f.Ratings.Settlements(ctx, "", 0, 0)
	f.fails(arena.CodeInvalid, err)
}

// settleTwice: threat C1, a runner that does not know whether it settled asks
// again, even while the first call is under way.
func settleTwice(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.begin("m_1", "trivia", ids...)
	other := f.another()
	together := func() (published int) {
		f.t.Helper()
		var wg sync.WaitGroup
		stored, errs := make([][]arena.Event, 8), make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				settle := f.Matches.Settle
				if i%2 == 1 {
					settle = other.Matches.Settle
				}
				stored[i], errs[i] = settle(ctx, m.Lease, result(m, true), start, moves(m), finished)
			})
		}
		wg.Wait()
		f.ok(errors.Join(errs...))
		for _, events := range stored {
			published += len(events)
		}
		return published
	}
	f.equal(1, together())
	before := must(f.Matches.Match(ctx, "m_1"))(f)
	ratings := must(f.Ratings.AgentRatings(ctx, ids))(f)
	f.equal(0, together())
	f.equal(before, must(f.Matches.Match(ctx, "m_1"))(f))
	f.equal(ratings, must(f.Ratings.AgentRatings(ctx, ids))(f))
	f.equal(1, len(must(f.Ratings.Settlements(ctx, "", 0, 10))(f)))
	f.equal(3, len(f.log("m_1")))
}

func settleUndone(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.begin("m_1", "trivia", ids...)
	before := must(f.Matches.Match(ctx, "m_1"))(f)
	refused := errors.New("refused")
	_, err := f.Matches.Settle(ctx, m.Lease, result(m, true), start, moves(m), func([]arena.RatingChange) (arena.Event, error) {
		return arena.Event{}, refused
	})
	if !errors.Is(err, refused) {
		f.t.Fatalf("error of last is lost: %v", err)
	}
	for name, bad := range map[string]arena.RatingChange{
		"stranger": {AgentID: "ag_none", Before: 1_500_000, After: 1_500_001, Delta: 1},
		"stale":    {AgentID: ids[0], Before: 1_400_000, After: 1_400_001, Delta: 1},
	} {
		_, err := f.Matches.Settle(ctx, m.Lease, result(m, true), start, func(map[string]arena.Rating) []arena.RatingChange {
			return []arena.RatingChange{bad}
		}, finished)
		if err == nil {
			f.t.Fatalf("a %s change was settled", name)
		}
	}
	f.equal(before, must(f.Matches.Match(ctx, "m_1"))(f))
	f.equal(0, len(must(f.Ratings.AgentRatings(ctx, ids))(f)))
	f.equal(arena.MilliElo(0), must(f.Leagues.League(ctx, "trivia"))(f).Drift)
	f.settle(m, start)
	f.equal(int64(1), must(f.Ratings.Settlements(ctx, "", 0, 10))(f)[0].Seq) // no gap
}

func settleMany(f *fixture) {
	ctx := f.t.Context()
	f.league("royale")
	var ids []string
	owner := f.owner("shared")
	for i := range 128 {
		ids = append(ids, f.agent(fmt.Sprintf("a%03d", i), func(a *arena.Agent) { // two agents are of one owner
			a.OwnerID, a.OwnerName = owner.ID, owner.Name
			if i > 1 {
				a.OwnerID, a.OwnerName = "ow_"+a.Name, a.Name
			}
		}).ID)
	}
	f.settle(f.begin("m_1", "royale", ids...), start)
	f.settle(f.begin("m_2", "royale", ids...), start)
	table := must(f.Leagues.Standings(ctx, "royale", start))(f)
	f.equal(128, len(table))
	for _, s := range table {
		want := 127
		if s.Agent.OwnerID == owner.ID {
			want = 126 // docs/rules.md, section 7: pairs of one owner do not count
		}
		f.equal(want, s.Opponents)
	}
	f.equal(arena.MilliElo(0), must(f.Leagues.League(ctx, "royale"))(f).Drift)
	settled := must(f.Ratings.Settlements(ctx, "", 1, 1))(f)
	f.equal(128, len(settled[0].Changes))
	f.equal(ids, pick(settled[0].Changes, func(c arena.RatingChange) string { return c.AgentID }))
}

// settleRace settles matches of the same agents on two nodes at once.
func settleRace(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.agent("a", func(a *arena.Agent) { a.Health.MaxConcurrent = 99 })
	f.agent("b", func(a *arena.Agent) { a.Health.MaxConcurrent = 99 })
	var running []arena.Match
	for i := range 16 {
		running = append(running, f.begin(fmt.Sprintf("m_%02d", i), "trivia", "ag_a", "ag_b"))
	}
	other := f.another()
	var wg sync.WaitGroup
	errs := make([]error, len(running))
	for i, m := range running {
		wg.Go(func() {
			settle := f.Matches.Settle
			if i%2 == 1 {
				settle = other.Matches.Settle
			}
			_, errs[i] = settle(ctx, m.Lease, result(m, true), start, moves(m), finished)
		})
	}
	wg.Wait()
	f.ok(errors.Join(errs...))
	settled := must(f.Ratings.Settlements(ctx, "trivia", 0, 100))(f)
	f.equal(16, len(settled))
	for i, s := range settled {
		f.equal(int64(i+1), s.Seq)
		f.equal(arena.StartRating+arena.MilliElo(i*10_000), s.Changes[0].Before)
		f.equal(i+1, s.Changes[0].Matches)
	}
	f.equal(arena.StartRating+160_000, must(f.Ratings.AgentRatings(ctx, []string{"ag_a"}))(f)["ag_a"][0].MilliElo)
}

// replay: invariant: settlements in order give every current rating bit for
// bit, and sum(R) = agents * 1,500,000 + drift (docs/rules.md, section 7).
func replay(f *fixture) {
	ctx := f.t.Context()
	slugs := []string{"trivia", "sums"}
	f.league(slugs[0])
	f.league(slugs[1])
	ids := f.agents("a", "b", "c", "d", "e", "f")
	seed := rand.Uint64() //nolint:gosec // a test's, logged so that a failure can be run again
	f.t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // as above
	for i := range 30 {
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		m := f.begin(fmt.Sprintf("m_%02d", i), slugs[random.IntN(2)], ids[:2+random.IntN(4)]...)
		f.ok(second(f.Matches.Settle(ctx, m.Lease, result(m, true), start, func(before map[string]arena.Rating) []arena.RatingChange {
			changes := moves(m)(before)
			for j := range changes { // K differs: the sum is not kept
				changes[j].Delta = arena.MilliElo(random.IntN(40_001) - 20_000)
				changes[j].After = changes[j].Before + changes[j].Delta
			}
			return changes
		}, finished)))
	}
	ratings := map[string]map[string]arena.MilliElo{slugs[0]: {}, slugs[1]: {}}
	drift := map[string]arena.MilliElo{}
	for after := int64(0); ; {
		page := must(f.Ratings.Settlements(ctx, "", after, 7))(f)
		if len(page) == 0 {
			f.equal(int64(30), after)
			break
		}
		for _, s := range page {
			f.equal(after+1, s.Seq)
			after = s.Seq
			for _, c := range s.Changes {
				was, ok := ratings[s.League][c.AgentID]
				if !ok {
					was = arena.StartRating
				}
				f.equal(was, c.Before)
				ratings[s.League][c.AgentID] = was + c.Delta
				drift[s.League] += c.Delta
			}
			f.equal(drift[s.League], s.Drift)
		}
	}
	for _, slug := range slugs {
		sum := arena.MilliElo(0)
		for _, line := range must(f.Leagues.Standings(ctx, slug, start))(f) {
			f.equal(ratings[slug][line.Agent.ID], line.Rating.MilliElo)
			sum += line.Rating.MilliElo
		}
		l := must(f.Leagues.League(ctx, slug))(f)
		f.equal(drift[slug], l.Drift)
		f.equal(arena.MilliElo(len(ratings[slug]))*arena.StartRating+l.Drift, sum)
	}
}

func voidMatch(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	m := f.open("m_1", f.agents("a", "b")...)
	m.Seats[0].State = arena.SeatLeft
	stored, err := f.Matches.VoidMatch(ctx, m.Lease, arena.OperatorReason("our fault"), m.Seats, start.Add(time.Hour), event(arena.EventMatchVoid, `{"reason":"our fault"}`))
	f.ok(err)
	f.equal(stored, f.log("m_1")[3:])
	now := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(arena.MatchVoid, now.Status)
	f.equal(arena.OperatorReason("our fault"), now.VoidReason)
	f.equal(start.Add(time.Hour), now.FinishedAt)
	f.equal(m.Seats, now.Seats)
	f.equal(0, must(f.Agents.Agent(ctx, "ag_b"))(f).Running)
	f.equal(0, len(must(f.Ratings.Settlements(ctx, "", 0, 10))(f)))
	f.fails(arena.CodeLeaseLost, second(f.Matches.Settle(ctx, m.Lease, result(m, true), start, moves(m), finished)))
}

// wonAndFell: a rating history says of a match that was won and cost rating
// how many rounds counted for one side only, and of no other match.
func wonAndFell(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	outcomes := [][2]arena.Outcome{
		{arena.OutcomeAnswered, arena.OutcomeRateLimited},
		{arena.OutcomeVoid, arena.OutcomeTimeout},
		{arena.OutcomeError, arena.OutcomeInvalid},
		{arena.OutcomeVoid, arena.OutcomeVoid},
	}
	for i, won := range []struct {
		id     string
		delta  arena.MilliElo
		places [2]int
		rounds int // of outcomes
	}{{"m_1", -5_000, [2]int{1, 2}, 4}, {"m_2", 5_000, [2]int{1, 2}, 4}, {"m_3", -5_000, [2]int{1, 1}, 4}, {"m_4", -5_000, [2]int{1, 2}, 0}} {
		m := f.begin(won.id, "trivia", ids...)
		for no, pair := range outcomes[:won.rounds] {
			f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(no+1), []arena.Event{roundEvent()})))
			for seat, outcome := range pair {
				f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, arena.Answer{MatchID: m.ID, Round: no + 1, AgentID: ids[seat], Outcome: outcome, Attempts: 1}, nil, nil)))
			}
			f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no + 1, Seats: m.Seats}, noEvents)))
		}
		ended := result(m, true)
		for seat, place := range won.places {
			ended.Seats[seat].Place = place
		}
		f.ok(second(f.Matches.Settle(ctx, m.Lease, ended, start.Add(time.Duration(i)*time.Hour), func(before map[string]arena.Rating) []arena.RatingChange {
			var changes []arena.RatingChange
			for seat, delta := range []arena.MilliElo{won.delta, -won.delta} {
				was := before[ids[seat]]
				changes = append(changes, arena.RatingChange{AgentID: ids[seat], Before: was.MilliElo, After: was.MilliElo + delta, Delta: delta, K: 40, Matches: was.Matches + 1})
			}
			return changes
		}, finished)))
	}
	leftOut := func(id string) (all []*int) {
		for _, p := range must(f.Ratings.RatingHistory(ctx, id, "trivia", 9))(f) {
			all = append(all, p.LeftOut)
		}
		return all
	}
	f.equal([]*int{new(2), nil, nil, new(0)}, leftOut(ids[0]))
	f.equal([]*int{nil, nil, nil, nil}, leftOut(ids[1]))
}
