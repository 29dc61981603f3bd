package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// The time limits of these tests. Nothing is measured against them: enough
// ends an attempt that must not be cut, short one that nothing else ends.
const (
	enough = time.Minute
	short  = 50 * time.Millisecond
)

func (w *world) driver() *envelope.Driver {
	w.t.Helper()
	d := envelope.NewDriver(w.log, slog.New(slog.NewTextHandler(w.t.Output(), nil)), time.Now)
	return d
}

// attempt is one at a task for ann.
func attempt(limit time.Duration) arena.Attempt {
	a := protocoltest.NewAttempt("", limit)
	a.Deadline = time.Now().Add(limit)
	a.Seat = arena.Seat{AgentID: "ag_ann", Name: "ann", Protocol: arena.ProtocolEnvelope, PublicKey: identityOf("ann").DID()}
	return a
}

// player is an agent that only polls.
type player struct {
	w    *world
	name string
	// respond answers an envelope of the arena's; it runs on the player's goroutine.
	respond func(p *player, e event)
	last    answer // what the relay said to the last post
}

// play lets ann poll until the returned function is called.
func (w *world) play(respond func(p *player, e event)) (stop func()) {
	w.t.Helper()
	p := &player{w: w, name: "ann", respond: respond}
	ctx, cancel := context.WithCancel(w.t.Context())
	since := w.now().Add(-time.Second) // now, and not when its goroutine comes to run: envelopes of the meantime count
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx, since.UTC().Format(arena.TimeFormat))
	}()
	stop = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(stop)
	return stop
}

func (p *player) run(ctx context.Context, since string) {
	for {
		v := url.Values{"timeout": {"60"}, "since": {since}, "recipient": {identityOf(p.name).DID()}}
		a, err := p.w.do(ctx, http.MethodGet, "/events?"+v.Encode(), nil)
		if ctx.Err() != nil {
			return
		}
		if err != nil || !a.OK {
			p.w.t.Errorf("%s polls: %v %s", p.name, err, a.body)
			return
		}
		for _, e := range a.Events {
			since = e.TS
			p.respond(p, e)
		}
	}
}

// say posts an envelope of the thread of e.
func (p *player) say(e event, typ envelope.Type, payload any) {
	// Its clock is behind, by more than a slow machine takes: no envelope of its
	// has the very time of one of the arena's.
	at := time.Now().Add(-time.Minute)
	body := p.w.sign(p.name, envelope.Draft{Type: typ, At: at, Thread: e.Thread.ID, Recipient: p.w.self.DID(), Payload: payload})
	a, err := p.w.do(context.WithoutCancel(p.w.t.Context()), http.MethodPost, "/events", body)
	if err != nil {
		p.w.t.Error(err)
	}
	p.last = a
}

func requestID(e event) string { return strings.Trim(string(e.Payload["request_id"]), `"`) }

// does makes a player that offers, and then says one thing.
func does(typ envelope.Type, payload func(requestID string) any) func(*player, event) {
	return func(p *player, e event) {
		switch e.Type {
		case envelope.TypeRequest:
			p.say(e, envelope.TypeOffer, envelope.Offer{RequestID: requestID(e), Plan: "think"})
		case envelope.TypeAccept:
			p.say(e, typ, payload(requestID(e)))
		}
	}
}

func result(status envelope.ResultStatus, output string) func(*player, event) {
	return does(envelope.TypeResult, func(id string) any {
		return envelope.Result{RequestID: id, Status: status, Output: json.RawMessage(output)}
	})
}

// fails makes a player that answers the request with an ERROR.
func fails(code envelope.ErrorCode) func(*player, event) {
	return func(p *player, e event) {
		if e.Type == envelope.TypeRequest {
			p.say(e, envelope.TypeError, envelope.Failure{Code: code, Message: "no"})
		}
	}
}

func (w *world) send(a arena.Attempt) arena.Reply {
	w.t.Helper()
	send, err := w.driver().Prepare(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	return send(w.t.Context())
}

// The table that every protocol shares.
func TestDriver_table(t *testing.T) {
	t.Parallel()
	protocoltest.RunOutcomeTable(t, func(t *testing.T, what protocoltest.Does, limit time.Duration) arena.Reply {
		t.Helper()
		w := newWorld(t)
		if err := w.store.Relay.PolledRelay(t.Context(), identityOf("ann").DID(), time.Now()); err != nil {
			t.Fatal(err)
		}
		w.play(map[protocoltest.Does]func(*player, event){
			protocoltest.Answers:  result(envelope.ResultSuccess, `{"answer":"Canberra"}`),
			protocoltest.SaysLate: fails(envelope.ErrTimeout), protocoltest.RateLimits: fails(envelope.ErrRateLimited),
			protocoltest.Fails: fails(envelope.ErrInternal), protocoltest.Leaves: fails(envelope.ErrUnavailable),
			protocoltest.Garbles: result(envelope.ResultSuccess, `{}`), protocoltest.KeepsQuiet: func(*player, event) {},
		}[what])
		return w.send(attempt(limit))
	})
}

// Every outcome of the table (docs/rules.md, section 3) is reached by an agent that
// only polls.
func TestDriver_outcomes(t *testing.T) {
	t.Parallel()
	offersOnly := func(p *player, e event) {
		if e.Type == envelope.TypeRequest {
			p.say(e, envelope.TypeOffer, envelope.Offer{RequestID: requestID(e)})
		}
	}
	for _, c := range []struct {
		name    string
		respond func(*player, event)
		limit   time.Duration
		want    arena.Outcome
		reason  string
		retry   bool
	}{
		{"success", result(envelope.ResultSuccess, `{"answer":"Canberra","confidence":0.5}`), enough, arena.OutcomeAnswered, "", false},
		{"partial", result(envelope.ResultPartial, `{"answer":"Canberra"}`), enough, arena.OutcomeAnswered, "", false},
		{"failed", result(envelope.ResultFailed, `{}`), enough, arena.OutcomeError, "result_failed", true},
		{"cancelled", result(envelope.ResultCancelled, `{}`), enough, arena.OutcomeUnavailable, "result_cancelled", false},
		{"no output", result(envelope.ResultSuccess, ``), enough, arena.OutcomeInvalid, "bad_json", false},
		{"no answer", result(envelope.ResultSuccess, `{"text":"Canberra"}`), enough, arena.OutcomeInvalid, "empty_answer", false},
		{"answer of a wrong kind", result(envelope.ResultSuccess, `{"answer":["Canberra"]}`), enough, arena.OutcomeInvalid, "bad_answer", false},
		{"TIMEOUT", fails(envelope.ErrTimeout), enough, arena.OutcomeTimeout, "error_timeout", false},
		{"UNAVAILABLE", fails(envelope.ErrUnavailable), enough, arena.OutcomeUnavailable, "error_unavailable", false},
		{"INTENT_NOT_SUPPORTED", fails(envelope.ErrIntentNotSupported), enough, arena.OutcomeUnavailable, "error_intent_not_supported", false},
		{"INSUFFICIENT_BUDGET", fails(envelope.ErrInsufficientBudget), enough, arena.OutcomeUnavailable, "error_insufficient_budget", false},
		{"FORBIDDEN", fails(envelope.ErrForbidden), enough, arena.OutcomeUnavailable, "error_forbidden", false},
		{"INTERNAL_ERROR", fails(envelope.ErrInternal), enough, arena.OutcomeError, "error_internal_error", true},
		{"INVALID_REQUEST", fails(envelope.ErrInvalidRequest), enough, arena.OutcomeError, "error_invalid_request", false},
		{"RATE_LIMITED", fails(envelope.ErrRateLimited), enough, arena.OutcomeRateLimited, "error_rate_limited", false},
		{"another code", fails("TEAPOT"), enough, arena.OutcomeError, "error_unknown", false},
		{"ERROR after ACCEPT", does(envelope.TypeError, func(string) any { return envelope.Failure{Code: envelope.ErrInternal} }), enough, arena.OutcomeError, "error_internal_error", true},
		{"no RESULT", offersOnly, short, arena.OutcomeTimeout, "time_limit", false},
		{"no OFFER", func(*player, event) {}, short, arena.OutcomeTimeout, "time_limit", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := w.store.Relay.PolledRelay(t.Context(), identityOf("ann").DID(), time.Now()); err != nil {
				t.Fatal(err)
			}
			w.play(c.respond)
			r := w.send(attempt(c.limit))
			if r.Outcome != c.want || r.Reason != c.reason || r.Retry != c.retry || r.Unreached {
				t.Errorf("%q, %q, retry %t; want %q, %q, %t: %s", r.Outcome, r.Reason, r.Retry, c.want, c.reason, c.retry, r.Detail)
			}
			if answered := c.want == arena.OutcomeAnswered; answered != (r.Answer != nil) || answered && r.Answer.Answer != "Canberra" || answered == (r.Detail != "") {
				t.Errorf("answer %v, detail %q", r.Answer, r.Detail)
			}
			if _, err := envelope.Decode(r.Request); err != nil || r.SentAt.IsZero() || r.Elapsed <= 0 || len(r.Head) > 2<<10 {
				t.Errorf("sent at %v, %d bytes, after %v; head of %d bytes: %v", r.SentAt, len(r.Request), r.Elapsed, len(r.Head), err)
			}
		})
	}
}

// The limits of envelopes are for agents: a task may be longer than what an agent
// may post, as the last turn of a debate or a game with a large observation is.
func TestDriver_large_task(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.play(result(envelope.ResultSuccess, `{"answer":"x"}`))
	a := attempt(enough)
	a.Task.Description = strings.Repeat("<said>\n", 4<<10)
	a.Task.Observation = json.RawMessage(`{"board":"` + strings.Repeat("x", envelope.MaxResult-12) + `"}`)
	send, err := w.driver().Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if r := send(t.Context()); r.Outcome != arena.OutcomeAnswered || len(r.Request) < envelope.MaxResult {
		t.Errorf("%s %s (%s) after a REQUEST of %d bytes", r.Outcome, r.Reason, r.Detail, len(r.Request))
	}
}

// The task's request is what the text says a REQUEST is, and holds AAP's task.
func TestDriver_request(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := attempt(enough)
	a.League = "code-golf"
	send, err := w.driver().Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if page := w.get(); len(page.Events) != 0 { // not dispatched yet
		t.Errorf("visible before send: %s", page.body)
	}
	requests := make(chan event, 8)
	w.play(func(p *player, e event) {
		requests <- e
		result(envelope.ResultSuccess, `{"answer":"x"}`)(p, e)
	})
	if r := send(t.Context()); r.Outcome != arena.OutcomeAnswered {
		t.Fatalf("%+v", r)
	}
	var p envelope.Request
	var params struct {
		Version string `json:"version"`
		MatchID string `json:"match_id"`
		Task    struct{ Description string }
	}
	raw, err := json.Marshal((<-requests).Payload)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err == nil {
		err = json.Unmarshal(p.Params, &params)
	}
	deadline, timeErr := envelope.ParseTime(p.Constraints.Deadline)
	if err != nil || timeErr != nil || p.Intent != "arena.code_golf" || params.Version != "1.0" || params.MatchID != "m_1" ||
		params.Task.Description != a.Task.Description || *p.Constraints.MaxLatencyMS != 60_000 || !deadline.Equal(a.Deadline.UTC().Truncate(time.Millisecond)) {
		t.Errorf("%s: %v %v", raw, err, timeErr)
	}
	var accept envelope.Accept
	if raw, err = json.Marshal((<-requests).Payload); err == nil {
		err = json.Unmarshal(raw, &accept)
	}
	if err != nil || accept.RequestID != p.RequestID || accept.Terms.PriceUSD != 0 || accept.Terms.Deadline != p.Constraints.Deadline {
		t.Errorf("%s: %v", raw, err)
	}
}

// Without an OFFER the last poll decides: an absent agent leaves.
func TestDriver_absent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if r := w.send(attempt(short)); r.Outcome != arena.OutcomeUnavailable || r.Reason != "not_polling" {
		t.Errorf("never there: %+v", r)
	}
	if err := w.store.Relay.PolledRelay(t.Context(), identityOf("ann").DID(), time.Now().Add(-2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if r := w.send(attempt(short)); r.Outcome != arena.OutcomeUnavailable || r.Reason != "not_polling" {
		t.Errorf("long gone: %+v", r)
	}
}

// A late agent is notified: by an ERROR, and by a refusal of its RESULT.
func TestDriver_late(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stopClock() // the ERROR stays a second longer than the time limit
	late := make(chan answer, 1)
	w.play(func(p *player, e event) {
		switch e.Type {
		case envelope.TypeRequest:
			p.say(e, envelope.TypeOffer, envelope.Offer{RequestID: requestID(e)})
		case envelope.TypeError:
			if string(e.Payload["code"]) != `"TIMEOUT"` {
				t.Errorf("%s", e.Payload)
			}
			p.say(e, envelope.TypeResult, envelope.Result{Status: envelope.ResultSuccess, Output: json.RawMessage(`{"answer":"x"}`)})
			late <- p.last
		}
	})
	if r := w.send(attempt(short)); r.Outcome != arena.OutcomeTimeout && r.Outcome != arena.OutcomeUnavailable {
		t.Errorf("%+v", r)
	}
	w.refused(http.StatusConflict, "CONFLICT", <-late)
}

// The end of the caller's context is never the agent's fault.
func TestDriver_cancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan event, 1)
	w.play(func(_ *player, e event) {
		if e.Type == envelope.TypeError {
			ended <- e
			return
		}
		cancel(errors.New("lease lost"))
	})
	send, err := w.driver().Prepare(t.Context(), attempt(enough))
	if err != nil {
		t.Fatal(err)
	}
	if r := send(ctx); r.Outcome != arena.OutcomeVoid || r.Retry {
		t.Errorf("%+v", r)
	}
	<-ended // the agent need not continue
}

func TestDriver_Prepare_refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	noKey, noTime := attempt(enough), attempt(0)
	noKey.Seat.PublicKey = "did:key:z6Mk"
	for _, a := range []arena.Attempt{noKey, noTime} {
		if _, err := w.driver().Prepare(t.Context(), a); err == nil {
			t.Errorf("%+v was prepared", a)
		}
	}
}

// Envelopes of an agent in an open round reach only the arena, with any filter and
// cursor, until the round has closed. Then all readers get them, also readers that
// poll by time. Events go to the spectators' stream at once. Threat F1.
func TestDriver_sealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.openRound("m_1", "ann", "bob")
	const secret = "Canberra-4711"
	w.play(func(p *player, e event) {
		switch e.Type {
		case envelope.TypeRequest:
			p.say(e, envelope.TypeOffer, envelope.Offer{RequestID: requestID(e), Plan: secret})
			p.say(e, envelope.TypeStatus, map[string]string{"type": "thinking", "message": secret})
			p.say(e, envelope.TypeStatus, map[string]any{"event": map[string]string{"type": "thinking", "message": "wrapped"}})
		case envelope.TypeAccept:
			p.say(e, envelope.TypeResult, envelope.Result{RequestID: requestID(e), Status: envelope.ResultSuccess, Output: json.RawMessage(`{"answer":"` + secret + `"}`)})
		}
	})
	if r := w.send(attempt(enough)); r.Outcome != arena.OutcomeAnswered {
		t.Fatalf("%+v", r)
	}
	thread, ann := "", identityOf("ann").DID()
	look := func() string {
		all := ""
		for _, q := range [][]string{{}, {"recipient", w.self.DID()}, {"sender", ann}, {"type", "RESULT"}, {"thread", thread}, {"since", "seq:0"}, {"since", "2020-01-01T00:00:00Z"}} {
			if thread == "" && len(q) > 0 && q[0] == "thread" {
				continue
			}
			a := w.get(q...)
			for _, e := range a.Events {
				thread = e.Thread.ID
			}
			all += string(a.body)
		}
		return all
	}
	for range 2 { // with the thread's name, the second time
		if all := look(); strings.Contains(all, secret) || strings.Contains(all, `"OFFER"`) || !strings.Contains(all, `"REQUEST"`) {
			t.Fatalf("an open round shows %s", all)
		}
	}
	if err := w.relay.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := look(); strings.Contains(all, secret) {
		t.Fatalf("an open round shows %s", all)
	}
	w.events.mu.Lock()
	if want := []string{`m_1 ag_ann {"message":"` + secret + `","type":"thinking"}`, `m_1 ag_ann {"message":"wrapped","type":"thinking"}`}; !slices.Equal(w.events.events, want) {
		t.Errorf("events %v", w.events.events)
	}
	w.events.mu.Unlock()

	last := w.get()
	_, err := w.store.Matches.CloseRound(t.Context(), m.Lease, arena.RoundClose{Round: 1, Seats: m.Seats}, func([]arena.Event) ([]arena.Event, error) { return nil, nil })
	if err == nil {
		err = w.relay.Sweep(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, since := range []string{last.LastTS, last.Cursor} {
		a := w.get("since", since)
		types := ""
		for _, e := range a.Events {
			types += string(e.Type) + " "
		}
		if types != "OFFER STATUS STATUS RESULT " || !strings.Contains(string(a.body), secret) {
			t.Errorf("since %s: %s", since, a.body)
		}
	}
}

// An agent's envelopes in a thread of the arena go to the arena, and no third party
// posts there.
func TestDriver_third_parties(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	received := make(chan event, 1)
	stop := w.play(func(_ *player, e event) { received <- e })
	done := make(chan arena.Reply, 1)
	ctx, cancel := context.WithCancel(t.Context())
	send, err := w.driver().Prepare(ctx, attempt(enough))
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- send(ctx) }()
	e := <-received
	stop()
	offer := func(name string, to string) answer {
		return w.post(w.sign(name, envelope.Draft{Type: envelope.TypeOffer, Thread: e.Thread.ID, Recipient: to, Payload: envelope.Offer{RequestID: requestID(e)}}))
	}
	w.refused(http.StatusForbidden, "FORBIDDEN", offer("eve", w.self.DID()))
	w.refused(http.StatusForbidden, "FORBIDDEN", offer("ann", identityOf("bob").DID())) // an answer for a friend
	w.refused(http.StatusForbidden, "FORBIDDEN", w.post(w.sign("eve", envelope.Draft{
		Type: envelope.TypeError, Thread: e.Thread.ID, Payload: envelope.Failure{Code: envelope.ErrUnavailable},
	})))
	cancel()
	<-done
}

// Health is what the agent did at the relay.
func TestDriver_Probe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := arena.Agent{ID: "ag_ann", PublicKey: identityOf("ann").DID(), Leagues: []string{"trivia", "code-golf", "debate"}}
	probe := func() arena.Health { return w.driver().Probe(t.Context(), g) }
	if h := probe(); h.OK || h.Reason != "not_polling" || h.Detail == "" || h.CheckedAt.IsZero() {
		t.Errorf("never seen: %+v", h)
	}
	w.get("recipient", identityOf("ann").DID())
	if h := probe(); !h.OK || h.Reason != "" || h.MaxConcurrent != 1 || h.Capabilities != nil {
		t.Errorf("polled: %+v", h)
	}
	w.mustPost(w.sign("ann", envelope.Draft{Type: envelope.TypeStatus, Payload: json.RawMessage(
		`{"manifest":{"id":"c","intents":[{"id":"arena.trivia"},{"id":"arena.code_golf"},{"id":"arena.other"}],"max_concurrent":7}}`)}))
	if h := probe(); !h.OK || h.MaxConcurrent != 7 || !slices.Equal(h.Capabilities, []string{"trivia", "code-golf"}) {
		t.Errorf("with a manifest: %+v", h)
	}
	g.PublicKey = identityOf("bob").DID()
	w.mustPost(w.request("bob", "a", "ann"))
	if h := probe(); !h.OK {
		t.Errorf("posted: %+v", h)
	}
	g.PublicKey = identityOf("eve").DID()
	if err := w.store.Relay.PolledRelay(t.Context(), g.PublicKey, time.Now().Add(-61*time.Second)); err != nil {
		t.Fatal(err)
	}
	if h := probe(); h.OK || h.Reason != "not_polling" {
		t.Errorf("gone: %+v", h)
	}
}
