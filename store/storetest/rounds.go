package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

func startMatch(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	f.match("m_1", "trivia", ids...)
	m := f.claim()
	m.Seats[0].Version, m.Seats[0].Endpoint = "pinned", "http://pinned"
	stored, err := f.Matches.StartMatch(ctx, m.Lease, m.Seats, start.Add(time.Hour), nil, []arena.Event{event(arena.EventMatchStarted, `{"n":1}`)})
	f.ok(err)
	f.equal(int64(2), stored[0].Seq)
	f.equal(stored, f.log("m_1")[1:])

	// Threat F6: later edits do not reach into a running match.
	_, _, err = f.Agents.UpdateAgent(ctx, ids[0], func(a *arena.Agent) error { a.Name, a.Endpoint = "new", "http://new"; return nil })
	f.ok(err)
	now := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(m.Seats, now.Seats)
	f.equal(start.Add(time.Hour), now.StartedAt)

	// After a take-over it is not started again.
	m.Seats[0].Endpoint = "http://again"
	stored, err = f.Matches.StartMatch(ctx, m.Lease, m.Seats, start, nil, []arena.Event{event(arena.EventMatchStarted, `{}`)})
	f.ok(err)
	f.equal(0, len(stored))
	f.equal(now, must(f.Matches.Match(ctx, "m_1"))(f))
}

func openRound(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	m := f.begin("m_1", "trivia", f.agents("a", "b")...)
	open := func(no int, events ...arena.Event) error {
		return second(f.Matches.OpenRound(ctx, m.Lease, round(no), events))
	}
	f.fails(arena.CodeConflict, open(2))
	f.fails(arena.CodeConflict, open(0))
	f.ok(open(1, roundEvent()))
	now := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(1, now.Round)
	f.equal(true, now.RoundOpen)
	f.equal(1, f.log("m_1")[2].Round)

	// Once more after a take-over: interrupted, task and turn stay.
	again := round(1)
	again.Task.Description, again.Turn.Description, again.Interruptions = "another", "another", 1
	stored, err := f.Matches.OpenRound(ctx, m.Lease, again, []arena.Event{roundEvent()})
	f.ok(err)
	f.equal(1, len(stored))
	// The same once more, as after a commit with an unknown outcome.
	for _, r := range []arena.Round{round(1), again} {
		stored, err = f.Matches.OpenRound(ctx, m.Lease, r, []arena.Event{roundEvent()})
		f.ok(err)
		f.equal(0, len(stored))
	}
	f.fails(arena.CodeConflict, open(2))
	_, err = f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)
	f.ok(err)
	f.fails(arena.CodeConflict, open(1))
	f.clock.advance(time.Hour)
	last := round(2)
	last.Turn = arena.Turn{
		Description: "<b>", Prompts: []arena.Prompt{{Seat: 1, Description: "é\x00", Options: []string{"a1"}}}, GameState: arena.GameState{Debate: &arena.DebateTurn{Half: 2, Motion: "?"}},
	}
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, last, nil)))

	first := round(1)
	first.MatchID, first.Interruptions, first.ClosedAt = "m_1", 1, start
	last.MatchID = "m_1"
	f.equal([]arena.Round{first, last}, must(f.Matches.Rounds(ctx, "m_1"))(f))
	f.equal(4, len(f.log("m_1")))
}

func openVote(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	m := f.open("m_1", f.agents("a", "b")...)
	vote, until := event(arena.EventVoteOpened, `{"until":"x"}`), start.Add(time.Hour)
	open := func(l arena.Lease, round int) ([]arena.Event, error) {
		return f.Matches.OpenVote(ctx, l, round, until, []arena.Event{vote})
	}
	ends := func() time.Time {
		end := must(f.Matches.VoteUntil(ctx, "m_1", 1))(f)
		f.equal(end, must(f.Matches.Rounds(ctx, "m_1"))(f)[0].VoteUntil)
		return end
	}
	f.equal(time.Time{}, ends())
	f.equal(time.Time{}, must(f.Matches.VoteUntil(ctx, "m_1", 2))(f))
	stored := must(open(m.Lease, 1))(f)
	events := f.log("m_1")
	f.equal(stored, events[len(events)-1:])
	f.equal(until, ends())
	f.fails(arena.CodeRoundClosed, second(open(m.Lease, 2)))
	old := m.Lease
	old.Epoch--
	f.fails(arena.CodeLeaseLost, second(open(old, 1)))

	// A take-over opens the round again, without a vote.
	again := round(1)
	again.Interruptions = 1
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, again, nil)))
	f.equal(time.Time{}, ends())
	f.ok(second(open(m.Lease, 1)))
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.equal(until, ends())
	f.fails(arena.CodeRoundClosed, second(open(m.Lease, 1)))
}

func fullAnswer(agent string) arena.Answer {
	return arena.Answer{
		MatchID: "m_1", Round: 1, AgentID: agent, Outcome: arena.OutcomeAnswered, OverTokens: true, Elapsed: 4_200_000_001, Attempts: 2, ArrivedAt: start.Add(time.Second),
		Body: &arena.AnswerBody{
			Answer: "four \u2028<b>\x00", Confidence: new(math.Nextafter(0.1, 1)), Reasoning: "2+2", SubagentsUsed: []string{},
			ToolsUsed: []string{"calc"}, Tokens: new(int64(1 << 60)), LatencyMS: new(1e-300),
			Offer:   &arena.Offer{Plan: "count \u2028<b>\x00", PriceUSD: math.Nextafter(0.1, 1), ETASeconds: new(0.5)},
			Metrics: json.RawMessage(`{"cost_actual":0.1}`), Artifacts: json.RawMessage(`[{"a":"\u003cb\u003e"}]`),
		},
	}
}

func saveAnswer(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	want := fullAnswer(ids[0])
	e := event(arena.EventSeatOutcome, `{"outcome":"answered"}`)
	e.Round, e.AgentID, e.Hidden = 1, ids[0], json.RawMessage(`{"answer":"secret"}`)
	stored, err := f.Matches.SaveAnswer(ctx, m.Lease, want, nil, []arena.Event{e})
	f.ok(err)
	e.MatchID, e.Seq, e.Hidden = "m_1", 4, nil // threat F1: nothing hidden comes back
	f.equal([]arena.Event{e}, stored)
	f.equal([]arena.Event{e}, f.log("m_1")[3:])

	// Threat F3: the first answer stands.
	other := fullAnswer(ids[0])
	other.Body.Answer = "five"
	stored, err = f.Matches.SaveAnswer(ctx, m.Lease, other, []arena.Delivery{{ID: "dl_1"}}, []arena.Event{e})
	f.ok(err)
	f.equal(0, len(stored))
	f.equal([]arena.Answer{want}, must(f.Matches.Answers(ctx, "m_1"))(f))
	f.equal(4, len(f.log("m_1")))

	none := arena.Answer{MatchID: "m_1", Round: 1, AgentID: ids[1], Outcome: arena.OutcomeInvalid, Reason: "bad_json", Attempts: 1}
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, none, nil, nil)))
	f.equal([]arena.Answer{want, none}, must(f.Matches.Answers(ctx, "m_1"))(f))
	f.equal(map[arena.Outcome]int{}, must(f.Ratings.AgentCauses(ctx, ids[1]))(f)) // the match is still running

	late := none
	late.Round = 2
	f.fails(arena.CodeRoundClosed, second(f.Matches.SaveAnswer(ctx, m.Lease, late, nil, nil)))
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, noEvents)))
	f.fails(arena.CodeRoundClosed, second(f.Matches.SaveAnswer(ctx, m.Lease, none, nil, nil)))
}

func deliveries(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	d := arena.Delivery{
		ID: "dl_2", MatchID: "m_1", League: "trivia", AgentID: ids[0], Round: 1, TaskID: "tk_1", Attempt: 1, Status: 500,
		Outcome: arena.OutcomeError, Reason: "status_500", Detail: "bad \x00\xff text", SentAt: start, Elapsed: 17,
		Request: bytes.Repeat([]byte{0, 255}, 40_000), Response: bytes.Repeat([]byte("x"), 3000),
	}
	unnamed := arena.Delivery{AgentID: ids[0], Outcome: arena.OutcomeTimeout, SentAt: start}
	good := arena.Delivery{ID: "dl_3", AgentID: ids[0], Round: 1, Attempt: 2, Outcome: arena.OutcomeAnswered, SentAt: start}
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, fullAnswer(ids[0]), []arena.Delivery{d, unnamed, good}, nil)))

	items, _, err := f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: ids[0], MatchID: "m_1", Outcome: arena.OutcomeError}, arena.Page{Limit: 10})
	f.ok(err)
	d.Detail, d.Request, d.Response = "bad \ufffd\ufffd text", d.Request[:64<<10], d.Response[:2<<10]
	f.equal([]arena.Delivery{d}, items)
	items, _, err = f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: ids[0]}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(3, len(items))
	f.equal(true, strings.HasPrefix(items[1].ID, arena.DeliveryPrefix))
	for _, item := range items { // what is known of the answer belongs to the delivery that brought it
		want := arena.Answer{}
		if item.ID == good.ID {
			want = fullAnswer(ids[0])
		}
		f.equal(want.Body, item.Answer)
		f.equal(want.ArrivedAt, item.AnsweredAt)
	}
	items, _, err = f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: ids[1]}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(0, len(items))
}

func closeRound(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	saved := fullAnswer(ids[0])
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, saved, nil, nil)))

	judged := saved
	judged.Points, judged.Judged = 333, true
	void := arena.Answer{MatchID: "m_1", Round: 1, AgentID: ids[1], Outcome: arena.OutcomeVoid, Judged: true}
	m.Seats[0].Points, m.Seats[0].Outcome, m.Seats[0].RateLimits = 333, arena.OutcomeAnswered, 2
	m.Seats[0].LostRounds, m.Seats[0].SkippedRounds = 3, 4
	m.Seats[1].State, m.Seats[1].OutRound = arena.SeatOut, 1
	c := arena.RoundClose{Round: 1, Answers: []arena.Answer{judged, void}, Seats: m.Seats}

	// An error from the function undoes everything.
	refused := errors.New("refused")
	_, err := f.Matches.CloseRound(ctx, m.Lease, c, func([]arena.Event) ([]arena.Event, error) { return nil, refused })
	if !errors.Is(err, refused) {
		f.t.Fatalf("error of events is lost: %v", err)
	}
	f.equal(true, must(f.Matches.Match(ctx, "m_1"))(f).RoundOpen)
	f.equal([]arena.Answer{saved}, must(f.Matches.Answers(ctx, "m_1"))(f))

	e := event(arena.EventRoundClosed, `{"seats":[]}`)
	e.Round = 1
	stored, err := f.Matches.CloseRound(ctx, m.Lease, c, func(hidden []arena.Event) ([]arena.Event, error) {
		f.equal(0, len(hidden))
		return []arena.Event{e, e}, nil
	})
	f.ok(err)
	f.equal(stored, f.log("m_1")[3:])
	f.equal([]arena.Answer{judged, void}, must(f.Matches.Answers(ctx, "m_1"))(f))
	now := must(f.Matches.Match(ctx, "m_1"))(f)
	f.equal(m.Seats, now.Seats)
	f.equal(false, now.RoundOpen)
	f.equal(0, must(f.Agents.Agent(ctx, ids[1]))(f).Running)
	// Twice changes nothing; a round that was never opened cannot be closed.
	before := must(f.Matches.Match(ctx, "m_1"))(f)
	stored, err = f.Matches.CloseRound(ctx, m.Lease, c, func([]arena.Event) ([]arena.Event, error) { return []arena.Event{e}, nil })
	f.ok(err)
	f.equal(0, len(stored))
	f.equal(before, must(f.Matches.Match(ctx, "m_1"))(f))
	f.fails(arena.CodeRoundClosed, second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 2, Seats: m.Seats}, noEvents)))

	// The next round may open in the same write; a repeated call changes nothing.
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(2), nil)))
	third, fourth := round(3), round(4)
	skips := arena.RoundClose{Round: 2, Seats: m.Seats, Next: &fourth}
	f.fails(arena.CodeConflict, second(f.Matches.CloseRound(ctx, m.Lease, skips, noEvents)))
	c = arena.RoundClose{Round: 2, Seats: m.Seats, Next: &third}
	for _, n := range []int{2, 0} {
		stored, err = f.Matches.CloseRound(ctx, m.Lease, c, func([]arena.Event) ([]arena.Event, error) { return []arena.Event{e, e}, nil })
		f.ok(err)
		f.equal(n, len(stored))
		now = must(f.Matches.Match(ctx, "m_1"))(f)
		f.equal(3, now.Round)
		f.equal(true, now.RoundOpen)
	}
	f.equal(third.Task, must(f.Matches.Rounds(ctx, "m_1"))(f)[2].Task)
	f.equal(false, must(f.Matches.Rounds(ctx, "m_1"))(f)[1].ClosedAt.IsZero())

	// A seat that the match does not have is a mistake of the caller.
	c = arena.RoundClose{Round: 3, Seats: []arena.Seat{{No: 0, AgentID: ids[1], State: arena.SeatActive}}}
	if err := second(f.Matches.CloseRound(ctx, m.Lease, c, noEvents)); err == nil {
		f.t.Fatal("a seat changed hands")
	}
}

// sealed: threat F1, a hidden part leaves the store in one way only, when
// its round closes.
func sealed(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	secret := event(arena.EventThinking, `{"commitment":"c"}`)
	secret.Hidden = json.RawMessage(`{"message":"the secret"}`)
	stored, err := f.Matches.AppendEvents(ctx, "m_1", ids[0], []arena.Event{secret, event(arena.EventToolCall, `{"tool":"x"}`)})
	f.ok(err)
	shown := must(f.Matches.EventsAfter(ctx, "m_1", 0, 100))(f)
	if s := fmt.Sprintf("%s %s", must(json.Marshal(stored))(f), must(json.Marshal(shown))(f)); strings.Contains(s, "secret") {
		f.t.Fatalf("hidden part was shown: %s", s)
	}
	for _, e := range append(stored, shown...) {
		f.equal(0, len(e.Hidden))
	}
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, func(hidden []arena.Event) ([]arena.Event, error) {
		f.equal([]arena.Event{{
			MatchID: "m_1", Round: 1, AgentID: ids[0], Seq: 4, Type: arena.EventThinking, Hidden: secret.Hidden,
		}}, hidden)
		return nil, nil
	})))
	// The next round sees its own hidden parts only.
	f.ok(second(f.Matches.OpenRound(ctx, m.Lease, round(2), nil)))
	f.ok(second(f.Matches.CloseRound(ctx, m.Lease, arena.RoundClose{Round: 2, Seats: m.Seats}, func(hidden []arena.Event) ([]arena.Event, error) {
		f.equal(0, len(hidden))
		return nil, nil
	})))
}

// closeWithLast: the last answer of a round is stored with its deliveries and
// events as the round closes, once, and what it hides is revealed in its turn.
func closeWithLast(f *fixture) {
	ctx := f.t.Context()
	f.league("trivia")
	ids := f.agents("a", "b")
	m := f.open("m_1", ids...)
	outcome := func(agentID string) arena.Event {
		e := event(arena.EventSeatOutcome, `{"outcome":"answered"}`)
		e.Round, e.AgentID, e.Hidden = 1, agentID, json.RawMessage(fmt.Sprintf(`{"answer":"secret of %s"}`, agentID))
		return e
	}
	first, last := fullAnswer(ids[0]), fullAnswer(ids[1])
	f.ok(second(f.Matches.SaveAnswer(ctx, m.Lease, first, nil, []arena.Event{outcome(ids[0])})))
	first.Judged, last.Judged, last.Points = true, true, 500
	next := round(2)
	c := arena.RoundClose{
		Round: 1, Answers: []arena.Answer{first, last}, Seats: m.Seats, Next: &next,
		Last: &arena.LastOutcome{
			AgentID: ids[1], Deliveries: []arena.Delivery{{ID: "dl_1", AgentID: ids[1], Round: 1, Outcome: arena.OutcomeAnswered, SentAt: start}},
			Events: []arena.Event{outcome(ids[1]), event(arena.EventAgentLeft, `{}`)},
		},
	}
	var hidden []arena.Event
	closeIt := func() []arena.Event {
		return must(f.Matches.CloseRound(ctx, m.Lease, c, func(of []arena.Event) ([]arena.Event, error) {
			hidden = of
			return []arena.Event{event(arena.EventReveal, `{}`), roundEvent()}, nil
		}))(f)
	}
	stored := closeIt()
	f.equal(f.log("m_1")[4:], stored)
	f.equal(4, len(stored))
	f.equal(arena.EventSeatOutcome, stored[0].Type)
	for i, seq := range []int64{4, 5} {
		want := outcome(ids[i])
		f.equal(arena.Event{MatchID: "m_1", Round: 1, AgentID: ids[i], Seq: seq, Type: want.Type, Hidden: want.Hidden}, hidden[i])
	}
	f.equal(2, len(hidden))
	f.equal([]arena.Answer{first, last}, must(f.Matches.Answers(ctx, "m_1"))(f))
	tried, _, err := f.Agents.Deliveries(ctx, arena.DeliveryFilter{AgentID: ids[1]}, arena.Page{Limit: 10})
	f.ok(err)
	f.equal(1, len(tried))
	f.equal("m_1", tried[0].MatchID)
	f.equal("trivia", tried[0].League)

	// As after a commit with an unknown outcome.
	f.equal(0, len(closeIt()))
	f.equal(8, len(f.log("m_1")))

	// What is revealed later stays hidden.
	third := fullAnswer(ids[0])
	third.Round = 2
	sealed := outcome(ids[0])
	sealed.Round = 2
	c = arena.RoundClose{
		Round: 2, Answers: []arena.Answer{third}, Seats: m.Seats, RevealFrom: 3,
		Last: &arena.LastOutcome{AgentID: ids[0], Events: []arena.Event{sealed}},
	}
	closeIt()
	f.equal(0, len(hidden))
	c.Last = &arena.LastOutcome{AgentID: ids[1]} // has no answer in the round
	if err := second(f.Matches.CloseRound(ctx, m.Lease, c, noEvents)); err == nil {
		f.t.Fatal("the last outcome has no answer")
	}
}
