package agentprotocol

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

const (
	headBytes = 2 << 10 // of a reply that was not an answer
	// setup is how long a request may take to be written.
	setup = 10 * time.Second
)

// The actions of a round's request. An agent that lists exactly the plain one
// is asked by it; every other agent by the one with the league as variant.
const (
	actionRound = "arena:round"
	actionPlain = "arena.round"
)

// Driver sends tasks and health checks over AgentProtocol. It is safe for concurrent use.
// NewServer makes the inbound handler that completes its requests.
type Driver struct {
	*core
	client *protocol.Client
	me     identity // that signs; another than the arena's only in forgeries
	forged bool     // requests are forgeries: no hello goes before or after them
}

// New returns a Driver.
func New(o Options) (*Driver, error) {
	c, err := newCore(o)
	if err != nil {
		return nil, err
	}
	return &Driver{core: c, client: o.Client, me: c.me}, nil
}

// WithClient returns a Driver that calls endpoints through another client and
// shares the rest with d.
func (d *Driver) WithClient(client *protocol.Client) *Driver {
	other := *d
	other.client = client
	return &other
}

// call is one attempt to be sent.
type call struct {
	a      arena.Attempt
	key    ed25519.PublicKey
	action string
	params []byte
	stale  bool // the agent has not said hello for long
}

// signedRequest is one signed request.
type signedRequest struct {
	id          string
	correlation string
	data        []byte
}

// Prepare makes the signed request of a round. Nothing is sent before send is
// called; send is called at most once. An error means that the arena itself
// could not make the request.
func (d *Driver) Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	where := func(err error) error {
		return fmt.Errorf("request to %s in match %s: %w", a.Seat.AgentID, a.MatchID, err)
	}
	if a.TimeLimit <= 0 {
		return nil, where(errors.New("no time"))
	}
	c := &call{a: a, action: actionRound + "/" + a.League}
	if _, c.key, err = CheckKey(a.Seat.PublicKey); err != nil {
		return nil, where(err)
	}
	if c.params, err = task.Encode(a); err != nil {
		return nil, where(err)
	}
	p, err := d.o.Peers.Peer(ctx, a.Seat.AgentID)
	if err != nil && arena.CodeOf(err) != arena.CodeNotFound {
		return nil, where(err)
	}
	if slices.Contains(p.Capabilities, actionPlain) && !slices.ContainsFunc(p.Capabilities, func(c string) bool { return covers(c, actionRound+"/"+a.League) }) {
		c.action = actionPlain
	}
	c.stale = d.o.Now().Sub(p.HelloAt) > d.timing.greet
	first, err := d.sign(c)
	if err != nil {
		return nil, where(err)
	}
	return func(ctx context.Context) arena.Reply { return d.run(ctx, c, first) }, nil
}

func (d *Driver) sign(c *call) (l signedRequest, err error) {
	l.correlation = d.newCorrelation(c.a.Seat.AgentID, correlation{
		matchID: c.a.MatchID, until: d.o.Now().Add(c.a.TimeLimit + setup),
	})
	l.id, l.data, err = d.me.seal(c.key, TypeRequest, requestPayload{
		Action: c.action, CorrelationID: l.correlation, Params: c.params, Timeout: c.a.TimeLimit.Milliseconds(),
	})
	return l, err
}

// run sends the request. An agent that does not recognize the arena or its
// signature gets a hello and the request once more, within the same limit.
func (d *Driver) run(ctx context.Context, c *call, first signedRequest) arena.Reply {
	agent := arena.Agent{ID: c.a.Seat.AgentID, Endpoint: c.a.Seat.Endpoint, Health: arena.Health{OK: true}} // it plays
	if c.stale && !d.forged {
		d.greet(ctx, agent, c.key, d.timing.hello) // the request shows whether it worked
	}
	said := d.request(ctx, c, first, c.a.TimeLimit)
	if !said.unknown || d.forged {
		return said.Reply
	}
	left := c.a.TimeLimit - said.Elapsed
	began := d.o.Now()
	if left > 0 {
		d.greet(ctx, agent, c.key, min(left, d.timing.hello))
		left -= d.o.Now().Sub(began)
	}
	second, err := d.sign(c)
	if left <= 0 || err != nil {
		return said.Reply
	}
	again := d.request(ctx, c, second, left)
	if !again.SentAt.IsZero() {
		again.Elapsed += again.SentAt.Sub(said.SentAt)
	}
	again.SentAt = said.SentAt
	return again.Reply
}

// outcome is the reply to one request. unknown: the agent does not recognize the
// arena or its signature.
type outcome struct {
	arena.Reply
	unknown bool
}

// request sends one letter the way that the agent has, and waits for its answer.
func (d *Driver) request(ctx context.Context, c *call, l signedRequest, limit time.Duration) outcome {
	here, stop := d.wait(l.correlation)
	defer stop()
	o := outcome{Reply: arena.Reply{Request: l.data}}
	if c.a.Seat.Endpoint == "" {
		if v, sent := d.post(ctx, c, l, limit); !sent {
			o.judge(v)
			return o
		}
		o.SentAt = d.o.Now()
	} else {
		x := d.client.Do(ctx, protocol.Request{Method: http.MethodPost, URL: c.a.Seat.Endpoint, Body: l.data, Limit: limit})
		o.SentAt, o.Elapsed, o.Status, o.Reused = x.SentAt, x.Elapsed, x.Status, x.Reused
		if x.Failure != "" || x.Status != http.StatusAccepted {
			d.read(&o, c, l, x)
			return o
		}
		limit -= x.Elapsed
	}
	began := d.o.Now()
	a, ok := d.await(ctx, l.correlation, here, time.Time{}, limit)
	whole := began.Sub(o.SentAt) + limit
	o.Elapsed = d.o.Now().Sub(o.SentAt)
	switch {
	case ctx.Err() != nil:
		o.judge(protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: string(protocol.FailCancelled), Detail: "the arena ended the request"})
	case !ok:
		o.judge(protocol.Verdict{Outcome: arena.OutcomeTimeout, Reason: string(protocol.FailTimeout), Detail: "no answer came within the time limit"})
	default:
		o.Elapsed = min(o.Elapsed, max(0, a.At.Sub(o.SentAt)))
		if o.Elapsed > whole {
			o.judge(protocol.Verdict{Outcome: arena.OutcomeTimeout, Reason: string(protocol.FailLate), Detail: "the answer came after the time limit"})
			return o
		}
		d.apply(&o, c, a.m)
	}
	return o
}

// judge copies a verdict.
func (o *outcome) judge(v protocol.Verdict) {
	o.Outcome, o.Reason, o.Detail, o.Unreached, o.Retry = v.Outcome, v.Reason, v.Detail, v.Unreached, v.Retry
}

// post leaves a letter for an agent without an endpoint: at its socket, on
// whatever node that is, or in the folder.
func (d *Driver) post(ctx context.Context, c *call, l signedRequest, limit time.Duration) (v protocol.Verdict, sent bool) {
	err := d.deliver(ctx, c.a.Seat.AgentID, c.key, l.id, l.data, limit)
	switch {
	case err == nil:
		return v, true
	case errors.Is(err, errNotConnected):
		return protocol.Verdict{Outcome: arena.OutcomeError, Reason: "not_connected", Detail: err.Error(), Unreached: true, Retry: true}, false
	case ctx.Err() != nil:
		return protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: string(protocol.FailCancelled), Detail: "the arena ended the request"}, false
	}
	d.o.Logger.Error("cannot deliver a request", slog.String("agent_id", c.a.Seat.AgentID), slog.Any("error", err))
	return protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: "not_delivered", Detail: "the arena could not deliver the request"}, false
}

// read judges what an endpoint answered.
func (d *Driver) read(o *outcome, c *call, l signedRequest, x protocol.Exchange) {
	defer func() {
		if o.Answer == nil {
			o.Head = x.Body[:min(len(x.Body), headBytes)]
		}
	}()
	v, decided := protocol.Judge(x)
	explained := x.Failure == "" && x.Status >= 400 && x.Status <= 499 && v.Outcome == arena.OutcomeInvalid // it may say why
	if decided && !explained {
		o.judge(v)
		return
	}
	m, reason, err := d.reply(x.Body, c.key)
	if err == nil {
		switch id, bad := answerTo(m); {
		case m.Type != TypeResponse && m.Type != TypeError || id != l.correlation:
			reason, err = "wrong_correlation", errors.New("the message is not a response or error with the correlationId of the request")
		case bad != nil:
			reason, err = "bad_message", bad
		}
	}
	switch {
	case err == nil && (!decided || m.Type == TypeError):
		d.apply(o, c, m)
	case x.Status == http.StatusUnauthorized || x.Status == http.StatusForbidden:
		o.unknown, o.Refused = true, true
		o.judge(protocol.Verdict{Outcome: arena.OutcomeUnavailable, Reason: v.Reason, Detail: "the agent does not recognize the arena or its signature"})
	case decided:
		o.judge(v)
	default:
		o.judge(protocol.Verdict{Outcome: arena.OutcomeInvalid, Reason: reason, Detail: protocol.Sentence(err.Error())})
	}
}

// reply reads a message that came in the body of a reply. The connection is
// the arena's own, and its correlation is used once, so ids are not noted.
func (d *Driver) reply(body []byte, key ed25519.PublicKey) (m message, reason string, err error) {
	if m, err = readMessage(body); err != nil {
		return m, "bad_message", err
	}
	if refused := d.addressed(m); refused != nil {
		return m, "bad_message", errors.New(refused.message)
	}
	if !names(m.From.AgentID, key) {
		return m, "wrong_sender", errors.New("from.agentId is not the agent's registered key")
	}
	if err := m.verify(key); err != nil {
		return m, "bad_signature", err
	}
	return m, "", nil
}

// apply translates a response or error into the terms of the outcome table
// (docs/rules.md, section 3).
func (d *Driver) apply(o *outcome, c *call, m message) {
	defer func() {
		if o.Answer == nil && o.Head == nil {
			o.Head = m.raw[:min(len(m.raw), headBytes)]
		}
	}()
	if m.Type == TypeError {
		p, _ := readError(m.Payload) // it was read before
		o.judge(verdictOf(p))
		o.unknown = p.Code == UnknownAgent || p.Code == InvalidSignature
		o.Refused = o.unknown
		return
	}
	p, _ := readResponse(m.Payload) // it was read before
	if p.Status != statusSuccess {
		o.judge(protocol.Verdict{
			Outcome: arena.OutcomeError, Retry: true, Reason: "not_success",
			Detail: protocol.Sentence(fmt.Sprintf("status is %q, not %q", p.Status, statusSuccess)),
		})
		return
	}
	answer, note, reason, err := readResult(p.Result, c.a.Task.OutputFormat)
	if err != nil {
		o.judge(protocol.Verdict{Outcome: arena.OutcomeInvalid, Reason: reason, Detail: protocol.Sentence(err.Error())})
		return
	}
	o.judge(protocol.Verdict{Outcome: arena.OutcomeAnswered, Detail: note})
	o.Answer = answer
}

// readResult reads the answer in a response.
func readResult(result json.RawMessage, outputFormat string) (_ *arena.AnswerBody, note, reason string, err error) {
	answer, note, err := task.DecodeAnswer(result, outputFormat)
	switch {
	case errors.Is(err, task.ErrNoAnswer):
		return nil, "", "empty_answer", err
	case errors.Is(err, task.ErrBadAnswer):
		return nil, "", "bad_answer", err
	case err != nil:
		return nil, "", "bad_json", err
	}
	// What was signed is a double: a longer number is another one by now.
	var number struct {
		Answer float64 `json:"answer"`
	}
	if strictjson.UnmarshalOpen(result, &number) == nil && math.Abs(number.Answer) >= 1<<53 {
		return nil, "", "bad_answer", errors.New("a number of 2^53 or more is sent as a string")
	}
	return answer, note, "", nil
}

// verdictOf returns the outcome of an error message (text, "Error Codes").
func verdictOf(p errorPayload) protocol.Verdict {
	v := protocol.Verdict{
		Outcome: arena.OutcomeError, Reason: "error_" + strings.ToLower(string(p.Code)),
		Detail: protocol.Sentence(fmt.Sprintf("the agent answered with %s: %s", p.Code, p.Message)),
	}
	switch p.Code {
	case Timeout:
		v.Outcome = arena.OutcomeTimeout
	case RateLimited:
		v.Outcome = arena.OutcomeRateLimited
	case CapabilityNotSupported, UnknownAgent, InvalidSignature:
		v.Outcome = arena.OutcomeUnavailable
	case InvalidMessage:
	case InternalError:
		v.Retry = true
	default:
		v.Reason, v.Retry = "error_other", true
	}
	return v
}
