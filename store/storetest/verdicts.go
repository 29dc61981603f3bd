package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/store"
)

// verdictOf is the judge's word on a round: the first of two seats won.
func verdictOf(round int, first, second string) arena.Verdict {
	return arena.Verdict{
		Round: round, Judge: arena.JudgePanel, Version: "panel-1",
		Seats:   []arena.SeatVerdict{{AgentID: first, Points: 1000}, {AgentID: second, Points: 333}},
		Ballots: []arena.Ballot{{Judge: "ag_j", First: first, Second: second, Choice: first, Reason: "shorter", Votes: 2}}, At: start,
	}
}

func verdicts(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	a := fullAnswer(ids[0])
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, a, nil, nil)))
	v := verdictOf(1, ids[0], ids[1])
	closing := arena.RoundClose{Round: 1, Seats: m.Seats, Verdict: v, Answers: []arena.Answer{{AgentID: ids[0], Outcome: a.Outcome, Points: 1000, Judged: true}}}
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, closing, noEvents)))
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, closing, noEvents))) // again: one verdict
	v.MatchID = "m_1"
	f.equal([]arena.Verdict{v}, must(f.Matches.Verdicts(ctx, "m_1"))(f))
	f.equal([]arena.Verdict{v}, must(f.Matches.LeagueVerdicts(ctx, "trivia", 10))(f))
	f.equal(0, len(must(f.Matches.LeagueVerdicts(ctx, "none", 10))(f)))

	// Another look.
	again := v
	again.Version, again.Seats = "panel-2", []arena.SeatVerdict{{AgentID: ids[0]}, {AgentID: ids[1], Points: 1000}}
	look := arena.Rescore{MatchID: "m_1", Verdicts: []arena.Verdict{again}, Answers: []arena.Answer{{Round: 1, AgentID: ids[0], Points: 7}}}
	for i, s := range m.Seats {
		s.Points, s.Place = arena.Points(i), 2-i
		look.Seats = append(look.Seats, s)
	}
	f.fails(arena.CodeConflict, f.Matches.SaveRescore(ctx, look))
	f.settle(m, start)
	f.ok(f.Matches.SaveRescore(ctx, look))
	f.equal([]arena.Verdict{v, again}, must(f.Matches.Verdicts(ctx, "m_1"))(f))
	f.equal([]arena.Verdict{v}, must(f.Matches.LeagueVerdicts(ctx, "trivia", 10))(f))
	f.equal(arena.Points(7), must(f.Matches.Answers(ctx, "m_1"))(f)[0].Points)
	seats := must(f.Matches.Match(ctx, "m_1"))(f).Seats
	f.equal([]int{2, 1}, []int{seats[0].Place, seats[1].Place})
	look.Answers = []arena.Answer{{Round: 1, AgentID: ids[0], Outcome: arena.OutcomeVoid, Reason: arena.ReasonRemoved}}
	before := must(f.Ratings.AgentCauses(ctx, ids[0]))(f)
	f.ok(f.Matches.SaveRescore(ctx, look))
	f.ok(f.Matches.SaveRescore(ctx, look)) // again: counted once
	voided := must(f.Matches.Answers(ctx, "m_1"))(f)[0]
	f.equal([]any{arena.OutcomeVoid, arena.ReasonRemoved, arena.Points(0)}, []any{voided.Outcome, voided.Reason, voided.Points})
	causes := must(f.Ratings.AgentCauses(ctx, ids[0]))(f)
	f.equal([]int{before[a.Outcome] - 1, 1}, []int{causes[a.Outcome], causes[arena.OutcomeVoid]})
	look.MatchID = "m_none"
	f.fails(arena.CodeNotFound, f.Matches.SaveRescore(ctx, look))
}

func votes(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	vote := arena.Vote{MatchID: "m_1", Round: 1, Voter: [32]byte{1}, Address: [32]byte{9}, Choice: ids[0], Other: ids[1], At: start}
	f.ok(f.Matches.SaveVote(ctx, vote, 2))
	vote.Choice, vote.Other = ids[1], ids[0] // the last one counts
	f.ok(f.Matches.SaveVote(ctx, vote, 2))
	other := vote
	other.Voter, other.At = [32]byte{2}, start.Add(time.Second)
	f.ok(f.Matches.SaveVote(ctx, other, 2))
	third := vote
	third.Voter = [32]byte{3}
	f.fails(arena.CodeRateLimited, f.Matches.SaveVote(ctx, third, 2))
	third.Address = [32]byte{8}
	third.At = start.Add(2 * time.Second)
	f.ok(f.Matches.SaveVote(ctx, third, 2))
	f.equal([]arena.Vote{vote, other, third}, must(f.Matches.Votes(ctx, "m_1", 1))(f))
	// A site has more than a network, and not without end. Threat V5.
	for i := range byte(2 * arena.SiteFactor) {
		of := arena.Vote{MatchID: "m_1", Round: 1, Voter: [32]byte{4, i}, Address: [32]byte{7, i}, Site: [32]byte{6}, Choice: ids[0], Other: ids[1], At: start}
		f.ok(f.Matches.SaveVote(ctx, of, 2))
	}
	more := arena.Vote{MatchID: "m_1", Round: 1, Voter: [32]byte{5}, Address: [32]byte{5}, Site: [32]byte{6}, Choice: ids[0], Other: ids[1], At: start}
	f.fails(arena.CodeRateLimited, f.Matches.SaveVote(ctx, more, 2))
	more.Site = [32]byte{5}
	f.ok(f.Matches.SaveVote(ctx, more, 2))

	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.fails(arena.CodeConflict, f.Matches.SaveVote(ctx, vote, 2))
	f.equal(0, len(must(f.Matches.Votes(ctx, "m_1", 2))(f)))
}

func guesses(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.open("m_1", f.agents("a", "b")...)
	for _, answer := range []string{"B", "A", "B"} {
		f.ok(f.Matches.AddGuess(ctx, "m_1", 1, answer))
	}
	f.equal([]arena.GuessCount{{MatchID: "m_1", Round: 1, Answer: "A", N: 1}, {MatchID: "m_1", Round: 1, Answer: "B", N: 2}}, must(f.Matches.Guesses(ctx, "m_1"))(f))
	f.equal(0, len(must(f.Matches.Guesses(ctx, "m_2"))(f)))
}

func gold(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	pair := arena.Task{Description: "A joke.", Options: []string{"good", "bad"}, Answers: []string{"good"}}
	f.ok(f.Packs.CreatePack(ctx, arena.Pack{ID: "pk_gold", Name: "gold", CreatedAt: start}, []arena.Task{pair, pair, pair}))
	next := func() int { return must(f.Leagues.NextGold(ctx, "trivia", "pk_gold"))(f) }
	f.equal(0, next())
	save := func(n, second int, agreed bool) arena.GoldVerdict {
		g := arena.GoldVerdict{League: "trivia", PackID: "pk_gold", Task: n, Version: "model-2/x", Agreed: agreed, At: start.Add(time.Duration(second) * time.Second)}
		f.ok(f.Leagues.SaveGold(ctx, g))
		return g
	}
	save(0, 1, false)
	f.equal(1, next())
	one, two := save(1, 2, true), save(2, 3, true)
	f.equal(0, next()) // the least recent one
	zero := save(0, 4, true)
	f.equal([]arena.GoldVerdict{one, two, zero}, must(f.Leagues.Gold(ctx, "trivia", "pk_gold"))(f))
	f.equal(1, next())
	f.ok(second(f.Packs.RemoveTask(ctx, "pk_gold", 1, start))) // a removed item does not count
	f.equal([]arena.GoldVerdict{two, zero}, must(f.Leagues.Gold(ctx, "trivia", "pk_gold"))(f))
	f.equal(2, next())
	f.fails(arena.CodeNotFound, second(f.Leagues.NextGold(ctx, "trivia", "pk_none")))
}

func auditLog(f *fixture) {
	ctx := f.t.Context()
	var want []arena.AuditEntry
	for i := range 3 {
		e := arena.AuditEntry{
			ID: fmt.Sprintf("au_%d", i), At: start, Actor: "admin", Token: "to_1", Action: "league.start", Target: "trivia",
			Before: json.RawMessage(`{"status":"open"}`), After: json.RawMessage(`{}`),
		}
		f.ok(f.Operations.Audit(ctx, e))
		want = append([]arena.AuditEntry{e}, want...)
	}
	first, next, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 2})
	f.ok(err)
	f.equal(want[:2], first)
	rest, next, err := f.Operations.AuditLog(ctx, arena.AuditFilter{}, arena.Page{Limit: 2, Cursor: next})
	f.ok(err)
	f.equal(want[2:], rest)
	f.equal("", next)

	other := want[0]
	other.ID, other.Actor, other.Action, other.Target = "au_3", "ow_1", "agent.pause", "ag_1"
	f.ok(f.Operations.Audit(ctx, other))
	for find, n := range map[string]int{"ow_1": 1, "ag_1": 1, "agent.pause": 1, "admin": 3, "league.start": 3, "trivi": 0} {
		found, _, err := f.Operations.AuditLog(ctx, arena.AuditFilter{Find: find}, arena.Page{Limit: 9})
		f.ok(err)
		f.equal(n, len(found))
	}
}

func fits(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.equal(arena.Fit{League: "trivia"}, must(f.Leagues.Fit(ctx, "trivia"))(f))
	fit := arena.Fit{League: "trivia", Settlement: 3, At: start, Lines: []arena.FitLine{{
		AgentID: "ag_a", Rating: 1_512_345, Low: 1_400_000, High: 1_600_000, Tier: 1, RankLow: 1, RankHigh: 3,
	}}, Board: arena.FitBoard{Groups: 3, Conflicts: []arena.FitPair{{Better: "ag_a", Worse: "ag_b"}}, Cycles: [][3]string{{"ag_a", "ag_b", "ag_c"}}}}
	f.ok(f.Leagues.SaveFit(ctx, arena.Fit{League: "trivia", At: start}))
	f.ok(f.Leagues.SaveFit(ctx, fit))
	for range 2 { // read, then known
		f.equal(fit, must(f.Leagues.Fit(ctx, "trivia"))(f))
	}
	none := arena.Fit{League: "trivia", Settlement: 4, At: start, Board: arena.FitBoard{NoTiers: arena.NoTiersTooManyAgents, Groups: 4000}}
	f.ok(f.Leagues.SaveFit(ctx, none))
	f.equal(none, must(f.Leagues.Fit(ctx, "trivia"))(f))
}

// rebuild: a second look that changes nothing leaves everything as it is; one
// that changes results leaves what a fresh settlement would have left.
func rebuild(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b", "c")
	for i := range 5 {
		f.settle(f.begin(fmt.Sprintf("m_%d", i), "trivia", ids[i%3], ids[(i+1)%3]), start.Add(time.Duration(i)*time.Minute))
	}
	f.settle(f.begin("m_s", "sums", ids...), start)
	results := must(f.Leagues.RatedResults(ctx, "trivia", 0, 10))(f)
	f.equal(5, len(results))
	f.equal([]arena.RatedSeat{
		{AgentID: "ag_a", OwnerID: "ow_a", Place: 1, After: 1_510_000}, {AgentID: "ag_b", OwnerID: "ow_b", Place: 2, After: 1_490_000},
	}, results[0].Seats)
	f.equal(2, len(must(f.Leagues.RatedResults(ctx, "trivia", 3, 10))(f)))
	summary := must(f.Ratings.Settled(ctx, "trivia"))(f)
	f.equal(arena.SettledMatches{Matches: 5, Rounds: summary.Rounds, Last: 5, First: start, Till: start.Add(4 * time.Minute)}, summary)
	f.equal(arena.SettledMatches{}, must(f.Ratings.Settled(ctx, "none"))(f))

	state := func() (table []arena.Rating, settled []arena.Settlement) {
		for _, s := range must(f.Leagues.Standings(ctx, "trivia", start))(f) {
			table = append(table, s.Rating)
		}
		return table, must(f.Ratings.Settlements(ctx, "", 0, 100))(f)
	}
	table, settled := state()
	same := func(m arena.Match, _ []arena.Answer, before map[string]arena.Rating) []arena.RatingChange {
		return moves(m)(before)
	}
	fit := arena.Fit{League: "trivia", Settlement: 5, At: start, Lines: []arena.FitLine{{AgentID: ids[0], Rating: 1_500_001}}}
	f.ok(f.Leagues.SaveFit(ctx, fit))
	f.equal(arena.Rebuilt{}, must(f.Ratings.RebuildRatings(ctx, "trivia", same))(f))
	f.equal(fit, must(f.Leagues.Fit(ctx, "trivia"))(f))
	table2, settled2 := state()
	f.equal(table, table2)
	f.equal(settled, settled2)

	// The third match had the other winner.
	turned := func(m arena.Match, _ []arena.Answer, before map[string]arena.Rating) []arena.RatingChange {
		changes := moves(m)(before)
		if m.ID == "m_2" {
			for i := range changes {
				changes[i].Delta, changes[i].Score = -changes[i].Delta, arena.OnePoint-changes[i].Score
				changes[i].After = changes[i].Before + changes[i].Delta
			}
		}
		return changes
	}
	preview := must(f.Ratings.RebuildRatings(ctx, "trivia", turned, func(int) (arena.AuditEntry, error) { return arena.AuditEntry{}, store.ErrPreview }))(f)
	table2, settled2 = state()
	f.equal(table, table2)
	f.equal(settled, settled2)
	done := must(f.Ratings.RebuildRatings(ctx, "trivia", turned))(f)
	f.equal(preview, done)
	f.equal(3, done.Settlements)
	now := map[string]arena.MilliElo{}
	for _, s := range must(f.Leagues.Standings(ctx, "trivia", start))(f) {
		now[s.Agent.ID] = s.Rating.MilliElo
	}
	for _, moved := range done.Ratings {
		f.equal(true, now[moved.AgentID] == moved.After && moved.Before != moved.After)
	}
	fit.Settlement = 0 // out of date, and shown until there is a newer one
	f.equal(fit, must(f.Leagues.Fit(ctx, "trivia"))(f))
	if _, err := f.Ratings.CheckRatings(ctx); err != nil {
		f.t.Fatal(err)
	}
	seat := must(f.Matches.Match(ctx, "m_2"))(f).Seats[0]
	f.equal(new(arena.MilliElo(-10_000)), seat.Delta)
	f.equal(3, must(f.Ratings.RebuildRatings(ctx, "trivia", func(m arena.Match, a []arena.Answer, b map[string]arena.Rating) []arena.RatingChange {
		if m.ID != "m_2" {
			return turned(m, a, b)
		}
		return same(m, a, b)
	}))(f).Settlements)
	table2, settled2 = state()
	f.equal(table, table2)
	f.equal(settled, settled2)
	_, err := f.Ratings.RebuildRatings(ctx, "trivia", func(arena.Match, []arena.Answer, map[string]arena.Rating) []arena.RatingChange { return nil })
	if err == nil {
		f.t.Fatal("a rebuild that forgets changes was stored")
	}
	table2, _ = state()
	f.equal(table, table2)

	// More than one page, in which the winner of an early match gains more than the other loses.
	for i := range 65 {
		f.settle(f.begin(fmt.Sprintf("m_1%02d", i), "trivia", ids[i%3], ids[(i+1)%3]), start.Add(time.Hour))
	}
	summary = must(f.Ratings.Settled(ctx, "trivia"))(f)
	f.equal(arena.SettledMatches{Matches: 70, Rounds: summary.Rounds, Last: 71, First: start, Till: start.Add(time.Hour)}, summary)
	more := func(m arena.Match, _ []arena.Answer, before map[string]arena.Rating) []arena.RatingChange {
		changes := moves(m)(before)
		if m.ID == "m_1" {
			changes[0].Delta += 1_000
			changes[0].After += 1_000
		}
		return changes
	}
	must(f.Ratings.RebuildRatings(ctx, "trivia", more))(f)
	reports := must(f.Ratings.CheckRatings(ctx))(f)
	f.equal(arena.MilliElo(1_000), reports[1].Drift)
}

// eraseReasons: judges may quote what is erased, in the round in which it was said
// and later. What they chose stays.
func eraseReasons(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	var want []arena.Verdict
	for no := range 3 {
		if no > 0 {
			f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(no+1), nil)))
		}
		v := verdictOf(no+1, ids[0], ids[1])
		f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no + 1, Seats: m.Seats, Verdict: v}, noEvents)))
		v.MatchID = "m_1"
		want = append(want, v)
	}
	f.settle(m, start)
	f.ok(f.Matches.EraseTexts(ctx, arena.TextErasure{MatchID: "m_1", AgentID: ids[1], Round: 2, Notice: "hidden"}))
	want[1].Ballots[0].Reason, want[2].Ballots[0].Reason = "", ""
	f.equal(want, must(f.Matches.Verdicts(ctx, "m_1"))(f))
	f.ok(f.Matches.EraseTexts(ctx, arena.TextErasure{MatchID: "m_1", AgentID: ids[0]}))
	want[0].Ballots[0].Reason = ""
	f.equal(want, must(f.Matches.Verdicts(ctx, "m_1"))(f))
}
