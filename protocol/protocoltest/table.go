package protocoltest

import (
	"net/http"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// Does is what an agent does with a task, whatever its protocol.
type Does string

// What an agent may do.
const (
	Answers    Does = "answers"
	SaysLate   Does = "says that its time is over" // AAP: 408
	RateLimits Does = "says that it is asked too often"
	Fails      Does = "says that it failed"
	Leaves     Does = "says that it is unavailable"
	Garbles    Does = "answers without an answer"
	KeepsQuiet Does = "says nothing"
)

// RunOutcomeTable checks the outcome table (docs/rules.md, section 3) for a driver:
// what an agent does has one outcome, the same in every protocol. ask puts a
// task with this time limit to an agent that does it.
func RunOutcomeTable(t *testing.T, ask func(t *testing.T, does Does, limit time.Duration) arena.Reply) {
	t.Helper()
	for _, c := range []struct {
		does  Does
		limit time.Duration
		want  arena.Outcome
		retry bool
	}{
		{Answers, enough, arena.OutcomeAnswered, false},
		{SaysLate, enough, arena.OutcomeTimeout, false},
		{RateLimits, enough, arena.OutcomeRateLimited, false},
		{Fails, enough, arena.OutcomeError, true},
		{Leaves, enough, arena.OutcomeUnavailable, false},
		{Garbles, enough, arena.OutcomeInvalid, false},
		{KeepsQuiet, 3 * short, arena.OutcomeTimeout, false},
	} {
		t.Run(string(c.does), func(t *testing.T) {
			t.Parallel()
			r := ask(t, c.does, c.limit)
			if r.Outcome != c.want || r.Retry != c.retry {
				t.Errorf("outcome %q, retry %t; want %q, %t: %s %s", r.Outcome, r.Retry, c.want, c.retry, r.Reason, r.Detail)
			}
			if answered := c.want == arena.OutcomeAnswered; answered != (r.Answer != nil) || answered != (r.Reason == "") {
				t.Errorf("answer %v with reason %q", r.Answer, r.Reason)
			}
		})
	}
}

// outcomeTable is the table for drivers over HTTP.
func (s Suite) outcomeTable(t *testing.T) {
	t.Parallel()
	RunOutcomeTable(t, func(t *testing.T, does Does, limit time.Duration) arena.Reply {
		t.Helper()
		agent := s.agent(t, AgentOptions{Play: func(Request) Behaviour {
			return map[Does]Behaviour{
				Answers: s.Answer("Canberra"), SaysLate: Status(http.StatusRequestTimeout), RateLimits: RateLimited(),
				Fails: Status(http.StatusInternalServerError), Leaves: Unavailable(), Garbles: Garbage(), KeepsQuiet: Stall(),
			}[does]
		}})
		return s.send(t, NewAttempt(agent.Endpoint(), limit))
	})
}
