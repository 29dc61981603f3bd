package agora

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/protocol/task"
)

// headBytes is how much of a reply that was not an answer is kept.
const headBytes = 2 << 10

// Bases reports which polling agents are online.
type Bases interface {
	// AliveUntil returns until when a polling agent counts as present, zero for
	// never, and how many matches it says it plays at once.
	AliveUntil(ctx context.Context, agentID string) (until time.Time, maxConcurrent int, err error)
}

// Options are the parts of a Driver. All but PlainHTTP are needed.
type Options struct {
	Client *protocol.Client
	Inbox  *mailbox.Inbox // for agents without an endpoint
	Bases  Bases
	Ways   Ways
	Now    func() time.Time
	// PlainHTTP lets agents beyond this machine use http://, for private networks
	// and development (standard, section 5.1: HTTPS is a must).
	PlainHTTP bool
}

// Driver puts tasks to agents under two-party Agora. It is safe for concurrent
// use and must be closed.
type Driver struct {
	o             Options
	docs          documents
	conversations conversations
}

// New makes a Driver.
func New(o Options) (*Driver, error) {
	docs, err := readDocuments()
	if err != nil {
		return nil, fmt.Errorf("agora driver: %w", err)
	}
	return &Driver{o: o, docs: docs, conversations: conversations{open: map[string]conversation{}}}, nil
}

// Close waits until the conversations that are being ended are.
func (d *Driver) Close() { d.conversations.ending.Wait() }

// Prepare makes the message that puts the task. Nothing is sent before send is
// called; send is called at most once. An error means that the arena itself
// could not make the message.
func (d *Driver) Prepare(ctx context.Context, a arena.Attempt) (send func(context.Context) arena.Reply, err error) {
	if a.TimeLimit <= 0 {
		return nil, fmt.Errorf("task of %s in match %s: no time", a.Seat.AgentID, a.MatchID)
	}
	body, err := task.Encode(a)
	if err != nil {
		return nil, fmt.Errorf("task of %s in match %s: %w", a.Seat.AgentID, a.MatchID, err)
	}
	if a.Seat.Endpoint == "" {
		return func(ctx context.Context) arena.Reply { return d.dispatchPolled(ctx, a, body) }, nil
	}
	base, err := url.Parse(a.Seat.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("task of %s in match %s: endpoint: %w", a.Seat.AgentID, a.MatchID, err)
	}
	t := &turn{d: d, a: a, base: base, task: string(body), left: a.TimeLimit}
	if t.several() {
		t.conv, t.known = d.conversations.get(a)
	}
	if !t.conv.settled {
		t.stored = d.wayOf(ctx, a.Seat.AgentID, a.Seat.Endpoint)
	}
	if !t.known {
		t.conv.way = cmp.Or(t.stored, byHex)
	}
	return t.play, nil
}

// turn is one attempt: as many exchanges as it takes to be understood, within
// one time limit.
type turn struct {
	d    *Driver
	a    arena.Attempt
	base *url.URL
	task string // JSON
	conv conversation

	known   bool     // conv comes from earlier rounds
	stored  way      // the way that the agent accepted before, "" none
	refused refusals // of this turn

	left     time.Duration // of the limit
	sentAt   time.Time     // the first message that put the task
	sent     []byte        // the last one
	exchange protocol.Exchange
}

// doc is the document under which the turn is played.
func (t *turn) doc() Document {
	if t.a.Judging {
		return t.d.docs.judge
	}
	return t.d.docs.round
}

// several reports whether the turn belongs to a conversation.
func (t *turn) several() bool { return !t.a.Judging && t.a.TotalRounds != 1 }

func (t *turn) play(ctx context.Context) arena.Reply {
	if t.d.insecure(t.base) {
		return t.reply(needsTLS(), nil)
	}
	if !t.known && !t.a.Judging {
		if v, over := t.choose(ctx); over {
			return t.reply(v, nil)
		}
	}
	v, answer := t.ask(ctx)
	if t.several() {
		if t.conv.problem = v.Detail; v.Outcome == arena.OutcomeVoid { // which is not the agent's
			t.conv.problem = ""
		}
		t.keep(ctx, v)
	}
	return t.reply(v, answer)
}

// keep remembers the conversation for the next round, or ends it after the
// last one.
func (t *turn) keep(ctx context.Context, v protocol.Verdict) {
	over := t.a.Round == t.a.TotalRounds && !v.Retry || v.Outcome == arena.OutcomeUnavailable
	if v.Outcome == arena.OutcomeVoid || !over {
		t.conv.used = t.d.o.Now()
		t.d.conversations.put(t.a, t.conv)
		return
	}
	t.d.conversations.drop(t.a)
	if t.conv.id == "" {
		return
	}
	end := protocol.Request{Method: http.MethodDelete, URL: t.url(), Limit: askLimit, WholeCall: true, MaxBody: headBytes}
	t.d.conversations.ending.Go(func() { // best effort: it expires anyway
		t.d.o.Client.Do(context.WithoutCancel(ctx), end)
	})
}

// ask sends until there is a verdict: a server may have dropped the conversation,
// or not support the document or conversations at all. Each of these can change the
// message once.
func (t *turn) ask(ctx context.Context) (protocol.Verdict, *arena.AnswerBody) {
	for {
		if err := t.post(ctx); err != nil {
			return protocol.Verdict{Outcome: arena.OutcomeVoid, Reason: "not_encoded", Detail: "the arena could not make the message"}, nil
		}
		x := t.exchange
		if x.Status == http.StatusNotFound && t.reopen() {
			continue
		}
		if x.Failure == "" && x.Status == http.StatusBadRequest {
			if a, err := decodeReply(x.Body); err == nil && a.failed && t.adapt(ctx, a) {
				continue
			}
		}
		if v, decided := protocol.Judge(x); decided {
			return v, nil
		}
		a, err := decodeReply(x.Body)
		if err != nil {
			return invalid("bad_json", err), nil
		}
		if a.failed {
			if !t.adapt(ctx, a) {
				return t.refusal(a), nil
			}
			continue
		}
		t.settle(ctx)
		if t.several() {
			if a.id != "" {
				t.conv.id = a.id
			}
			t.conv.expires = a.expires
		}
		return readAnswer(a.body, t.conv.way == byPlainText, t.a.Task.OutputFormat)
	}
}

// adapt changes the next message according to a failure, and reports whether it
// did.
func (t *turn) adapt(ctx context.Context, a answered) bool {
	switch {
	case a.expired() && t.reopen():
		return true
	case a.oneRound() && t.several() && !t.conv.single:
		t.conv.single, t.conv.id = true, ""
		return true
	case t.conv.settled && !a.unsupported():
		return false
	}
	next, ok := t.refused.add(t.conv.way, a)
	t.conv.way, t.conv.id, t.conv.settled = cmp.Or(next, byHex), "", false
	if !ok && t.stored != "" && !t.a.Judging { // the next health check searches again
		t.d.storeWay(ctx, t.a.Seat.AgentID, t.a.Seat.Endpoint, "")
	}
	return ok
}

// settle stores the way that the agent has accepted.
func (t *turn) settle(ctx context.Context) {
	if !t.conv.settled && t.conv.way != t.stored {
		t.d.storeWay(ctx, t.a.Seat.AgentID, t.a.Seat.Endpoint, t.conv.way)
	}
	t.conv.settled = true
}

// refusal is the outcome of a failure that no other message can get around.
func (t *turn) refusal(a answered) protocol.Verdict {
	v := refused(a)
	if len(t.refused.ways) > 1 {
		v.Detail = protocol.Sentence("the agent refused every way: " + t.refused.String())
	}
	return v
}

// reopen makes the next message the first of a fresh conversation. It does so
// once, since that message names none.
func (t *turn) reopen() bool {
	had := t.conv.id != ""
	t.conv.id = ""
	return had
}

// post sends the task in the current form of the conversation, if there is time.
func (t *turn) post(ctx context.Context) error {
	if t.left <= 0 {
		t.exchange = protocol.Exchange{Failure: protocol.FailTimeout}
		return nil
	}
	if e := t.conv.expires; e != 0 && t.d.o.Now().Unix() >= e {
		t.conv.id = "" // it has expired
	}
	message, err := t.message()
	if err != nil {
		return err
	}
	x := t.d.o.Client.Do(ctx, protocol.Request{Method: http.MethodPost, URL: t.url(), Body: message, Limit: t.left})
	t.exchange, t.sent = x, message
	if t.sentAt.IsZero() {
		t.sentAt = x.SentAt
	}
	t.left = t.a.TimeLimit - t.elapsed()
	return nil
}

func (t *turn) message() ([]byte, error) {
	body := t.conv.way.text(t.a, t.task)
	if t.conv.id != "" {
		f := followUp{Status: statusSuccess, Body: body}
		if t.conv.problem != "" {
			f.Status, f.Error = statusFailure, t.conv.problem
		}
		return encode(f)
	}
	r := t.conv.way.request(t.doc(), body)
	r.Multiround = t.several() && !t.conv.single
	return encode(r)
}

// elapsed runs from the first message that put the task to the last byte of
// the last reply.
func (t *turn) elapsed() time.Duration {
	switch {
	case t.sentAt.IsZero():
		return 0
	case t.exchange.SentAt.IsZero():
		return t.d.o.Now().Sub(t.sentAt)
	default:
		return t.exchange.SentAt.Sub(t.sentAt) + t.exchange.Elapsed
	}
}

// reply translates a verdict into the terms of the outcome table.
func (t *turn) reply(v protocol.Verdict, answer *arena.AnswerBody) arena.Reply {
	r := arena.Reply{
		Outcome: v.Outcome, Reason: v.Reason, Detail: v.Detail, Status: t.exchange.Status,
		Unreached: v.Unreached, Retry: v.Retry, Answer: answer, Reused: t.exchange.Reused,
		SentAt: t.sentAt, Elapsed: t.elapsed(), Request: t.sent,
	}
	if answer == nil {
		r.Head = t.exchange.Body[:min(len(t.exchange.Body), headBytes)]
	}
	return r
}

// url is where the next message goes: the base, or the conversation.
func (t *turn) url() string {
	if t.conv.id == "" {
		return t.base.String()
	}
	return below(t.base, "conversations", t.conv.id)
}

// below appends segments to the path of a base URL; each stays one segment.
func below(base *url.URL, segments ...string) string {
	u := *base
	path, raw := strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.EscapedPath(), "/")
	for _, s := range segments {
		path, raw = path+"/"+s, raw+"/"+url.PathEscape(s)
	}
	u.Path, u.RawPath = path, raw
	return u.String()
}

// insecure reports whether the endpoint breaks the rule of HTTPS: plain HTTP
// is for one's own machine.
func (d *Driver) insecure(base *url.URL) bool {
	if base.Scheme == "https" || d.o.PlainHTTP {
		return false
	}
	addr, err := netip.ParseAddr(base.Hostname())
	return base.Hostname() != "localhost" && (err != nil || !addr.IsLoopback())
}
