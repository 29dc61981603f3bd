package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agora-arena/arena/arena"
)

// agentCauses: how an agent's rounds ended is counted once, when their match
// is over, whether it counts or not and whoever ends it.
func agentCauses(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b", "c")
	play := func(id string, outcomes ...arena.Outcome) arena.Match {
		m := f.begin(id, "trivia", ids[:2]...)
		for i, o := range outcomes {
			f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(i+1), nil)))
			said := arena.Answer{Round: i + 1, AgentID: ids[0], Outcome: arena.OutcomeTimeout, Attempts: 1}
			f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, said, nil, nil)))
			said.Outcome = o // as a round that became void says
			other := fullAnswer(ids[1])
			other.Round = i + 1
			f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: i + 1, Seats: m.Seats, Answers: []arena.Answer{said, other}}, noEvents)))
		}
		return m
	}
	type counts map[arena.Outcome]int
	now := func(want, other counts) {
		f.t.Helper()
		f.equal(want, counts(must(f.Ratings.AgentCauses(ctx, ids[0]))(f)))
		f.equal(other, counts(must(f.Ratings.AgentCauses(ctx, ids[1]))(f)))
		f.equal(0, len(must(f.Ratings.AgentCauses(ctx, ids[2]))(f)))
	}
	over := event(arena.EventMatchVoid, `{}`)

	settled := play("m_1", arena.OutcomeTimeout, arena.OutcomeVoid, arena.OutcomeTimeout)
	now(counts{}, counts{}) // it is not over
	f.settle(settled, start)
	once := counts{arena.OutcomeTimeout: 2, arena.OutcomeVoid: 1}
	now(once, counts{arena.OutcomeAnswered: 3})
	f.equal(0, len(must(f.Matches.Settle(ctx, settled.Lease, result(settled, true), start, moves(settled), finished))(f)))
	now(once, counts{arena.OutcomeAnswered: 3})

	lost := play("m_2", arena.OutcomeTimeout)
	f.ok(second(f.Matches.VoidMatch(ctx, lost.Lease, arena.OperatorReason("our fault"), lost.Seats, start, over)))
	f.ok(second(f.Matches.VoidMatch(ctx, lost.Lease, arena.OperatorReason("our fault"), lost.Seats, start, over)))
	now(counts{arena.OutcomeTimeout: 3, arena.OutcomeVoid: 1}, counts{arena.OutcomeAnswered: 4})
	play("m_3", arena.OutcomeInvalid)
	f.ok(second(f.Matches.EndMatch(ctx, "m_3", arena.MatchVoid, arena.OperatorReason("rain"), start, over)))
	all := counts{arena.OutcomeTimeout: 3, arena.OutcomeVoid: 1, arena.OutcomeInvalid: 1}
	now(all, counts{arena.OutcomeAnswered: 5})

	f.match("m_4", "trivia", ids...)
	f.ok(second(f.Matches.EndMatch(ctx, "m_4", arena.MatchCancelled, arena.OperatorReason("rain"), start, over)))
	answers := must(f.Matches.Answers(ctx, "m_1"))(f)
	answers[0].Points = 500
	f.ok(f.Matches.SaveRescore(ctx, arena.Rescore{MatchID: "m_1", Answers: answers[:1], Seats: must(f.Matches.Match(ctx, "m_1"))(f).Seats}))
	now(all, counts{arena.OutcomeAnswered: 5})
}

// agentResults: how the closed rounds of an agent's newest matches ended.
func agentResults(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	play := func(m arena.Match, no int, a arena.Answer, closed bool) {
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(no), nil)))
		a.MatchID, a.Round, a.AgentID, a.Attempts = m.ID, no, ids[0], 1
		if a.Outcome == arena.OutcomeAnswered {
			a.Body = &arena.AnswerBody{Answer: "4"}
		}
		open := a
		open.Points, open.Judged = 0, false
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, open, nil, nil)))
		other := arena.Answer{MatchID: m.ID, Round: no, AgentID: ids[1], Outcome: arena.OutcomeTimeout, Elapsed: time.Second, Attempts: 1, Judged: true}
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, other, nil, nil)))
		if closed {
			f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: []arena.Answer{a, other}}, noEvents)))
		}
	}
	answered := func(points arena.Points, took time.Duration, judged bool) arena.Answer {
		return arena.Answer{Outcome: arena.OutcomeAnswered, Points: points, Elapsed: took, Judged: judged}
	}
	first := f.begin("m_1", "trivia", ids...)
	play(first, 1, answered(1000, 2*time.Second, true), true)
	play(first, 2, answered(1500, 4*time.Second, true), true)
	play(first, 3, answered(500, time.Second, true), true)
	play(first, 4, answered(0, time.Second, false), true)
	play(first, 5, arena.Answer{Outcome: arena.OutcomeInvalid, Reason: "bad_json", Judged: true}, true)
	f.settle(first, start)
	next := f.begin("m_2", "trivia", ids...)
	play(next, 1, answered(0, 3*time.Second, true), true)
	play(next, 2, answered(0, time.Second, true), false) // threat F1: of an open round nothing is known

	wrong := arena.ResultCount{Result: arena.ResultWrong, Rounds: 1, Mean: 3 * time.Second}
	f.equal([]arena.ResultCount{
		{Result: arena.ResultRight, Rounds: 2, Mean: 3 * time.Second},
		{Result: arena.RoundResult(arena.OutcomeInvalid), Rounds: 1},
		{Result: arena.ResultPartial, Rounds: 1, Mean: time.Second},
		{Result: arena.ResultUnjudged, Rounds: 1, Mean: time.Second},
		wrong,
	}, must(f.Ratings.AgentResults(ctx, ids[0], 100))(f))
	f.equal([]arena.ResultCount{wrong}, must(f.Ratings.AgentResults(ctx, ids[0], 1))(f))
	f.equal([]arena.ResultCount{{Result: arena.RoundResult(arena.OutcomeTimeout), Rounds: 6, Mean: time.Second}}, must(f.Ratings.AgentResults(ctx, ids[1], 100))(f))
	f.equal(0, len(must(f.Ratings.AgentResults(ctx, "ag_none", 100))(f)))
	f.fails(arena.CodeInvalid, second(f.Ratings.AgentResults(ctx, ids[0], 0)))
}

// lostRounds: the rounds that count and brought no point, newest first, by pages, and
// the judged answers by topic. Nothing of an open round is known (threat F1).
func lostRounds(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("other")
	ids := f.agents("a", "b")
	play := func(m arena.Match, no int, topic, source string, a arena.Answer, closed bool) {
		r := round(no)
		r.Task.Topic, r.Task.Source = topic, source
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
		a.MatchID, a.Round, a.AgentID, a.Attempts, a.Elapsed = m.ID, no, ids[0], 1, time.Second
		if a.Outcome == arena.OutcomeAnswered {
			a.Body = &arena.AnswerBody{Answer: "5"}
		}
		open := a
		open.Points, open.Judged = 0, false
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, open, nil, nil)))
		if closed {
			f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: []arena.Answer{a}}, noEvents)))
		}
	}
	answered := func(points arena.Points, judged bool, reason string) arena.Answer {
		return arena.Answer{Outcome: arena.OutcomeAnswered, Points: points, Judged: judged, Reason: reason}
	}
	m := f.begin("m_1", "trivia", ids...)
	play(m, 1, "sums", "", answered(0, true, ""), true)
	play(m, 2, "sums", "", answered(arena.OnePoint, true, ""), true)
	play(m, 3, "sums", "", answered(500, true, ""), true)
	play(m, 4, "maths", "", answered(0, false, ""), true)
	play(m, 5, "maths", "", arena.Answer{Outcome: arena.OutcomeTimeout, Reason: "timeout", Judged: true}, true)
	play(m, 6, "maths", "", arena.Answer{Outcome: arena.OutcomeUnavailable, Judged: true}, true)
	f.settle(m, start)
	void := f.begin("m_3", "trivia", ids...)
	play(void, 1, "sums", "", answered(0, true, ""), true)
	f.ok(second(f.Matches.EndMatch(ctx, void.ID, arena.MatchVoid, arena.VoidReason{}, start, arena.Event{Type: arena.EventMatchVoid})))
	m = f.begin("m_2", "other", ids...)
	play(m, 1, "", arena.GameSource+"chess", answered(0, true, ""), true)
	play(m, 2, "", arena.GameSource+"chess", answered(0, true, arena.ReasonIllegalMove), true)
	play(m, 3, "", "", answered(0, true, ""), true)
	play(m, 4, "", "", answered(0, true, ""), false)

	list := func(filter arena.LossFilter, p arena.Page) (found []string, next string) {
		filter.AgentID = ids[0]
		items, next, err := f.Matches.LostRounds(ctx, filter, p)
		f.ok(err)
		for _, l := range items {
			found = append(found, fmt.Sprintf("%s %s/%d %s %s", l.League, l.Round.MatchID, l.Round.No, l.Answer.Outcome, l.Round.Task.Topic))
		}
		return found, next
	}
	newest, next := list(arena.LossFilter{}, arena.Page{Limit: 2})
	f.equal([]string{"other m_2/3 answered ", "other m_2/2 answered "}, newest)
	older, end := list(arena.LossFilter{}, arena.Page{Limit: 2, Cursor: next})
	f.equal([]string{"trivia m_1/5 timeout maths", "trivia m_1/1 answered sums"}, older)
	f.equal("", end)
	for want, filter := range map[string]arena.LossFilter{
		"trivia m_1/5 timeout maths": {Topic: "maths"}, "trivia m_1/1 answered sums": {League: "trivia", Topic: "sums"},
	} {
		found, _ := list(filter, arena.Page{Limit: 10})
		f.equal([]string{want}, found)
	}
	found, _ := list(arena.LossFilter{Version: "none"}, arena.Page{Limit: 10})
	f.equal(0, len(found))
	items, _, err := f.Matches.LostRounds(ctx, arena.LossFilter{AgentID: ids[0], Topic: "sums"}, arena.Page{Limit: 1})
	f.ok(err)
	f.equal("5", items[0].Answer.Body.Answer)
	f.equal("4", items[0].Round.Task.Correct())
	f.equal(time.Second, items[0].Answer.Elapsed)

	f.equal([]arena.TopicCount{{Topic: "sums", Answered: 3, Right: 1}, {Answered: 1}}, must(f.Ratings.Topics(ctx, arena.LossFilter{AgentID: ids[0]}, true, 100))(f))
	f.equal([]arena.TopicCount{{Topic: "sums", Answered: 3, Right: 1}}, must(f.Ratings.Topics(ctx, arena.LossFilter{AgentID: ids[0], League: "trivia"}, false, 100))(f))
	f.equal(0, len(must(f.Ratings.Topics(ctx, arena.LossFilter{AgentID: ids[1]}, true, 100))(f)))
	f.equal(0, len(must(f.Ratings.Topics(ctx, arena.LossFilter{AgentID: ids[0], Version: "none"}, true, 100))(f)))
	f.fails(arena.CodeInvalid, second(f.Ratings.Topics(ctx, arena.LossFilter{AgentID: ids[0]}, true, 0)))
}

// commonRounds: the rounds that counted for two agents in finished matches, the same
// from both sides. Threat F1.
func commonRounds(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("other")
	ids := f.agents("a", "b", "c")
	slices.Sort(ids[:2])
	type said struct {
		outcome arena.Outcome
		points  arena.Points
		judged  bool
	}
	play := func(m arena.Match, no int, source string, answers ...said) {
		r := round(no)
		r.Task.Topic, r.Task.Source = "sums", source
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
		var closed []arena.Answer
		for i, s := range answers {
			a := arena.Answer{MatchID: m.ID, Round: no, AgentID: ids[i], Outcome: s.outcome, Attempts: 1}
			if s.outcome == arena.OutcomeAnswered {
				a.Body = &arena.AnswerBody{Answer: "5"}
			}
			f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, a, nil, nil)))
			a.Points, a.Judged = s.points, s.judged
			closed = append(closed, a)
		}
		f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: closed}, noEvents)))
	}
	right, wrong, late := said{arena.OutcomeAnswered, arena.OnePoint, true}, said{arena.OutcomeAnswered, 0, true}, said{arena.OutcomeTimeout, 0, false}
	m := f.begin("m_1", "trivia", ids...)
	play(m, 1, "pk/1", right, wrong, right)
	play(m, 2, "", late, right)
	play(m, 3, "pk/2", right, said{arena.OutcomeRateLimited, 0, false}) // counts for one only
	play(m, 4, "pk/3", said{arena.OutcomeAnswered, 0, false}, wrong)    // a speech
	play(m, 5, arena.GameSource+"chess", right, wrong)
	all := func(a, b string) []arena.CommonRound { return must(f.Ratings.CommonRounds(ctx, "trivia", a, b))(f) }
	f.equal(0, len(all(ids[0], ids[1]))) // the match runs
	f.settle(m, start)
	want := []arena.CommonRound{
		{MatchID: "m_1", No: 1, Source: "pk/1", Topic: "sums", A: arena.OnePoint}, {MatchID: "m_1", No: 2, Topic: "sums", B: arena.OnePoint},
	}
	f.equal(want, all(ids[0], ids[1]))
	for i := range want {
		want[i].A, want[i].B = want[i].B, want[i].A
	}
	f.equal(want, all(ids[1], ids[0]))
	f.equal(1, len(all(ids[0], ids[2])))
	f.equal("pk/1", want[0].Task())
	f.equal("m_1/2", want[1].Task())

	m = f.begin("m_2", "other", ids[0], ids[1])
	play(m, 1, "pk/1", right, wrong)
	f.settle(m, start)
	m = f.begin("m_3", "trivia", ids[0], ids[1])
	play(m, 1, "pk/1", right, wrong)
	f.ok(second(f.Matches.EndMatch(ctx, m.ID, arena.MatchVoid, arena.VoidReason{}, start, arena.Event{Type: arena.EventMatchVoid})))
	m = f.begin("m_4", "trivia", ids[0], ids[1])
	play(m, 1, "pk/1", right, wrong)
	m.Seats[1].State = arena.SeatLeft
	f.settle(m, start)
	asked := arena.Match{ID: "m_5", League: "trivia", CreatedAt: start, UnratedReason: arena.UnratedChallenge, Seats: []arena.Seat{{No: 0, AgentID: ids[0]}, {No: 1, AgentID: ids[1]}}}
	f.ok(second(f.Matches.CreateMatch(ctx, asked, event(arena.EventMatchScheduled, "{}"))))
	m = f.claim()
	f.ok(second(f.Matches.StartMatch(ctx, m.Lease, m.Seats, start, nil, nil)))
	play(m, 1, "pk/1", right, wrong)
	f.settle(m, start)
	f.equal(want, all(ids[1], ids[0])) // none of these
}

// commonSeries: the finished matches of two agents, with what the last turn says of the
// games before it.
func commonSeries(f *fixture) {
	ctx := f.t.Context()
	f.league("chess")
	ids := f.agents("a", "b")
	slices.Sort(ids)
	for i, turn := range []arena.Turn{
		{Prompts: []arena.Prompt{{Observation: json.RawMessage(`{"series":{"game":2,"games":2,"earlier":[{"you":1,"points":[0,0.5]}]}}`)}}},
		{Prompts: []arena.Prompt{{Description: "before games were described"}}},
		{}, // erased
	} {
		m := f.begin(fmt.Sprint("m_", i), "chess", ids...)
		r := round(1)
		r.Turn = turn
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
		m.Seats[1].Points = 500
		f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
		f.equal(i, len(must(f.Ratings.CommonSeries(ctx, "chess", ids[1], ids[0]))(f))) // the match runs
		f.settle(m, start)
	}
	all := must(f.Ratings.CommonSeries(ctx, "chess", ids[1], ids[0]))(f)
	f.equal(3, len(all))
	for i, m := range all {
		f.equal(fmt.Sprint("m_", 2-i), m.MatchID)
		f.equal(2, m.Seats)
		f.equal(arena.CommonSeat{No: 1, Points: 500}, m.A)
		f.equal(arena.CommonSeat{No: 0, Points: arena.OnePoint}, m.B)
	}
	f.equal([]arena.Points{0, 500}, all[2].Series.Earlier[0].Points)
	f.equal(2, all[2].Series.Games)
	f.equal(arena.SeriesBrief{}, all[0].Series)
	f.equal(arena.SeriesBrief{}, all[1].Series)
	f.equal(0, len(must(f.Ratings.CommonSeries(ctx, "chess", ids[0], "ag_none"))(f)))
}

// movesOfGames: a move is neither right nor wrong, claims nothing and is copied from
// no one.
func movesOfGames(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.begin("m_1", "trivia", ids...)
	for i, reason := range []string{"", "", arena.ReasonIllegalMove} {
		r := round(i + 1)
		r.Task.Source = arena.GameSource + "chess"
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
		a := arena.Answer{
			MatchID: m.ID, Round: r.No, AgentID: ids[0], Outcome: arena.OutcomeAnswered, Attempts: 1, Elapsed: time.Second, Reason: reason,
			Body: &arena.AnswerBody{Answer: "e4", Confidence: new(0.5)},
		}
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, a, nil, nil)))
		a.Judged = true
		f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: r.No, Seats: m.Seats, Answers: []arena.Answer{a}}, noEvents)))
	}
	f.settle(m, start)
	f.equal([]arena.ResultCount{
		{Result: arena.ResultMove, Rounds: 2, Mean: time.Second}, {Result: arena.ResultIllegal, Rounds: 1, Mean: time.Second},
	}, must(f.Ratings.AgentResults(ctx, ids[0], 10))(f))
	f.equal(0, len(must(f.Ratings.AgentClaims(ctx, ids[0], "", 10))(f)))
	f.equal(0, len(must(f.Ratings.Evidence(ctx, "trivia", 10))(f).Answers))
}

// agentClaims: what agents declared with judged answers of closed rounds, and
// nothing else.
func agentClaims(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b")
	play := func(m arena.Match, no int, points arena.Points, said arena.Answer, closed bool) {
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(no), nil)))
		said.MatchID, said.Round, said.AgentID = m.ID, no, ids[0]
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, said, nil, nil)))
		other := said
		other.AgentID, other.Body = ids[1], &arena.AnswerBody{Answer: "5", Confidence: new(0.25)}
		other.Judged = true // says so, and is not: its round is open
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, other, nil, nil)))
		// Threat F1: of an open round nothing is known.
		f.equal(no-1, len(must(f.Ratings.AgentClaims(ctx, ids[1], m.League, 100))(f)))
		if closed {
			said.Points, said.Judged = points, true
			other.Points, other.Judged = points, true
			f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: []arena.Answer{said, other}}, noEvents)))
		}
	}
	answer := func(confidence float64, tokens int64) arena.Answer {
		return arena.Answer{Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4", Confidence: &confidence, Tokens: &tokens}}
	}
	first := f.begin("m_1", "trivia", ids...)
	play(first, 1, 1000, answer(0.9, 70), true)
	play(first, 2, 999, arena.Answer{Outcome: arena.OutcomeAnswered, OverTokens: true, Body: &arena.AnswerBody{Answer: "4"}}, true)
	f.settle(first, start)
	running := f.begin("m_2", "sums", ids...)
	play(running, 1, 0, answer(1, 0), true)
	judged := answer(0.1, 1)
	judged.Judged = true // and the round is open all the same
	play(running, 2, 0, judged, false)

	claim := func(confidence float64, tokens int64, right bool) arena.Claim {
		return arena.Claim{Confidence: &confidence, Tokens: &tokens, Right: right}
	}
	newest, silent, oldest := claim(1, 0, false), arena.Claim{OverTokens: true}, claim(0.9, 70, true)
	for _, c := range []struct {
		agent, league string
		limit         int
		want          []arena.Claim
	}{
		{ids[0], "", 100, []arena.Claim{newest, silent, oldest}},
		{ids[0], "", 2, []arena.Claim{newest, silent}},
		{ids[0], "sums", 100, []arena.Claim{newest}},
		{ids[0], "trivia", 100, []arena.Claim{silent, oldest}},
		{ids[0], "trivia", 2, []arena.Claim{silent}}, // the other one is in another league
		{ids[0], "none", 100, nil},
		{"ag_none", "", 100, nil},
	} {
		if got := must(f.Ratings.AgentClaims(ctx, c.agent, c.league, c.limit))(f); len(got) > 0 || len(c.want) > 0 {
			f.equal(c.want, got)
		}
	}
	f.fails(arena.CodeInvalid, second(f.Ratings.AgentClaims(ctx, ids[0], "", 0)))

	// Who was out of reach has claimed nothing.
	third := f.begin("m_3", "trivia", f.agents("c", "d")...)
	f.ok(second(f.Matches.OpenRound(ctx, third.Lease, round(1), nil)))
	timeout := arena.Answer{MatchID: "m_3", Round: 1, AgentID: "ag_c", Outcome: arena.OutcomeTimeout, Judged: true}
	f.ok(second(f.Matches.SaveAnswer(ctx, third.Lease, timeout, nil, nil)))
	f.ok(second(f.Matches.CloseRound(ctx, third.Lease, arena.RoundClose{Round: 1, Seats: third.Seats, Answers: []arena.Answer{timeout}}, noEvents)))
	f.equal(0, len(must(f.Ratings.AgentClaims(ctx, "ag_c", "", 9))(f)))

	// Only the newest matches are looked at, twice as many as answers are asked for.
	f.settle(running, start)
	for _, id := range []string{"m_4", "m_5"} {
		f.settle(f.begin(id, "sums", ids...), start)
	}
	f.equal(0, len(must(f.Ratings.AgentClaims(ctx, ids[0], "", 1))(f)))
	f.equal([]arena.Claim{newest, silent}, must(f.Ratings.AgentClaims(ctx, ids[0], "", 2))(f))
}

// noShows: threat F5, skips and rate-limit pauses of an agent's newest matches
// in a league, and nothing that an honest agent does.
// Threat G4: a 429 in the first round is a no-show too.
func noShows(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("sums")
	ids := f.agents("a", "b")
	play := func(m arena.Match, no, attempts int, outcome arena.Outcome) {
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(no), nil)))
		said := arena.Answer{MatchID: m.ID, Round: no, AgentID: ids[0], Outcome: outcome, Attempts: attempts}
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, said, nil, nil)))
		other := arena.Answer{MatchID: m.ID, Round: no, AgentID: ids[1], Outcome: arena.OutcomeTimeout, Attempts: 1}
		f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, other, nil, nil)))
		f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: no, Seats: m.Seats, Answers: []arena.Answer{said, other}}, noEvents)))
	}
	limited := f.begin("m_01", "trivia", ids...)
	play(limited, 1, 1, arena.OutcomeRateLimited) // the first round counts like any other
	play(limited, 2, 1, arena.OutcomeVoid)
	play(limited, 3, 1, arena.OutcomeRateLimited)
	play(limited, 4, 1, arena.OutcomeTimeout)
	play(limited, 5, 1, arena.OutcomeRateLimited)
	play(limited, 6, 0, arena.OutcomeRateLimited) // in the pause
	f.settle(limited, start)
	skipped := f.begin("m_02", "trivia", ids...)
	play(skipped, 1, 1, arena.OutcomeUnavailable)
	f.settle(skipped, start)
	elsewhere := f.begin("m_03", "sums", ids...)
	play(elsewhere, 1, 1, arena.OutcomeError)
	play(elsewhere, 2, 1, arena.OutcomeUnavailable)
	f.settle(elsewhere, start)

	noShow := func(match, league string, no int, outcome arena.Outcome) arena.NoShow {
		return arena.NoShow{AgentID: ids[0], Opponent: ids[1], League: league, MatchID: match, Round: no, Outcome: outcome, At: round(no).OpenedAt}
	}
	skip := noShow("m_02", "trivia", 1, arena.OutcomeUnavailable)
	sums := noShow("m_03", "sums", 2, arena.OutcomeUnavailable)
	at := func(no int) arena.NoShow { return noShow("m_01", "trivia", no, arena.OutcomeRateLimited) }
	f.equal([]arena.NoShow{at(1), skip, sums, at(3), at(5)}, must(f.Ratings.NoShows(ctx, "", ids))(f))
	f.equal([]arena.NoShow{at(1), skip, at(3), at(5)}, must(f.Ratings.NoShows(ctx, "trivia", ids))(f))
	f.equal(0, len(must(f.Ratings.NoShows(ctx, "", ids[1:]))(f)))
	f.equal(0, len(must(f.Ratings.NoShows(ctx, "", nil))(f)))

	// Only the newest matches of the league that have begun are looked at.
	more := func(first, last int) {
		for n := first; n <= last; n++ {
			f.settle(f.begin(fmt.Sprintf("m_%02d", n), "trivia", ids...), start)
		}
	}
	more(4, 2+arena.NoShowMatches)
	f.match("m_later", "trivia", ids...)
	f.equal([]arena.NoShow{skip, sums}, must(f.Ratings.NoShows(ctx, "", ids))(f))
	f.ok(second(f.Matches.EndMatch(ctx, "m_later", arena.MatchCancelled, arena.VoidReason{}, start, event(arena.EventMatchVoid, `{}`))))
	more(3+arena.NoShowMatches, 3+arena.NoShowMatches)
	f.equal([]arena.NoShow{sums}, must(f.Ratings.NoShows(ctx, "", ids))(f))

	// Threat F9: a seat that left before the first round because of its owner.
	f.match("m_withdrawn", "sums", ids...)
	m := f.claim()
	m.Seats[1].State, m.Seats[1].Outcome, m.Seats[1].Withdrawal = arena.SeatLeft, arena.OutcomeUnavailable, arena.WithdrawnPaused
	f.ok(second(f.Matches.StartMatch(ctx, m.Lease, m.Seats, start.Add(time.Hour), nil, []arena.Event{event(arena.EventMatchStarted, `{}`)})))
	withdrawn := arena.NoShow{AgentID: ids[1], Opponent: ids[0], League: "sums", MatchID: m.ID, Outcome: arena.OutcomeUnavailable, At: start.Add(time.Hour)}
	f.equal([]arena.NoShow{withdrawn}, must(f.Ratings.NoShows(ctx, "sums", ids[1:]))(f))
	f.equal([]arena.NoShow{withdrawn}, must(f.Ratings.SeenNoShows(ctx, ids[1]))(f))
	f.settle(m, start)

	// With that many newer no-shows, those in another league no longer count.
	many := 3*arena.NoShowMatches + 1
	long := f.begin("m_z", "trivia", ids...)
	for no := range many {
		play(long, no+1, 1, arena.OutcomeUnavailable)
	}
	f.equal(many, len(must(f.Ratings.NoShows(ctx, "", ids[:1]))(f)))
	f.equal(0, len(must(f.Ratings.NoShows(ctx, "sums", ids[:1]))(f)))
}

// evidence: the newest matches that are over, with answers, tasks and rated
// duels; nothing of a match that is not over.
func evidence(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("other")
	ids := f.agents("a", "b", "c")
	play := func(id, league string, rated bool, agents ...string) {
		m := f.begin(id, league, agents...)
		r := round(1)
		r.Task.Source = "pk_1/" + id
		f.ok(second(f.Matches.OpenRound(ctx, m.Lease, r, nil)))
		var answers []arena.Answer
		for i, agent := range agents {
			a := arena.Answer{Round: 1, AgentID: agent, Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "said by " + agent}}
			if id == "m_3" && i == 1 {
				a.Outcome, a.Body = arena.OutcomeTimeout, nil
			}
			f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, a, nil, nil)))
			a.Points, a.Judged = arena.Points(333*(1-i)), true
			answers = append(answers, a)
		}
		f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats, Answers: answers}, noEvents)))
		changes := moves(m)
		if !rated {
			changes = func(map[string]arena.Rating) []arena.RatingChange { return nil }
		}
		f.ok(second(f.Matches.Settle(ctx, m.Lease, result(m, rated), start, changes, finished)))
	}
	play("m_1", "trivia", true, ids[0], ids[1])
	play("m_2", "other", true, ids[0], ids[1])
	play("m_3", "trivia", false, ids[2], ids[0])

	e := must(f.Ratings.Evidence(ctx, "trivia", 10))(f)
	f.equal(2, e.Matches)
	f.equal(3, len(e.Answers)) // one timed out
	first := e.Answers[0]
	f.equal(arena.GivenAnswer{
		MatchID: "m_1", Round: 1, AgentID: ids[0], OwnerID: "ow_a", Source: "pk_1/m_1", Options: []string{"4", "5"},
		Text: "said by " + ids[0], Points: 333, AskedAt: round(1).OpenedAt,
	}, first)
	f.equal("m_3", e.Answers[2].MatchID)
	f.equal(1, len(e.Duels))
	f.equal([]arena.RatedSeat{{AgentID: ids[0], OwnerID: "ow_a", Place: 1}, {AgentID: ids[1], OwnerID: "ow_b", Place: 2}}, e.Duels[0].Seats)

	e = must(f.Ratings.Evidence(ctx, "trivia", 1))(f)
	f.equal(1, e.Matches)
	f.equal("m_3", e.Answers[0].MatchID)
	f.equal(arena.Evidence{League: "none"}, must(f.Ratings.Evidence(ctx, "none", 10))(f))
	_, err := f.Ratings.Evidence(ctx, "trivia", 0)
	f.fails(arena.CodeInvalid, err)

	for i := range 300 { // more than are read at once
		play(fmt.Sprintf("m_x%03d", i), "trivia", true, ids[i%2], ids[2])
	}
	e = must(f.Ratings.Evidence(ctx, "trivia", 301))(f)
	f.equal(301, e.Matches)
	f.equal(601, len(e.Answers))
	f.equal(300, len(e.Duels))
	f.equal("m_3", e.Answers[0].MatchID)
	f.equal("m_x299", e.Answers[600].MatchID)

	f.open("m_y", ids[0], ids[1])
	f.equal(302, must(f.Ratings.Evidence(ctx, "trivia", 400))(f).Matches)
}

// gamesOfLeagues: games are counted with the end of their match, once, by league
// and agent.
func gamesOfLeagues(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	f.league("other")
	ids := f.agents("a", "b")
	record := func(agent string, order arena.TurnOrder, end arena.GameEnd, cause arena.RoundResult, s arena.GameScore) arena.GameRecord {
		return arena.GameRecord{AgentID: agent, Order: order, End: end, Cause: cause, GameScore: s}
	}
	won, lost := arena.GameScore{Games: 1, Wins: 1, Points: 1000}, arena.GameScore{Games: 1, Losses: 1}
	games := []arena.GameRecord{
		record(ids[0], arena.MovedFirst, arena.GamePlayedOut, "", won), record(ids[1], arena.MovedLater, arena.GamePlayedOut, "", lost),
		record(ids[0], arena.MovedFirst, arena.GamePlayedOut, "", lost), record(ids[1], arena.MovedLater, arena.GamePlayedOut, "", won),
		record(ids[0], arena.MovedLater, arena.GameForfeit, "", won), record(ids[1], arena.MovedFirst, arena.GameForfeit, arena.ResultIllegal, lost),
	}
	end := func(id, league string) {
		m := f.begin(id, league, ids...)
		r := result(m, true)
		r.Games = games
		for range 2 { // a runner may ask again
			f.ok(second(f.Matches.Settle(ctx, m.Lease, r, start, moves(m), finished)))
		}
	}
	end("m_1", "trivia")
	end("m_2", "trivia")
	end("m_3", "other")
	lostMatch := f.begin("m_4", "trivia", ids...)
	f.ok(second(f.Matches.VoidMatch(ctx, lostMatch.Lease, arena.OperatorReason("our fault"), lostMatch.Seats, start, event(arena.EventMatchVoid, `{}`))))

	want := func(league string, times int) []arena.GameRecord {
		all := arena.SumGames(games)
		for i := range all {
			s := &all[i]
			s.League = league
			one := s.GameScore
			for range times - 1 {
				s.Add(one)
			}
		}
		return all
	}
	f.equal(want("trivia", 2), must(f.Games.LeagueGames(ctx, "trivia"))(f))
	f.equal(want("other", 1), must(f.Games.LeagueGames(ctx, "other"))(f))
	f.equal(0, len(must(f.Games.LeagueGames(ctx, "none"))(f)))
	f.equal(append(want("other", 1)[:2], want("trivia", 2)[:2]...), must(f.Games.AgentGames(ctx, ids[0]))(f))
	f.equal(0, len(must(f.Games.AgentGames(ctx, "ag_none"))(f)))
}
