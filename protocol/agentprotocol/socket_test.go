package agentprotocol

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/arena"
)

// The first frame is a signed hello; the answer is the arena's, and from then
// on the agent can be reached.
func TestSocket_hello(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node(func(o *Options) { o.Logger = discard() })
	f := h.agent()
	unregistered := &fake{t: t, key: newKey(t), arena: f.arena}
	unregistered.name = rawID(unregistered.public())
	used := f.hello()
	if status, _ := f.post(n.web.URL, used); status != 200 {
		t.Fatalf("status %d", status)
	}
	for _, c := range []struct {
		name   string
		data   []byte
		binary bool
		code   Code
		close  websocket.StatusCode
	}{
		{"request", f.message("request", map[string]any{"action": "arena:agent", "correlationId": "1"}), false, InvalidMessage, closeBadRequest},
		{"garbage", []byte(`{`), false, InvalidMessage, closeBadRequest},
		{"binary", f.hello(), true, InvalidMessage, closeBadRequest},
		{"replayed hello", used, false, InvalidMessage, closeBadRequest},
		{"unregistered", unregistered.hello(), false, UnknownAgent, closeUnknown},
		{"not signed", []byte(strings.Replace(string(f.hello()), `"signature"`, `"x"`, 1)), false, InvalidSignature, closeUnknown},
	} {
		l := f.open(n.web.URL)
		kind := websocket.MessageText
		if c.binary {
			kind = websocket.MessageBinary
		}
		if err := l.ws.Write(t.Context(), kind, c.data); err != nil {
			t.Fatal(err)
		}
		if s := f.check(l.read()); Code(s.Payload.Code) != c.code {
			t.Errorf("%s: %+v, want %s", c.name, s, c.code)
		}
		if code := l.closed(); code != c.close {
			t.Errorf("%s: closed with %d, want %d", c.name, code, c.close)
		}
	}
	if _, err := h.store.Protocols.Peer(t.Context(), f.id); err != nil {
		t.Fatal(err)
	}
	if p, _ := h.store.Protocols.Peer(t.Context(), f.id); !p.SeenAt.IsZero() {
		t.Errorf("a refused socket counts as connected: %+v", p)
	}
	f.dial(n.web.URL)
	if p, _ := h.store.Protocols.Peer(t.Context(), f.id); p.Way != "websocket" || !n.online(p) {
		t.Errorf("peer %+v", p)
	}
}

// One message per text frame, both ways, the same gate as over HTTP.
func TestSocket_messages(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f, other := h.agent(), h.agent()
	l := f.dial(n.web.URL)
	expect := func(what string, data []byte, typ string, code Code) {
		t.Helper()
		l.write(data)
		if s := f.check(l.read()); s.Type != typ || Code(s.Payload.Code) != code {
			t.Errorf("%s: %+v, want %s %s", what, s, typ, code)
		}
	}
	expect("request", f.message("request", map[string]any{"action": "arena:agent", "correlationId": "1"}), "response", "")
	expect("hello", f.hello(), "hello", "")
	expect("unknown action", f.message("request", map[string]any{"action": "x", "correlationId": "1"}), "error", CapabilityNotSupported)
	expect("garbage", []byte(`]`), "error", InvalidMessage)
	expect("forged", []byte(strings.Replace(string(f.hello()), "Fake", "Real", 1)), "error", InvalidSignature)
	expect("another agent's", other.hello(), "error", InvalidSignature)
	// Errors are not answered by errors, notifications by nothing.
	l.write(f.message("error", map[string]any{"correlationId": "x"}))
	l.write(f.message("notify", map[string]any{"event": "arena.event", "data": map[string]any{"match_id": "m_1"}}))
	expect("request after them", f.message("request", map[string]any{"action": "arena:agent", "correlationId": "2"}), "response", "")
	if got := n.events.all(); len(got) != 1 {
		t.Errorf("events %v", got)
	}
}

// Frames that are too large, and messages that are refused without end, close
// the socket.
func TestSocket_bounds(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	l := f.dial(n.web.URL)
	l.write([]byte(strings.Repeat(" ", MaxMessage+1)))
	if code := l.closed(); code != websocket.StatusMessageTooBig {
		t.Errorf("too large: closed with %d", code)
	}
	l = f.dial(n.web.URL)
	for range maxRefused {
		l.write([]byte("{}"))
	}
	if code := l.closed(); code != closeBadRequest {
		t.Errorf("refused again and again: closed with %d", code)
	}
	l = f.dial(n.web.URL)
	now := time.Now()
	n.limits.mu.Lock()
	n.limits.now = func() time.Time { return now }
	n.limits.mu.Unlock()
	var flood sync.WaitGroup
	flood.Go(func() {
		for range agentBurst + maxFlood + 1 {
			if l.ws.Write(t.Context(), websocket.MessageText, f.message("notify", map[string]any{"event": "x"})) != nil {
				return // closed meanwhile
			}
		}
	})
	if code := l.closed(); code != closeTooMany {
		t.Errorf("a flood: closed with %d", code)
	}
	flood.Wait()
	n = h.node()
	var open []*link
	for range maxSockets {
		open = append(open, f.open(n.web.URL))
	}
	_, resp, err := websocket.Dial(t.Context(), strings.Replace(n.web.URL, "http", "ws", 1)+"/agentprotocol/ws", nil)
	if err == nil || resp == nil || resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("socket %d of one address: %v", len(open)+1, err)
	}
}

// Events over the rate are refused, and cost the agent neither its socket nor
// its round.
func TestSocket_flood(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	now := time.Now()
	n.limits.now = func() time.Time { return now }
	f := h.agent()
	l := f.dial(n.web.URL)
	l.play(func(f *fake, s seen) []byte {
		for range agentBurst + 4*maxRefused {
			l.write(f.message("notify", map[string]any{"event": "x"}))
		}
		return answering("Canberra")(f, s)
	})
	if r := n.send(t, f.attempt("", enough)); r.Outcome != arena.OutcomeAnswered {
		t.Errorf("reply %+v", r)
	}
}

// leaving are peers that report each agent whose socket has ended.
type leaving struct {
	Peers

	left chan<- struct{}
}

func (l leaving) SeePeer(ctx context.Context, agentID string, epoch int64, at time.Time) (bool, error) {
	newest, err := l.Peers.SeePeer(ctx, agentID, epoch, at)
	if at.IsZero() {
		l.left <- struct{}{}
	}
	return newest, err
}

// A socket that sends no message or never reads is closed.
func TestSocket_slow(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	left := make(chan struct{}, 9)
	n := h.node(func(o *Options) { o.Peers = leaving{Peers: h.store.Protocols, left: left} })
	n.timing.hello, n.timing.ping = 50*time.Millisecond, 50*time.Millisecond
	f := h.agent()
	if code := f.open(n.web.URL).closed(); code != closeBadRequest {
		t.Errorf("silence: closed with %d", code)
	}
	n.timing.hello = time.Minute
	l := f.dial(n.web.URL) // nobody reads: no pong goes back
	<-left
	if code := l.closed(); code != closeSlow {
		t.Errorf("no pong: closed with %d", code)
	}
}

// An agent has one socket: the newer one replaces the older one, on the same
// node and on another.
func TestSocket_replaced(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	first, second := h.node(), h.node()
	first.timing.ping = time.Hour // no look at the database helps
	f := h.agent()
	a := f.dial(first.web.URL)
	b := f.dial(first.web.URL)
	if code := a.closed(); code != closeReplaced {
		t.Errorf("same node: closed with %d", code)
	}
	c := f.dial(second.web.URL)
	if code := b.closed(); code != closeReplaced {
		t.Errorf("another node: closed with %d", code)
	}
	c.play(answering("Canberra"))
	for _, n := range []*node{first, second} {
		if r := n.send(t, f.attempt("", enough)); r.Outcome != arena.OutcomeAnswered {
			t.Errorf("reply %+v", r)
		}
	}
}

// A request that a lost socket may have swallowed is written to the next one,
// with the same id, while its time is not over.
func TestSocket_reconnect(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	l := f.dial(n.web.URL)
	send, err := n.driver.Prepare(t.Context(), f.attempt("", enough))
	if err != nil {
		t.Fatal(err)
	}
	replies := make(chan arena.Reply, 1)
	go func() { replies <- send(t.Context()) }()
	before := f.check(l.read())
	_ = l.ws.CloseNow()
	l = f.dial(n.web.URL)
	again := f.check(l.read())
	if again.ID != before.ID || again.Payload.CorrelationID != before.Payload.CorrelationID {
		t.Errorf("another request: %+v, %+v", before, again)
	}
	l.write(answering("Canberra")(f, again))
	if r := <-replies; r.Outcome != arena.OutcomeAnswered {
		t.Errorf("reply %+v", r)
	}
}

// A node that stops asks its sockets to reconnect, and waits for them.
func TestServer_Close(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	l := f.dial(n.web.URL)
	code := make(chan websocket.StatusCode, 1)
	go func() { code <- l.closed() }()
	n.Close()
	if got := <-code; got != closeRestart {
		t.Errorf("closed with %d", got)
	}
	if p, _ := h.store.Protocols.Peer(t.Context(), f.id); !p.SeenAt.IsZero() {
		t.Errorf("still connected: %+v", p)
	}
	if _, _, err := websocket.Dial(t.Context(), strings.Replace(n.web.URL, "http", "ws", 1)+"/agentprotocol/ws", nil); err == nil {
		t.Error("a closed server took a socket")
	}
}

// Hellos come to an end with an agent that answers each, however many checks
// ask for one at once.
func TestSocket_hellos_end(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	l := f.dial(n.web.URL)
	wait := f.checked(n, 2)
	for _, asked := range [][]byte{l.read(), l.read()} {
		l.write(f.answer(asked, silent))
	}
	wait()
	l.write(f.message("request", map[string]any{"action": "arena:agent", "correlationId": "1"}))
	if s := f.check(l.read()); s.Type != "response" {
		t.Errorf("after the hellos came %+v", s)
	}
	l.write(f.hello())
	if s := f.check(l.read()); s.Type != "hello" {
		t.Errorf("answer to a hello of the agent's own: %+v", s)
	}
}

// A page of another origin cannot open a socket.
func TestSocket_origin(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	_, _, err := websocket.Dial(t.Context(), strings.Replace(n.web.URL, "http", "ws", 1)+"/agentprotocol/ws",
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://evil.example"}}})
	if err == nil {
		t.Error("a foreign page opened a socket")
	}
}

// The health of an agent is its hello, over every transport.
func TestDriver_Probe(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := newArena(t)
			n := h.node(func(o *Options) { o.Folder = t.TempDir() })
			f := h.agent()
			a := arena.Agent{ID: f.id, PublicKey: rawID(f.public()), KeyProvedAt: time.Now(), Leagues: []string{"trivia", "sums"}}
			a.Endpoint = w.start(t, h, n, f, silent)
			for range 3 {
				got := n.driver.Probe(t.Context(), a)
				if !got.OK || got.Reason != "" || got.MaxConcurrent != 4 || !slices.Equal(got.Capabilities, a.Leagues) || got.CheckedAt.IsZero() || got.Latency <= 0 {
					t.Errorf("health %+v", got)
				}
			}
		})
	}
}

func TestDriver_Probe_fails(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, hasty := h.node(), h.node()
	hasty.timing.hello = quiet
	f, other := h.agent(), h.agent()
	serve := func(status int, reply func(s seen) []byte) string {
		return f.endpoint(func(w http.ResponseWriter, data []byte) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write(reply(f.check(data)))
		})
	}
	constant := func(data []byte) func(seen) []byte { return func(seen) []byte { return data } }
	for _, c := range []struct {
		name, endpoint, reason string
	}{
		{"no way in", "", "not_connected"},
		{"503", serve(503, constant(nil)), "status_503"},
		{"404", serve(404, constant([]byte("not found"))), "status_404"},
		{"garbage", serve(200, constant([]byte("{"))), "bad_message"},
		{"another agent", serve(200, constant(other.hello())), "wrong_sender"},
		{"not signed", serve(200, func(seen) []byte { return []byte(strings.Replace(string(f.hello()), `"signature"`, `"x"`, 1)) }), "bad_signature"},
		{"other version", serve(200, constant(f.message("hello", map[string]any{"version": "0.2"}))), "bad_version"},
		{"a response", serve(200, constant(responding("success", `{}`)(f, seen{ID: "1", Payload: seen{}.Payload}))), "not_hello"},
		{"an error", serve(403, func(s seen) []byte { s.Payload.CorrelationID = s.ID; return failing(UnknownAgent)(f, s) }), "error_unknown_agent"},
		{"an old hello", serve(200, constant(f.with("hello", map[string]any{}, set("timestamp", "2026-02-01T15:08:00Z")))), "bad_message"},
		{"202 and silence", serve(202, constant(nil)), "time_limit"},
		{"huge", serve(200, constant(f.message("hello", map[string]any{"x": strings.Repeat("x", maxHelloBody)}))), "too_large"},
	} {
		asks := n
		if c.reason == "time_limit" {
			asks = hasty
		}
		got := asks.driver.Probe(t.Context(), arena.Agent{ID: f.id, Endpoint: c.endpoint, PublicKey: rawID(f.public()), KeyProvedAt: time.Now()})
		if got.OK || got.Reason != c.reason || got.Detail == "" {
			t.Errorf("%s: %+v, want %s", c.name, got, c.reason)
		}
	}
	if got := n.driver.Probe(t.Context(), arena.Agent{ID: f.id, PublicKey: rawID(f.public())}); got.OK || got.Reason != "key_not_proved" {
		t.Errorf("not proved: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.dial(n.web.URL)
	if got := n.driver.Probe(ctx, arena.Agent{ID: f.id, PublicKey: rawID(f.public()), KeyProvedAt: time.Now()}); got.OK {
		t.Errorf("cancelled: %+v", got)
	}
}

// Threat N3: hellos to an address where no agent replies are limited.
func TestDriver_Probe_host_busy(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, f := h.node(), h.agent()
	endpoint := f.endpoint(func(w http.ResponseWriter, _ []byte) { w.WriteHeader(http.StatusNotFound) })
	for _, healthy := range []bool{true, false} {
		busy := false
		for range 150 {
			got := n.driver.Probe(t.Context(), arena.Agent{
				ID: f.id, Endpoint: endpoint, PublicKey: rawID(f.public()), KeyProvedAt: time.Now(), Health: arena.Health{OK: healthy},
			})
			busy = busy || got.Reason == arena.ReasonHostBusy
		}
		if busy == healthy {
			t.Errorf("healthy %t: limited %t", healthy, busy)
		}
	}
}

// The end of the caller's context is never the agent's fault.
func TestDriver_cancelled(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := newArena(t)
			n := h.node(func(o *Options) { o.Folder = t.TempDir() })
			f := h.agent()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			endpoint := w.start(t, h, n, f, func(*fake, seen) []byte { cancel(); return nil })
			send, err := n.driver.Prepare(t.Context(), f.attempt(endpoint, enough))
			if err != nil {
				t.Fatal(err)
			}
			if r := send(ctx); r.Outcome != arena.OutcomeVoid || r.Retry {
				t.Errorf("outcome %q, retry %t; want void, false", r.Outcome, r.Retry)
			}
		})
	}
}
