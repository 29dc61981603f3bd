package storetest

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// visible checks what spectators see of a delayed match, by every read that has
// something of it (docs/rules.md, section 5; threat F1).
func visible(f *fixture) {
	ctx := f.t.Context()
	reader := visibility.NewReader(f.Matches, f.clock.read)
	f.league("trivia")
	ids := f.agents("a", "b", "c")
	m := arena.Match{ID: "m_1", League: "trivia", Settings: settings(), CreatedAt: start, StartsAt: start}
	m.Settings.Visibility = "delayed:30"
	for i, id := range ids {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: id, State: arena.SeatActive})
	}
	f.ok(second(f.Matches.CreateMatch(ctx, m, event(arena.EventMatchScheduled, `{}`))))
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
	f.ok(second(f.Matches.StartMatch(ctx, lease, seats, start, nil, []arena.Event{later(0, arena.EventMatchStarted, `{}`), left})))
	opening := func(no, at int) {
		e := later(at, arena.EventRoundStarted, `{}`)
		e.Round = no
		f.ok(second(f.Matches.OpenRound(ctx, lease, round(no), []arena.Event{e})))
		think := later(at+1, arena.EventThinking, `{"message":"hm"}`)
		f.ok(second(f.Matches.AppendEvents(ctx, m.ID, ids[0], []arena.Event{think})))
	}
	answered := arena.Answer{Round: 1, AgentID: ids[0], Outcome: arena.OutcomeAnswered, Body: &arena.AnswerBody{Answer: "4"}, Points: 700, Judged: true}
	skipped := arena.Answer{Round: 1, AgentID: ids[1], Outcome: arena.OutcomeUnavailable, Attempts: 1, Judged: true}
	opening(1, 10)
	f.clock.advance(20 * time.Second)
	seats[0].Points, seats[0].Outcome = 700, arena.OutcomeAnswered
	seats[1].State, seats[1].OutRound, seats[1].Outcome = arena.SeatOut, 1, arena.OutcomeTimeout
	seats[1].LostRounds = 1
	f.ok(second(f.Matches.CloseRound(ctx, lease, arena.RoundClose{Round: 1, Seats: seats, Answers: []arena.Answer{answered, skipped}, Verdict: verdictOf(1, ids[0], ids[1])}, func([]arena.Event) ([]arena.Event, error) {
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
		seen := must(reader.Match(ctx, m.ID))(f)
		f.equal(0, len(must(f.Matches.LeagueVerdicts(ctx, "trivia", 10))(f)))
		counted := 0
		for _, c := range must(f.Ratings.AgentResults(ctx, ids[0], 10))(f) {
			counted += c.Rounds
		}
		f.equal(counted, len(must(f.Ratings.AgentClaims(ctx, ids[0], "", 10))(f)))
		f.equal(0, len(must(f.Ratings.SeenNoShows(ctx, ids[1]))(f)))
		f.equal(1, len(must(f.Ratings.NoShows(ctx, "trivia", ids))(f))) // the arena acts on it at once
		f.equal(want, view{seen.Seq, seen.Round, seen.RoundOpen, seen.Seats[0].Points, seen.Seats[1].State, seen.Seats[2].State, counted})
		log := must(reader.Events(ctx, seen.Log(), 0, 100))(f)
		f.equal(seen.Seq, int64(len(log)))
		f.equal(log[len(log)-1:], must(reader.Events(ctx, seen.Log(), seen.Seq-1, 100))(f))
		f.equal(0, len(must(reader.Events(ctx, seen.Log(), seen.Seq, 100))(f)))
	}
	relay := func(want int) {
		f.t.Helper()
		f.equal(want, len(must(f.Relay.ShowEnvelopes(ctx, f.clock.read(), 10))(f)))
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

	whole := must(f.Matches.Match(ctx, m.ID))(f)
	f.equal(int64(8), whole.Seq)
	seen := must(reader.Match(ctx, m.ID))(f)
	for i := range whole.Seats { // what spectators see is what was
		f.equal(whole.Seats[i], seen.Seats[i])
	}
	f.settle(whole, start.Add(time.Hour))
	over := must(f.Matches.Match(ctx, m.ID))(f)
	f.equal(over, must(reader.Match(ctx, m.ID))(f).Row())
	f.equal(over.Seq, int64(len(must(reader.Events(ctx, seen.Log(), 0, 100))(f))))
	f.equal(1, len(must(f.Ratings.AgentClaims(ctx, ids[0], "", 10))(f)))
	f.equal(1, len(must(f.Matches.LeagueVerdicts(ctx, "trivia", 10))(f)))
	f.equal(must(f.Ratings.NoShows(ctx, "", ids))(f), must(f.Ratings.SeenNoShows(ctx, ids[1]))(f))
	f.fails(arena.CodeNotFound, second(reader.Match(ctx, "m_none")))

	// A match that is not delayed is shown as it is.
	live := f.open("m_2", ids[:2]...)
	live = must(f.Matches.Match(ctx, live.ID))(f)
	f.equal(live, must(reader.Match(ctx, live.ID))(f).Row())
}
