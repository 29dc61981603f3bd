package aap

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

// headBytes is how much of a reply that was not an answer is kept.
const headBytes = 2 << 10

// tokenLeeway is how long a task token outlives its deadline (threat F2).
const tokenLeeway = 5 * time.Second

// Options are the parts of a Driver. All but TraceParent are needed.
type Options struct {
	Client *protocol.Client
	Sign   func(arena.TaskClaims) (string, error) // makes the bearer token
	Now    func() time.Time
	// TraceParent returns the traceparent header of a task (W3C Trace Context).
	// Nil: tasks have none.
	TraceParent func(matchID string, round int, agentID string) string
}

// Driver sends tasks and health checks over AAP. It is safe for concurrent use.
type Driver struct {
	o     Options
	alter func(body []byte) []byte // changes a body after its token was made; nil except in forgeries
}

// New makes a Driver.
func New(o Options) *Driver {
	return &Driver{o: o}
}

// Warm has a connection made to an agent that is about to get a task.
func (d *Driver) Warm(endpoint string) { d.o.Client.Warm(endpoint) }

// Prepare returns a function that sends the task POST with its token, and adds
// the request to the batch of the round. Nothing is sent before. The function is
// called at most once. An error means that the arena could not build the request.
func (d *Driver) Prepare(_ context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	if a.Seat.Endpoint == "" || a.TimeLimit <= 0 {
		return nil, fmt.Errorf("task of %s in match %s: no endpoint or no time", a.Seat.AgentID, a.MatchID)
	}
	body, err := task.Encode(a)
	if err != nil {
		return nil, fmt.Errorf("task of %s in match %s: %w", a.Seat.AgentID, a.MatchID, err)
	}
	token, err := d.o.Sign(Claims(a, body, d.o.Now()))
	if err != nil {
		return nil, fmt.Errorf("sign task of %s in match %s: %w", a.Seat.AgentID, a.MatchID, err)
	}
	if d.alter != nil {
		body = d.alter(body)
	}
	request := protocol.Request{Method: http.MethodPost, URL: a.Seat.Endpoint, Token: token, Body: body, Limit: a.TimeLimit}
	if d.o.TraceParent != nil {
		request.Header = "traceparent: " + d.o.TraceParent(a.MatchID, a.Round, a.Seat.AgentID)
	}
	call := d.o.Client.Call(request)
	a.Batch.Add(call.TrySend)
	format := a.Task.OutputFormat
	return func(ctx context.Context) arena.Reply {
		x := call.Do(ctx)
		return ReadReply(x, format, body)
	}, nil
}

// Claims returns the claims of the token of one attempt. The token expires on the last whole
// second that is at most tokenLeeway after the deadline.
func Claims(a arena.Attempt, body []byte, now time.Time) arena.TaskClaims {
	hash := sha256.Sum256(body)
	return arena.TaskClaims{
		ID:        rand.Text(),
		AgentID:   a.Seat.AgentID,
		MatchID:   a.MatchID,
		Round:     a.Round,
		BodyHash:  base64.RawURLEncoding.EncodeToString(hash[:]),
		IssuedAt:  now,
		ExpiresAt: a.Deadline.Add(tokenLeeway).Truncate(time.Second),
	}
}

// ReadReply returns the outcome of an exchange (docs/rules.md, section 3).
func ReadReply(x protocol.Exchange, outputFormat string, request []byte) arena.Reply {
	v, answer := classify(x, outputFormat)
	r := arena.Reply{
		Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail, Status: x.Status,
		Unreached: v.Unreached, Retry: v.Retry, Answer: answer, Reused: x.Reused,
		Refused: x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden,
		SentAt:  x.SentAt, Elapsed: x.Elapsed, Request: request,
	}
	if answer == nil {
		r.Head = x.Body[:min(len(x.Body), headBytes)]
	}
	return r
}
