package agentprotocol

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// with changes a draft before it is signed.
func (f *fake) with(typ string, payload any, change func(m map[string]any)) []byte {
	d := f.draft(typ, payload)
	change(d)
	return f.sign(d)
}

func set(name string, value any) func(map[string]any) {
	return func(m map[string]any) { m[name] = value }
}

// The gate over HTTP: what is taken, what is refused, with which status and
// which error message. Threats L1, L2.
func TestServer_messages(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	hello := map[string]any{"version": "0.1"}
	unproved := h.agent(func(a *arena.Agent) { a.KeyProvedAt = time.Time{} })
	retired := h.agent(func(a *arena.Agent) { a.RetiredAt = a.CreatedAt })
	unregistered := &fake{t: t, key: newKey(t), arena: f.arena}
	unregistered.name = rawID(unregistered.public())
	other := h.agent()
	as := func(name string) *fake { g := *f; g.name = name; return &g }
	foreign := f.draft("hello", hello)
	other.sign(foreign) // f's message under another's signature
	foreignText, _ := json.Marshal(foreign)
	mine := n.newCorrelation(f.id, correlation{"m_1", time.Now().Add(time.Hour)})
	over := n.newCorrelation(f.id, correlation{"m_1", time.Now().Add(-time.Second)})
	theirs := n.newCorrelation(other.id, correlation{"m_1", time.Now().Add(time.Hour)})
	result := func(id string) []byte {
		return f.message("response", map[string]any{"correlationId": id, "status": "success"})
	}
	for _, c := range []struct {
		name   string
		data   []byte
		status int
		code   Code
	}{
		{"hello", f.hello(), 200, ""},
		{"hello under the SPKI form", as(spkiOf(f.public())).hello(), 200, ""},
		{"hello under the name", as(nameOf(f.public())).hello(), 200, ""},
		{"hello with its own key", f.message("hello", map[string]any{"publicKey": spkiOf(f.public())}), 200, ""},
		{"hello with another key", f.message("hello", map[string]any{"publicKey": spkiOf(other.public())}), 403, InvalidSignature},
		{"hello of version 0.2", f.message("hello", map[string]any{"version": "0.2"}), 400, InvalidMessage},
		{"to the SPKI form", f.with("hello", hello, set("to", map[string]any{"agentId": spkiOf(f.arena)})), 200, ""},
		{"to the name", f.with("hello", hello, set("to", map[string]any{"agentId": nameOf(f.arena)})), 200, ""},
		{"to everyone", f.with("hello", hello, set("to", map[string]any{"broadcast": true})), 200, ""},
		{"to another", f.with("hello", hello, set("to", map[string]any{"agentId": other.name})), 403, UnknownAgent},
		{"to nobody", f.with("hello", hello, set("to", map[string]any{"broadcast": false})), 403, UnknownAgent},
		{"with metadata", f.with("hello", hello, set("metadata", map[string]any{"priority": "high"})), 200, ""},
		{"with a member of its own", f.with("hello", hello, set("x-mood", "fine")), 200, ""},
		{"the example of the text", f.with("hello", hello, set("timestamp", "2026-02-01T15:08:00Z")), 400, InvalidMessage},
		{"year 9999", f.with("hello", hello, set("timestamp", "9999-12-31T23:59:59Z")), 400, InvalidMessage},
		{"not signed", func() []byte { d := f.draft("hello", hello); b, _ := json.Marshal(d); return b }(), 401, InvalidSignature},
		{"another's signature", foreignText, 401, InvalidSignature},
		{"changed", bytes.Replace(f.hello(), []byte("Fake"), []byte("Real"), 1), 401, InvalidSignature},
		{"a member added", bytes.Replace(f.hello(), []byte(`{"from"`), []byte(`{"__proto__":{},"from"`), 1), 401, InvalidSignature},
		{"an unregistered agent", unregistered.hello(), 403, UnknownAgent},
		{"an unproved key", unproved.hello(), 403, UnknownAgent},
		{"a retired agent", retired.hello(), 403, UnknownAgent},
		{"an unknown name", as(strings.Repeat("A", 22)).hello(), 403, UnknownAgent},
		{"a name that is no base64url", as(strings.Repeat("+", 22)).hello(), 400, InvalidMessage},
		{"an id of another form", as("agent-0123456789abcdef").hello(), 400, InvalidMessage},
		{"a key of small order", as("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").hello(), 400, InvalidMessage},
		{"request", f.message("request", map[string]any{"action": "arena:agent", "correlationId": "1"}), 200, ""},
		{"request without an action", f.message("request", map[string]any{"correlationId": "1"}), 400, InvalidMessage},
		{"request without a correlationId", f.message("request", map[string]any{"action": "arena:agent"}), 400, InvalidMessage},
		{"request for what we cannot", f.message("request", map[string]any{"action": "code-review", "correlationId": "1"}), 404, CapabilityNotSupported},
		{"action twice", bytes.Replace(f.message("request", map[string]any{"action": "arena:agent", "correlationId": "1"}), []byte(`"action"`), []byte(`"action":"x","action"`), 1), 400, InvalidMessage},
		{"Action beside action", f.message("request", map[string]any{"action": "arena:agent", "Action": "x", "correlationId": "1"}), 400, InvalidMessage},
		{"response", result(mine), 202, ""},
		{"response to what was answered", result(mine), 409, InvalidMessage},
		{"response after the end", result(over), 400, Timeout},
		{"response to another's request", result(theirs), 400, InvalidMessage},
		{"response to nothing", result("req-123"), 400, InvalidMessage},
		{"response to a code of its own", result("m_1.zzzzzzzz.X.AAAAAAAAAAAAAAAAAAAAAA"), 400, InvalidMessage},
		{"error about a hello", f.message("error", map[string]any{"correlationId": "x", "code": "INTERNAL_ERROR", "message": "m"}), 202, ""},
		{"error without a code", f.message("error", map[string]any{"correlationId": mine}), 400, InvalidMessage},
		{"notify", f.message("notify", map[string]any{"event": "mood", "data": 1}), 204, ""},
		{"notify without an event", f.message("notify", map[string]any{"data": 1}), 400, InvalidMessage},
	} {
		n.limits = limits{now: time.Now}
		status, body := f.post(n.web.URL, c.data)
		if status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, body)
			continue
		}
		if status == 202 || status == 204 {
			if len(body) > 0 {
				t.Errorf("%s: body %s", c.name, body)
			}
			continue
		}
		if s := f.check(body); Code(s.Payload.Code) != c.code || (c.code != "") != (s.Type == "error") || c.code != "" && (s.Payload.Message == "" || s.Payload.CorrelationID == "" && c.status != 400) {
			t.Errorf("%s: %+v, want code %q", c.name, s, c.code)
		}
	}
	for name, text := range badMessages(f) {
		n.limits = limits{now: time.Now}
		status, body := f.post(n.web.URL, []byte(text))
		if s := f.check(body); status != 400 || s.Payload.Code != string(InvalidMessage) {
			t.Errorf("%s: status %d, %s", name, status, body)
		}
	}
}

// The window is five minutes to both sides.
func TestServer_window(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := &core{o: Options{Now: func() time.Time { return now }}}
	for offset, taken := range map[time.Duration]bool{0: true, window: true, -window: true, window + 1: false, -window - 1: false, 24 * time.Hour: false} {
		r := s.addressed(message{To: recipient{Broadcast: true}, At: now.Add(offset)})
		if (r == nil) != taken || r != nil && (r.code != InvalidMessage || !strings.Contains(r.message, "12:00:00.000Z")) {
			t.Errorf("%v: %+v", offset, r)
		}
	}
}

// Hello is answered by hello, which says who the arena is and what it can do;
// GET says it to everyone.
func TestServer_hello(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	_, body := f.post(n.web.URL, f.with("hello", map[string]any{}, set("from", map[string]any{"agentId": f.name, "capabilities": []string{"arena:round/sums", "x:y"}})))
	s := f.check(body)
	if s.Type != "hello" || s.From.AgentID != rawID(f.arena) || s.To.AgentID != f.name || s.Payload.Version != "0.1" || s.Payload.PublicKey != spkiOf(f.arena) {
		t.Errorf("hello %+v", s)
	}
	m, _ := readMessage(body)
	if want := []string{"agentprotocol:core", "agentprotocol:tasks", "arena:agent"}; !slices.Equal(m.From.Capabilities, want) {
		t.Errorf("capabilities %v, want %v", m.From.Capabilities, want)
	}
	if p, err := h.store.Protocols.Peer(t.Context(), f.id); err != nil || !slices.Equal(p.Capabilities, []string{"arena:round/sums", "x:y"}) || time.Since(p.HelloAt) > time.Minute {
		t.Errorf("peer %+v, %v", p, err)
	}
	resp, err := http.Get(n.web.URL + "/agentprotocol") //nolint:noctx // a test of what anyone may do
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	_, _ = b.ReadFrom(resp.Body)
	if m, err := readMessage(b.Bytes()); err != nil || m.Type != TypeHello || !m.To.Broadcast || m.verify(f.arena) != nil {
		t.Errorf("GET: %s, %v", b.Bytes(), err)
	}
}

// What an agent asks is answered by a response with its correlationId; what
// the arena cannot do by an error that lists what it can.
func TestServer_request(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node(func(o *Options) {
		o.Actions["arena:refuse"] = func(context.Context, arena.Agent, json.RawMessage) (any, error) {
			return nil, arena.Errorf(arena.CodeNotFound, "there is no such league")
		}
		o.Actions["arena:break"] = func(context.Context, arena.Agent, json.RawMessage) (any, error) { return nil, context.Canceled }
		o.Logger = discard()
	})
	f := h.agent()
	ask := func(action string) (int, seen) {
		status, body := f.post(n.web.URL, f.message("request", map[string]any{"action": action, "correlationId": "req-123", "params": map[string]any{}}))
		s := f.check(body)
		if s.Payload.CorrelationID != "req-123" {
			t.Errorf("%s: correlation %q", action, s.Payload.CorrelationID)
		}
		return status, s
	}
	if _, s := ask("arena:agent"); s.Type != "response" || s.Payload.Status != "success" || string(s.Payload.Result) != `{"agent_id":"`+f.id+`"}` {
		t.Errorf("response %+v", s)
	}
	if _, s := ask("code-review"); !strings.Contains(string(s.Payload.Details), `"arena:agent"`) || !strings.Contains(string(s.Payload.Details), `"requested":"code-review"`) {
		t.Errorf("details %s", s.Payload.Details)
	}
	if status, s := ask("arena:refuse"); status != 400 || s.Payload.Message != "there is no such league" {
		t.Errorf("%d, %+v", status, s)
	}
	if status, s := ask("arena:break"); status != 500 || s.Payload.Code != "INTERNAL_ERROR" || strings.Contains(s.Payload.Message, "cancel") {
		t.Errorf("%d, %+v", status, s)
	}
}

// Threat L2: the same message again changes nothing and is no error; its id
// under another message is one. Both hold on every node.
func TestServer_replay(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	first, second := h.node(), h.node()
	f := h.agent()
	id := first.newCorrelation(f.id, correlation{"m_1", time.Now().Add(time.Hour)})
	event := f.draft("notify", map[string]any{"event": "arena.event", "correlationId": id, "data": map[string]any{"type": "thinking", "message": "hm"}})
	for _, n := range []*node{first, second, first} {
		if status, body := f.post(n.web.URL, f.sign(event)); status != 204 {
			t.Errorf("status %d: %s", status, body)
		}
	}
	if got := append(first.events.all(), second.events.all()...); len(got) != 1 {
		t.Errorf("the event came %d times: %v", len(got), got)
	}
	event["payload"] = map[string]any{"event": "arena.event", "correlationId": id, "data": map[string]any{"type": "thinking", "message": "other"}}
	if status, _ := f.post(second.web.URL, f.sign(event)); status != 409 {
		t.Errorf("another message with its id: status %d", status)
	}
	answer := f.message("response", map[string]any{"correlationId": id, "status": "success"})
	for range 2 {
		if status, _ := f.post(second.web.URL, answer); status != 202 {
			t.Errorf("the same answer again: status %d", status)
		}
	}
	// Another agent may have the same id.
	g := h.agent()
	draft := g.draft("hello", map[string]any{})
	draft["id"] = event["id"]
	if status, _ := g.post(first.web.URL, g.sign(draft)); status != 200 {
		t.Errorf("another agent's id: status %d", status)
	}
	// A repeated hello brings no old capabilities back.
	old := f.with("hello", map[string]any{}, set("from", map[string]any{"agentId": f.name, "capabilities": []string{"old:one"}}))
	for _, data := range [][]byte{old, f.hello(), old} {
		if status, _ := f.post(first.web.URL, data); status != 200 {
			t.Errorf("hello: status %d", status)
		}
	}
	if p, _ := h.store.Protocols.Peer(t.Context(), f.id); !slices.Equal(p.Capabilities, []string{"arena:round"}) {
		t.Errorf("capabilities %v", p.Capabilities)
	}
}

// notify {event: "arena.event"} is a stream event; the match follows from the
// request, or is named.
func TestServer_notify(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f, other := h.agent(), h.agent()
	mine := n.newCorrelation(f.id, correlation{"m_1", time.Now().Add(time.Hour)})
	theirs := n.newCorrelation(other.id, correlation{"m_2", time.Now().Add(time.Hour)})
	send := func(payload string) int {
		status, _ := f.post(n.web.URL, f.message("notify", json.RawMessage(payload)))
		return status
	}
	for payload, want := range map[string]int{
		`{"event":"arena.event","correlationId":"` + mine + `","data":{"type":"thinking","message":"a<b"}}`: 204,
		`{"event":"arena.event","data":{"type":"thinking","match_id":"m_3"}}`:                               204,
		`{"event":"arena.event","correlationId":"` + theirs + `","data":{"type":"thinking"}}`:               400,
		`{"event":"arena.event","data":{"type":"thinking"}}`:                                                400,
		`{"event":"arena.event"}`:                                      400,
		`{"event":"else","data":{"type":"thinking","match_id":"m_4"}}`: 204,
	} {
		if status := send(payload); status != want {
			t.Errorf("%s: status %d, want %d", payload, status, want)
		}
	}
	got := n.events.all()
	slices.Sort(got)
	want := []string{`m_1 ` + f.id + ` {"message":"a<b","type":"thinking"}`, `m_3 ` + f.id + ` {"match_id":"m_3","type":"thinking"}`}
	if !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	for code, want := range map[arena.Code]int{arena.CodeRoundClosed: 400, arena.CodeRateLimited: 429, arena.CodeUnavailable: 503} {
		n.events.err = arena.Errorf(code, "no")
		if status := send(`{"event":"arena.event","data":{"match_id":"m_3"}}`); status != want {
			t.Errorf("%s: status %d, want %d", code, status, want)
		}
	}
	// The arena asked for it, but the match is not stored: a rehearsal has none.
	n.events.err = arena.Errorf(arena.CodeUnauthorized, "no seat")
	for payload, want := range map[string]int{
		`{"event":"arena.event","correlationId":"` + mine + `","data":{"type":"thinking"}}`: 204,
		`{"event":"arena.event","data":{"type":"thinking","match_id":"m_3"}}`:               400,
	} {
		if status := send(payload); status != want {
			t.Errorf("of a match that is not stored, %s: status %d, want %d", payload, status, want)
		}
	}
}

// Bounds: sizes, types of content, methods, rates. Threat L4.
func TestServer_bounds(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	large := f.message("notify", map[string]any{"event": "x", "data": strings.Repeat("x", MaxMessage)})
	if status, body := f.post(n.web.URL, large); status != 413 || f.check(body).Payload.Code != "INVALID_MESSAGE" {
		t.Errorf("too large: status %d, %s", status, body)
	}
	for _, c := range []struct {
		method, path, kind string
		status             int
	}{
		{"POST", "/agentprotocol", "text/plain", 415},
		{"POST", "/agentprotocol", "", 415},
		{"PUT", "/agentprotocol", "application/json", 405},
		{"DELETE", "/agentprotocol", "", 405},
		{"POST", "/agentprotocol/ws", "application/json", 405},
		{"GET", "/agentprotocol/ws", "", 426},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), c.method, n.web.URL+c.path, strings.NewReader("{}"))
		req.Header.Set("Content-Type", c.kind)
		req.Close = true
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status || c.status == 405 && resp.Header.Get("Allow") == "" {
			t.Errorf("%+v: status %d", c, resp.StatusCode)
		}
	}

	// One agent that sends too much; others are not touched.
	now := time.Now()
	n.limits = limits{now: func() time.Time { return now }}
	limited := 0
	for range agentBurst + 10 {
		status, body := f.post(n.web.URL, f.message("notify", map[string]any{"event": "x"}))
		if status == 429 && f.check(body).Payload.Code == "RATE_LIMITED" {
			limited++
		}
	}
	if limited != 10 {
		t.Errorf("%d of %d messages were too many", limited, agentBurst+10)
	}
	if status, _ := f.post(n.web.URL, h.agent().hello()); status != 200 {
		t.Errorf("another agent: status %d", status)
	}
	// What a known agent does wrong is counted for it, not for its address.
	before := n.limited.n["127.0.0.1"]
	f.post(n.web.URL, f.message("notify", map[string]any{}))
	if after := n.limited.n["127.0.0.1"]; after != before {
		t.Errorf("a mistake of a known agent counts for its address: %d, then %d", before, after)
	}
	// An address whose messages are refused again and again; not read any more.
	n.limited.most = before + 3
	for range 3 {
		if status, _ := f.post(n.web.URL, []byte("{}")); status != 400 {
			t.Errorf("within the limit: status %d", status)
		}
	}
	if status, _ := f.post(n.web.URL, f.hello()); status != 429 {
		t.Errorf("after too many refusals: status %d", status)
	}
}

// Buckets of agents do not fill the memory.
func TestLimits_bounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := limits{now: func() time.Time { return now }}
	for i := range maxBuckets + 10 {
		l.allow(strings.Repeat("x", i%7)+time.Duration(i).String(), false)
	}
	if len(l.agents) > maxBuckets {
		t.Errorf("%d buckets", len(l.agents))
	}
}

func TestNew_noFolder(t *testing.T) {
	t.Parallel()
	o := newArena(t).node().o
	o.Folder = "/nowhere/at/all"
	if _, err := New(o); err == nil {
		t.Error("New accepts a folder that does not exist")
	}
}
