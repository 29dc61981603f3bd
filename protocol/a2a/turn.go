package a2a

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// The pauses between polls of a task, and the limit of its cancellation.
const (
	firstPause  = 250 * time.Millisecond
	lastPause   = 2 * time.Second
	leastPause  = 10 * time.Millisecond // just before the deadline
	cancelLimit = 2 * time.Second
)

// turn is one attempt: a message, and as many looks at the task that the agent
// makes of it as the time limit allows.
type turn struct {
	d       *Driver
	a       arena.Attempt
	out     outgoing
	service service
	call    *protocol.Call // nil: the card must be read first

	progress
	thoughts thoughts

	ctx    context.Context //nolint:containedctx // of run, for what a stream brings
	failed *rpcError       // the agent answered with an error
	err    error           // the last reply cannot be read
	raw    []byte          // the last reply

	sent   []byte // the message, without the token
	sentAt time.Time
	x      protocol.Exchange
}

// open makes the message for the agent's interface.
func (t *turn) open(s service) error {
	body, err := encodeMessage(s, t.out)
	if err != nil {
		return err
	}
	t.service, t.sent = s, body
	if t.out.token != "" {
		t.sent = bytes.ReplaceAll(body, []byte(t.out.token), []byte("…"))
	}
	r := t.request(body, t.a.TimeLimit)
	if s.streaming {
		r.MaxBody, r.Stream = maxStream, t.read
	}
	t.call = t.d.o.Client.Call(r)
	return nil
}

// request returns a request to the agent's interface.
func (t *turn) request(body []byte, limit time.Duration) protocol.Request {
	r := protocol.Request{Method: http.MethodPost, URL: t.service.url, Token: t.out.token, Body: body, Limit: limit, MaxBody: maxReply}
	if t.service.version != v03 { // which has no such header
		r.Header = "A2A-Version: " + string(t.service.version)
	}
	return r
}

func (t *turn) run(ctx context.Context) arena.Reply {
	t.ctx = ctx
	v, answer := t.ask(ctx)
	t.thoughts.flush()
	if (v.Outcome == arena.OutcomeTimeout || v.Outcome == arena.OutcomeVoid) && t.taskID != "" && !t.over() {
		t.cancel(ctx)
	}
	r := arena.Reply{
		Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail, Status: t.x.Status, Unreached: v.Unreached, Retry: v.Retry, Answer: answer,
		Reused: t.x.Reused, Refused: t.refused(), SentAt: t.sentAt, Elapsed: t.elapsed(), Request: t.sent,
	}
	if answer == nil {
		r.Head = bytes.Clone(t.raw[:min(len(t.raw), headBytes)])
	}
	return r
}

// refused reports whether the agent refused the message, with a status of HTTP
// or by the state of its task.
func (t *turn) refused() bool {
	switch t.x.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return true
	}
	return t.state == stateRejected || t.state == stateAuthRequired
}

func (t *turn) ask(ctx context.Context) (protocol.Verdict, *arena.AnswerBody) {
	if t.call == nil {
		if v, ok := t.discover(ctx); !ok {
			return v, nil
		}
	}
	t.x = t.call.Do(ctx)
	t.sentAt = t.x.SentAt
	operation := send
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if v, decided := t.judge(operation); decided {
			return v, nil
		}
		if t.over() {
			return t.verdict(t.a.Task.OutputFormat)
		}
		t.thoughts.add(ctx, t.note)
		if v, ok := t.wait(ctx, pause); !ok {
			return v, nil
		}
		operation = get
		t.look(ctx)
	}
}

// discover reads the agent's card. Its time does not count: the clock starts when
// the message is written.
func (t *turn) discover(ctx context.Context) (v protocol.Verdict, ok bool) {
	s, x, err := t.d.readCard(ctx, t.a.Seat.Endpoint, protocol.Request{Limit: min(t.a.TimeLimit, cardLimit)})
	if err == nil && s.version != "" {
		if err = t.open(s); err == nil {
			return v, true
		}
		return protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: "not_encoded", Detail: "the arena could not make the message"}, false
	}
	t.x, t.raw, t.sent, t.sentAt = x, x.Body, t.out.data, x.SentAt
	if wrong, isCard := errors.AsType[*cardError](err); isCard {
		return protocol.Verdict{Outcome: arena.OutcomeInvalid, Reason: wrong.reason, Detail: protocol.Sentence(wrong.detail)}, false
	}
	v, _ = protocol.Judge(x)
	return v, false
}

// judge returns the verdict on the last exchange if nothing else can follow.
// Otherwise it has added the reply to the progress.
func (t *turn) judge(m method) (v protocol.Verdict, decided bool) {
	x := t.x
	cut := x.Streamed && (x.Failure == protocol.FailTruncated || x.Failure == protocol.FailDropped)
	if !cut || t.taskID == "" { // the task of a stream that broke can be looked at
		if isPlainText(x.ContentType) { // sent by libraries for Go, which state no type
			x.ContentType = "application/json"
		}
		if v, decided := protocol.Judge(x); decided {
			if !x.Streamed {
				t.raw = x.Body
			}
			t.forget(x.Status)
			return v, true
		}
	}
	if !x.Streamed {
		t.take(x.Body, m)
	}
	switch {
	case t.err != nil:
		v, _ = invalid("bad_json", t.err)
		return v, true
	case t.failed != nil:
		return byCode(t.failed), true
	case t.message == nil && t.taskID == "":
		v, _ = invalid("empty_answer", errors.New("the stream ended before a message or a task"))
		return v, true
	}
	return v, false
}

// forget drops the card of an agent that no longer has the interface.
func (t *turn) forget(status int) {
	if status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusGone {
		t.d.cards.drop(t.a.Seat.Endpoint)
	}
}

// read reads the stream of a message until its task is over.
func (t *turn) read(body io.Reader) error {
	err := readStream(body, func(data []byte) bool {
		t.take(bytes.Clone(data), stream)
		if t.err != nil || t.failed != nil || t.over() {
			return false
		}
		t.thoughts.add(t.ctx, t.note)
		return true
	})
	if errors.Is(err, errEvent) {
		t.err = err
		return nil
	}
	return err
}

// take reads a reply.
func (t *turn) take(body []byte, m method) {
	t.raw = body
	var u update
	if u, t.failed, t.err = readReply(body, t.service.version, m); t.err == nil && t.failed == nil {
		t.err = t.apply(u)
	}
}

// wait pauses before the next look at the task: less long when the end is near.
func (t *turn) wait(ctx context.Context, pause time.Duration) (v protocol.Verdict, ok bool) {
	left := t.left()
	if left > 0 {
		timer := time.NewTimer(min(pause, max(left/2, leastPause), left))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: string(protocol.FailCancelled), Detail: "the arena ended the request"}, false
		}
	}
	if t.left() <= 0 {
		return protocol.Verdict{Outcome: arena.OutcomeTimeout, Reason: string(protocol.FailTimeout), Detail: "the task was not over within the time limit"}, false
	}
	return v, true
}

// left is what is left of the time limit.
func (t *turn) left() time.Duration { return t.a.TimeLimit - t.d.o.Now().Sub(t.sentAt) }

// look requests the state of the task.
func (t *turn) look(ctx context.Context) {
	none := 0
	body, err := encode(t.service, get, taskParams{Tenant: t.service.tenant, ID: t.taskID, HistoryLength: &none})
	if err != nil {
		t.x = protocol.Exchange{Failure: protocol.FailCancelled, Err: err}
		return
	}
	t.x = t.d.o.Client.Do(ctx, t.request(body, t.left()))
}

// cancel cancels the task in the background: best effort.
func (t *turn) cancel(ctx context.Context) {
	body, err := encode(t.service, cancel, taskParams{Tenant: t.service.tenant, ID: t.taskID})
	if err != nil {
		return
	}
	r := t.request(body, cancelLimit)
	r.WholeCall = true
	ctx = context.WithoutCancel(ctx)
	t.d.background.Go(func() { t.d.o.Client.Do(ctx, r) })
}

// elapsed runs from the message to the last byte of the last reply.
func (t *turn) elapsed() time.Duration {
	switch {
	case t.sentAt.IsZero():
		return 0
	case t.x.SentAt.IsZero():
		return t.d.o.Now().Sub(t.sentAt)
	default:
		return t.x.SentAt.Sub(t.sentAt) + t.x.Elapsed
	}
}

func isPlainText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && strings.EqualFold(media, "text/plain")
}
