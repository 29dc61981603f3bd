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
	"github.com/agora-arena/arena/protocol/aap"
	"github.com/agora-arena/arena/protocol/task"
)

// session is one run over one agent: the results of earlier checks.
type session struct {
	Options
	endpoint string
	matchID  string
	league   string
	round    atomic.Int64

	health   arena.Health
	probed   protocol.Exchange // the health check that came with it
	answered bool              // a good task got a good answer
	first    exchange          // the task that was delivered twice
	second   exchange
	reused   atomic.Bool         // a connection was used again
	refusals map[string]exchange // of forgeries, by check
	verifies bool                // at least one forged credential was refused
}

// exchange is one task with its reply.
type exchange struct {
	sent  string
	reply arena.Reply
	body  []byte
}

// outcome is the end of one check.
type outcome struct {
	sent, got string
	wrong     bool
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
		Seat: arena.Seat{AgentID: s.AgentID, Endpoint: s.endpoint},
	}
	if change != nil {
		change(&a)
	}
	a.Deadline = s.Now().Add(a.TimeLimit)
	return a
}

// delivery is how a task is sent. Zero members send it as an arena does.
type delivery struct {
	what   string              // for the report
	before func([]byte) []byte // changes the body before the token is made for it
	after  func([]byte) []byte // and after
	sign   Signer              // makes the token
}

// post sends a task.
func (s *session) post(ctx context.Context, a arena.Attempt, d delivery) exchange {
	ours := func(err error) exchange { // never seen with the signers of this program
		return exchange{sent: d.what, reply: arena.Reply{Outcome: arena.OutcomeVoid, Detail: "the kit could not make it: " + err.Error()}}
	}
	if d.sign == nil {
		d.sign = s.Sign
	}
	body, err := task.Encode(a)
	if err != nil {
		return ours(err)
	}
	if d.before != nil {
		body = d.before(body)
	}
	token, err := d.sign(aap.Claims(a, body, s.Now()))
	if err != nil {
		return ours(err)
	}
	if d.after != nil {
		body = d.after(body)
	}
	x := s.do(ctx, protocol.Request{
		Method: http.MethodPost, URL: s.endpoint, Token: token, Body: body, Limit: a.TimeLimit,
	})
	sent := fmt.Sprintf("POST %s, %s, time limit %g s", d.what, size(len(body)), a.TimeLimit.Seconds())
	return exchange{sent: sent, reply: aap.ReadReply(x, a.Task.OutputFormat, body), body: x.Body}
}

// ask posts a task as an arena does.
func (s *session) ask(ctx context.Context, a arena.Attempt, what string) exchange {
	return s.post(ctx, a, delivery{what: what})
}

// do makes a request and notes whether connections are kept.
func (s *session) do(ctx context.Context, r protocol.Request) protocol.Exchange {
	x := s.Client.Do(ctx, r)
	if x.Reused {
		s.reused.Store(true)
	}
	return x
}

// get makes a request without a body to the task path, or to another.
func (s *session) get(ctx context.Context, method, url string, most int) protocol.Exchange {
	return s.do(ctx, protocol.Request{Method: method, URL: url, Limit: 5 * time.Second, WholeCall: true, MaxBody: most})
}

// got returns one line about the reply.
func (x exchange) got() string {
	r := x.reply
	switch {
	case r.Outcome == arena.OutcomeAnswered:
		return fmt.Sprintf("200 in %d ms: %s", r.Elapsed.Milliseconds(), clip(string(x.body)))
	case r.Status != 0 && len(x.body) > 0:
		return fmt.Sprintf("%d in %d ms: %s", r.Status, r.Elapsed.Milliseconds(), clip(string(x.body)))
	case r.Status != 0:
		return fmt.Sprintf("%d in %d ms, no body", r.Status, r.Elapsed.Milliseconds())
	default:
		return r.Detail
	}
}

func (x exchange) ok() bool { return x.reply.Outcome == arena.OutcomeAnswered }

// why is the sentence of the outcome table.
func (x exchange) why() string {
	if x.reply.Detail == "" {
		return string(x.reply.Outcome)
	}
	return x.reply.Detail
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
