package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// session is one run over one agent: the results of earlier checks.
type session struct {
	Options
	agent   arena.Agent
	matchID string
	league  string
	round   atomic.Int64

	health   arena.Health
	answered bool     // a good task got a good answer
	request  []byte   // of the good task
	first    exchange // the task that was delivered twice
	second   exchange
	turned   arena.Attempt       // the turn of a game
	played   string              // the legal move in it; "": none
	reused   atomic.Bool         // a connection was used again
	refusals map[string]exchange // of forgeries, by check
	verifies bool                // at least one forged credential was refused
}

// exchange is one task with its reply.
type exchange struct {
	sent  string
	reply arena.Reply
}

// outcome is the end of one check.
type outcome struct {
	sent, got string
	wrong     bool
	nothing   bool // there is nothing to check
	cure      string
	level     Level // "": the check's own
}

func passed(sent, got string) outcome { return outcome{sent: sent, got: got} }

func failed(sent, got, cure string, args ...any) outcome {
	return outcome{sent: sent, got: got, wrong: true, cure: fmt.Sprintf(cure, args...)}
}

// attempt makes the next task of the run. Every task has a round of its own.
func (s *session) attempt(change func(*arena.Attempt)) arena.Attempt {
	no := int(s.round.Add(1))
	a := arena.Attempt{
		MatchID: s.matchID, League: s.league, Round: no, Number: 1, TimeLimit: s.Limit, MaxTokens: 500,
		Rules: []string{"only_one_answer"}, Opponents: 1,
		Task: arena.Task{
			ID: fmt.Sprintf("tk_%s_%d", s.matchID, no), Description: "What is the capital of Australia?",
			Options: []string{"Sydney", "Canberra", "Melbourne", "Perth"},
		},
		Seat: arena.Seat{
			AgentID: s.agent.ID, Name: s.agent.Name, OwnerID: s.agent.OwnerID, Protocol: s.agent.Protocol,
			Endpoint: s.agent.Endpoint, PublicKey: s.agent.PublicKey, Version: s.agent.Version,
		},
	}
	if change != nil {
		change(&a)
	}
	return a
}

// send sends a task through a driver, or a forgery.
func (s *session) send(ctx context.Context, a arena.Attempt, prepare protocol.Sender, what string) exchange {
	a.Deadline = s.Now().Add(a.TimeLimit)
	send, err := prepare(ctx, a)
	if err != nil { // never seen with the signers of this program
		return exchange{sent: what, reply: arena.Reply{Outcome: arena.OutcomeVoid, Detail: "the kit could not make it: " + err.Error()}}
	}
	r := send(ctx)
	if r.Reused {
		s.reused.Store(true)
	}
	return exchange{sent: fmt.Sprintf("%s, %s, time limit %g s", what, size(len(r.Request)), a.TimeLimit.Seconds()), reply: r}
}

// ask sends a task as an arena does.
func (s *session) ask(ctx context.Context, a arena.Attempt, what string) exchange {
	return s.send(ctx, a, s.Driver.Prepare, what)
}

// plain makes a request to the endpoint that is no task.
func (s *session) plain(ctx context.Context, method string, body []byte) protocol.Exchange {
	return s.Client.Do(ctx, protocol.Request{
		Method: method, URL: s.agent.Endpoint, Body: body, Limit: 5 * time.Second, WholeCall: true, MaxBody: protocol.MaxBody,
	})
}

// advice fills the arena's URL and the agent's id into advice of a profile.
func (s *session) advice(text string) string {
	return strings.NewReplacer("{issuer}", s.Issuer, "{agent}", s.agent.ID).Replace(text)
}

// got returns one line about the reply.
func (x exchange) got() string {
	r := x.reply
	after := fmt.Sprintf(" in %d ms", r.Elapsed.Milliseconds())
	switch {
	case r.Answer != nil:
		return "answered" + after + ": " + clip(r.Answer.Answer)
	case r.Status != 0 && len(r.Head) > 0:
		return fmt.Sprintf("%d%s: %s", r.Status, after, clip(string(r.Head)))
	case r.Status != 0:
		return fmt.Sprintf("%d%s, no body", r.Status, after)
	case len(r.Head) > 0:
		return string(r.Outcome) + after + ": " + clip(string(r.Head))
	default:
		return clip(r.Detail)
	}
}

func (x exchange) ok() bool { return x.reply.Outcome == arena.OutcomeAnswered }

// why is the sentence of the outcome table.
func (x exchange) why() string {
	if x.reply.Detail == "" {
		return string(x.reply.Outcome)
	}
	return strings.TrimSuffix(clip(x.reply.Detail), ".")
}

// gaveUp reports whether the agent itself said that its time was not enough.
func (x exchange) gaveUp() bool {
	switch protocol.Failure(x.reply.Reason) { //nolint:exhaustive // the others are no timeouts
	case protocol.FailTimeout, protocol.FailLate:
		return false
	}
	return x.reply.Outcome == arena.OutcomeTimeout
}

// busy reports whether the agent refused the task for now.
func (x exchange) busy() bool {
	return x.reply.Outcome == arena.OutcomeRateLimited || x.reply.Outcome == arena.OutcomeUnavailable
}

// clip makes one printable line of an agent's bytes.
func clip(s string) string {
	const most = 160
	s = strings.ToValidUTF8(s, "�")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return '�' // nothing that moves a terminal's cursor (threat E4)
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return s
}

func size(n int) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// clientError reports whether a status refuses a request.
func clientError(status int) bool {
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError
}
