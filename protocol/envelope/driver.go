package envelope

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/task"
)

const (
	headBytes  = 2 << 10          // kept of an envelope that was no answer
	present    = 60 * time.Second // an agent that was seen within it counts as there
	errorLimit = 2 * time.Second  // for the ERROR that ends a thread
)

// Driver plays rounds with agents that poll the relay. It is safe for
// concurrent use.
type Driver struct {
	log    *Log
	logger *slog.Logger
	now    func() time.Time
	forged bool // requests are forgeries, and belong to no match
}

// NewDriver makes a Driver. now must return times with a monotonic reading, as
// time.Now does.
func NewDriver(l *Log, logger *slog.Logger, now func() time.Time) *Driver {
	return &Driver{log: l, logger: logger, now: now}
}

// Prepare makes the REQUEST of one attempt, which gets a thread of its own.
// Nothing is visible before send is called; send is called at most once. The
// attempt's time limit runs from the moment in which the REQUEST can be read,
// and OFFER and ACCEPT lie within it. An error means that the arena itself
// could not make the request.
func (d *Driver) Prepare(_ context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	if a.TimeLimit <= 0 {
		return nil, fmt.Errorf("task of %s in match %s: no time", a.Seat.AgentID, a.MatchID)
	}
	if _, err := ParseDID(a.Seat.PublicKey); err != nil {
		return nil, fmt.Errorf("task of %s in match %s: public key: %w", a.Seat.AgentID, a.MatchID, err)
	}
	params, err := task.Encode(a)
	if err != nil {
		return nil, fmt.Errorf("task of %s in match %s: %w", a.Seat.AgentID, a.MatchID, err)
	}
	limit := float64(a.TimeLimit.Milliseconds())
	x := &exchange{d: d, a: a, request: Request{
		RequestID: "req_" + rand.Text(), Intent: IntentOf(a.League),
		Title: fmt.Sprintf("Round %d of match %s", a.Round, a.MatchID), Params: params,
		Constraints: &Constraints{MaxCostUSD: &a.MaxCostUSD, MaxLatencyMS: &limit, Deadline: a.Deadline.UTC().Format(arena.TimeFormat)},
	}, thread: "thread_" + rand.Text()}
	return x.run, nil
}

// exchange is one attempt: a thread from its REQUEST to its end.
type exchange struct {
	d       *Driver
	a       arena.Attempt
	request Request
	thread  string

	sent    []byte
	away    error // of the last look into the store
	sentAt  time.Time
	after   int64        // number of the last envelope received
	offered bool         // any OFFER came
	offer   *arena.Offer // the one that was accepted
}

// run plays the thread. It returns at the latest when the time limit is over,
// plus the time of one look into the store.
func (x *exchange) run(ctx context.Context) arena.Reply {
	of := arena.Envelope{MatchID: x.a.MatchID, Round: x.a.Round, AgentID: x.a.Seat.AgentID}
	if x.d.forged {
		of = arena.Envelope{}
	}
	e, stored, err := x.d.log.say(ctx, x.draft(TypeRequest, x.request), of)
	if err != nil {
		return x.failed(ctx, err)
	}
	x.sent, x.sentAt, x.after = e.Body, x.d.now(), stored.No
	limited, cancel := context.WithTimeout(ctx, x.a.TimeLimit)
	defer cancel()
	var r *arena.Reply
	err = x.d.log.notifier.Await(limited, NotifyThread(x.thread), func(ctx context.Context) (bool, error) {
		r = x.look(ctx)
		return r != nil, nil
	})
	switch {
	case ctx.Err() != nil:
		return x.failed(ctx, context.Cause(ctx))
	case err != nil:
		return x.failed(ctx, err)
	case r == nil && x.away != nil && !errors.Is(x.away, context.DeadlineExceeded):
		return x.failed(ctx, x.away)
	case r == nil:
		return x.timeout(ctx)
	}
	return *r
}

// look receives the envelopes since the last look. It returns the reply that ends
// the attempt, or nil.
func (x *exchange) look(ctx context.Context) *arena.Reply {
	came, err := x.d.log.store.EnvelopeThread(ctx, x.thread, x.after)
	if x.away = err; err != nil {
		return nil // the storage may come back within the time limit
	}
	elapsed := x.d.now().Sub(x.sentAt)
	if elapsed >= x.a.TimeLimit { // late by our clock, whatever ts says
		return nil
	}
	for _, s := range came {
		x.after = s.No
		if s.Sender != x.a.Seat.PublicKey {
			continue
		}
		if v, answer, done := x.handle(ctx, s); done {
			r := x.reply(v, answer, s.Body, elapsed)
			return &r
		}
	}
	return nil
}

func (x *exchange) draft(t Type, payload any) Draft {
	return Draft{
		Type: t, At: x.d.now(), Recipient: x.a.Seat.PublicKey, Thread: x.thread, Payload: payload,
		TTL: x.a.TimeLimit + time.Second, // the final ERROR is sent before the relay's own timeout
	}
}

// handle handles a message of the agent. done means that it ends the attempt.
func (x *exchange) handle(ctx context.Context, s arena.Envelope) (v protocol.Verdict, answer *arena.AnswerBody, done bool) {
	e, _, _, err := parse(s.Body)
	if err != nil {
		return v, nil, false // the relay has let it in: it cannot be
	}
	facts, err := e.Facts()
	if err != nil {
		return v, nil, false
	}
	switch e.Type {
	case TypeOffer:
		x.offered = true
		if x.offer != nil {
			return v, nil, false // a thread has one ACCEPT
		}
		v, done = x.decide(ctx, e.Payload, facts)
		return v, nil, done
	case TypeResult:
		v, answer = judgeResult(e.Payload, x.a.Task.OutputFormat)
		if answer != nil {
			answer.Offer = x.offer
		}
		return v, answer, true
	case TypeError:
		return judgeError(e.Payload), nil, true
	case TypeRequest, TypeAccept, TypeCancel, TypeStatus:
	}
	return v, nil, false
}

// decide accepts an offer, or declines it, which ends the attempt.
func (x *exchange) decide(ctx context.Context, payload []byte, facts Facts) (v protocol.Verdict, done bool) {
	var o Offer
	if err := read(payload, &o); err != nil {
		return v, false // the relay has let it in: it cannot be
	}
	offer := arena.Offer{Plan: o.Plan, ETASeconds: o.ETASeconds}
	if o.Price != nil {
		offer.PriceUSD = o.Price.Amount
	}
	if v, failure := x.decline(o, facts); failure != nil {
		x.fail(ctx, *failure)
		return v, true
	}
	x.accept(ctx, offer)
	return v, false
}

// decline returns why an offer cannot be accepted; failure is nil if it can.
func (x *exchange) decline(o Offer, facts Facts) (v protocol.Verdict, failure *Failure) {
	declined := func(reason string, code ErrorCode, details map[string]any, format string, args ...any) (protocol.Verdict, *Failure) {
		detail := fmt.Sprintf("the OFFER was declined: "+format, args...)
		return protocol.Verdict{Outcome: arena.OutcomeUnavailable, Reason: reason, Detail: protocol.Sentence(detail)},
			&Failure{Code: code, Message: detail, Details: x.details(details)}
	}
	most := x.a.MaxCostUSD
	switch p := o.Price; {
	case p != nil && p.Amount > 0 && !strings.EqualFold(p.Currency, "USD"):
		return declined("offer_price", ErrInsufficientBudget, map[string]any{"provided": most},
			"price.currency is %q, and max_cost_usd is in USD", p.Currency)
	case p != nil && p.Amount > most:
		return declined("offer_price", ErrInsufficientBudget, map[string]any{"min_required": p.Amount, "provided": most},
			"its price is %g USD, and max_cost_usd is %g", p.Amount, most)
	case o.ETASeconds != nil && *o.ETASeconds > x.a.TimeLimit.Seconds():
		return declined("offer_late", ErrTimeout, map[string]any{"eta_seconds": *o.ETASeconds, "max_latency_ms": x.a.TimeLimit.Milliseconds()},
			"eta_seconds is %g, and the time limit is %g seconds", *o.ETASeconds, x.a.TimeLimit.Seconds())
	case !facts.Until.IsZero() && !x.d.now().Before(facts.Until):
		return declined("offer_expired", ErrTimeout, map[string]any{"valid_until": o.ValidUntil}, "it was valid until %s", o.ValidUntil)
	}
	return v, nil
}

// accept accepts the agent's offer on its terms.
func (x *exchange) accept(ctx context.Context, offer arena.Offer) {
	_, _, err := x.d.log.say(ctx, x.draft(TypeAccept, Accept{
		RequestID: x.request.RequestID, AcceptedAt: x.d.now().UTC().Format(arena.TimeFormat),
		Terms: &Terms{PriceUSD: offer.PriceUSD, ETASeconds: offer.ETASeconds, Deadline: x.request.Constraints.Deadline},
	}), arena.Envelope{})
	if err != nil {
		x.d.logger.Warn("offer could not be accepted", "match_id", x.a.MatchID, "agent_id", x.a.Seat.AgentID, "error", err)
		return
	}
	x.offer = &offer
}

// timeout ends the thread and returns the reason for the missing result.
func (x *exchange) timeout(ctx context.Context) arena.Reply {
	x.fail(ctx, Failure{Code: ErrTimeout, Message: "the time limit of the round is over"})
	v := protocol.Verdict{Outcome: arena.OutcomeTimeout, Reason: string(protocol.FailTimeout), Detail: "no RESULT came within the time limit"}
	if !x.offered {
		v.Detail = "no OFFER came within the time limit"
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), errorLimit)
		defer cancel()
		key, err := x.d.log.store.RelayKey(ctx, x.a.Seat.PublicKey)
		if err == nil && x.d.now().Sub(seen(key)) > present {
			v = protocol.Verdict{Outcome: arena.OutcomeUnavailable, Reason: "not_polling", Detail: "the agent has not asked the relay for a minute"}
		}
	} else if x.offer == nil {
		v.Detail = "the OFFER could not be accepted within the time limit"
	}
	return x.reply(v, nil, nil, x.d.now().Sub(x.sentAt))
}

// failed is the arena's own fault, or its own end.
func (x *exchange) failed(ctx context.Context, err error) arena.Reply {
	v := protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: "cancelled", Detail: "the arena ended the request"}
	if ctx.Err() == nil {
		v.Reason, v.Detail = "relay_failed", "the arena's relay failed"
		x.d.logger.Error("relay failed", "match_id", x.a.MatchID, "agent_id", x.a.Seat.AgentID, "error", err)
	}
	if x.sent != nil {
		x.fail(ctx, Failure{Code: ErrUnavailable, Message: "the arena has ended this request"})
	}
	elapsed := time.Duration(0)
	if !x.sentAt.IsZero() {
		elapsed = x.d.now().Sub(x.sentAt)
	}
	return x.reply(v, nil, nil, elapsed)
}

// fail ends the thread with an ERROR. That the thread has ended meanwhile is
// no fault.
func (x *exchange) fail(ctx context.Context, f Failure) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), errorLimit)
	defer cancel()
	if f.Details == nil {
		f.Details = x.details(map[string]any{})
	}
	if _, _, err := x.d.log.say(ctx, x.draft(TypeError, f), arena.Envelope{}); err != nil && arena.CodeOf(err) != arena.CodeConflict {
		x.d.logger.Warn("thread could not be ended", "match_id", x.a.MatchID, "agent_id", x.a.Seat.AgentID, "error", err)
	}
}

// details returns the details of an ERROR, which has no request_id of its own.
func (x *exchange) details(more map[string]any) json.RawMessage {
	more["request_id"] = x.request.RequestID
	text, _ := json.Marshal(more) // texts and finite numbers always encode
	return text
}

func (x *exchange) reply(v protocol.Verdict, answer *arena.AnswerBody, head []byte, elapsed time.Duration) arena.Reply {
	r := arena.Reply{
		Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail, Retry: v.Retry, Answer: answer,
		SentAt: x.sentAt, Elapsed: elapsed, Request: x.sent,
	}
	if answer == nil {
		r.Head = head[:min(len(head), headBytes)]
	}
	return r
}

// seen returns the time of an agent's last request to the relay.
func seen(k arena.RelayKey) time.Time {
	if k.PostedAt.After(k.PolledAt) {
		return k.PostedAt
	}
	return k.PolledAt
}
