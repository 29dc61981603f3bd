package agentprotocol

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// A limit that nothing reaches, one that ends what nothing else ends, and one
// that does so after an agent on a slow machine has said that it got a message.
const (
	enough = time.Minute
	short  = 500 * time.Millisecond
	quiet  = 5 * time.Second
)

// endpoint serves an agent by HTTP.
func (f *fake) endpoint(serve func(w http.ResponseWriter, data []byte)) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err == nil {
			serve(w, data)
		}
	}))
	f.t.Cleanup(web.Close)
	return web.URL + "/agentprotocol"
}

// way is how an agent and the arena reach each other. start gives the
// endpoint, "" none.
type way struct {
	name  string
	start func(t *testing.T, h *testArena, n *node, f *fake, answer reply) (endpoint string)
}

func ways() []way {
	return []way{
		{"HTTP, in the reply", func(_ *testing.T, _ *testArena, _ *node, f *fake, answer reply) string {
			return f.endpoint(func(w http.ResponseWriter, data []byte) {
				out := f.answer(data, answer)
				if out == nil {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(out)
			})
		}},
		{"HTTP, later by POST", func(_ *testing.T, _ *testArena, n *node, f *fake, answer reply) string {
			return f.endpoint(func(w http.ResponseWriter, data []byte) {
				if out := f.answer(data, answer); out != nil {
					f.post(n.web.URL, out) // it may come before the 202
				}
				w.WriteHeader(http.StatusAccepted)
			})
		}},
		{"HTTP, later by POST to another node", func(_ *testing.T, h *testArena, _ *node, f *fake, answer reply) string {
			other := h.node()
			return f.endpoint(func(w http.ResponseWriter, data []byte) {
				w.WriteHeader(http.StatusAccepted)
				if out := f.answer(data, answer); out != nil {
					f.post(other.web.URL, out)
				}
			})
		}},
		{"WebSocket", func(_ *testing.T, _ *testArena, n *node, f *fake, answer reply) string {
			f.dial(n.web.URL).play(answer)
			return ""
		}},
		{"WebSocket at another node", func(_ *testing.T, h *testArena, _ *node, f *fake, answer reply) string {
			f.dial(h.node().web.URL).play(answer)
			return ""
		}},
		{"files", func(t *testing.T, _ *testArena, n *node, f *fake, answer reply) string {
			t.Helper()
			f.files(n.files.root.Name(), answer)
			return ""
		}},
	}
}

// files makes an agent speak by files, and waits until the arena knows it.
func (f *fake) files(dir string, answer reply) {
	f.t.Helper()
	f.put(dir, f.hello())
	f.take(dir) // the arena's hello
	stop, done := make(chan struct{}), make(chan struct{})
	f.t.Cleanup(func() { close(stop); <-done })
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if data := f.look(dir); data != nil {
				if out := f.answer(data, answer); out != nil {
					f.put(dir, out)
				}
			}
		}
	}()
}

func (f *fake) put(dir string, data []byte) {
	f.t.Helper()
	name := filepath.Join(dir, fileID(f.public())+"-x-"+newID())
	if err := os.WriteFile(name+".tmp", data, 0o600); err != nil {
		f.t.Error(err)
	}
	if err := os.Rename(name+".tmp", name+".json"); err != nil {
		f.t.Error(err)
	}
}

// look returns a message for the agent, if there is one.
func (f *fake) look(dir string) []byte {
	found, _ := filepath.Glob(filepath.Join(dir, fileID(f.arena)+"-"+fileID(f.public())+"-*.json"))
	for _, name := range found {
		if data, err := os.ReadFile(name); err == nil && os.Remove(name) == nil {
			return data
		}
	}
	return nil
}

// take waits for a message for the agent.
func (f *fake) take(dir string) []byte {
	f.t.Helper()
	var data []byte
	testwait.Until(f.t, "a message comes", func() bool {
		data = f.look(dir)
		return data != nil
	})
	return data
}

// The table that every protocol shares, over every transport.
func TestDriver_table(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := newArena(t)
			protocoltest.RunOutcomeTable(t, func(t *testing.T, what protocoltest.Does, limit time.Duration) arena.Reply {
				t.Helper()
				h := &testArena{t: t, store: h.store, key: h.key}
				n := h.node(func(o *Options) { o.Folder = t.TempDir() })
				f := h.agent()
				answer := map[protocoltest.Does]reply{
					protocoltest.Answers: answering("Canberra"), protocoltest.SaysLate: failing(Timeout), protocoltest.RateLimits: failing(RateLimited),
					protocoltest.Fails: failing(InternalError), protocoltest.Leaves: failing(CapabilityNotSupported),
					protocoltest.Garbles: responding("success", `{}`), protocoltest.KeepsQuiet: silent,
				}[what]
				return n.send(t, f.attempt(w.start(t, h, n, f, answer), limit))
			})
		})
	}
}

// The outcome table is the same over every transport.
func TestDriver_outcomes(t *testing.T) {
	t.Parallel()
	once := func(first Code) reply {
		var asked atomic.Bool
		return func(f *fake, s seen) []byte {
			if asked.Swap(true) {
				return answering("Canberra")(f, s)
			}
			return failing(first)(f, s)
		}
	}
	table := []struct {
		name   string
		answer func() reply
		limit  time.Duration
		want   arena.Outcome
		reason string
		retry  bool
	}{
		{"answer", func() reply { return answering("Canberra") }, enough, arena.OutcomeAnswered, "", false},
		{"other status", func() reply { return responding("failed", `{"answer":"x"}`) }, enough, arena.OutcomeError, "not_success", true},
		{"no answer in the result", func() reply { return responding("success", `{}`) }, enough, arena.OutcomeInvalid, "empty_answer", false},
		{"a result that is none", func() reply { return responding("success", `[1]`) }, enough, arena.OutcomeInvalid, "bad_json", false},
		{"an object for text", func() reply { return responding("success", `{"answer":{"a":1}}`) }, enough, arena.OutcomeInvalid, "bad_answer", false},
		{"a number that no double holds", func() reply { return responding("success", `{"answer":9007199254740993}`) }, enough, arena.OutcomeInvalid, "bad_answer", false},
		{"TIMEOUT", func() reply { return failing(Timeout) }, enough, arena.OutcomeTimeout, "error_timeout", false},
		{"RATE_LIMITED", func() reply { return failing(RateLimited) }, enough, arena.OutcomeRateLimited, "error_rate_limited", false},
		{"INTERNAL_ERROR", func() reply { return failing(InternalError) }, enough, arena.OutcomeError, "error_internal_error", true},
		{"INVALID_MESSAGE", func() reply { return failing(InvalidMessage) }, enough, arena.OutcomeError, "error_invalid_message", false},
		{"CAPABILITY_NOT_SUPPORTED", func() reply { return failing(CapabilityNotSupported) }, enough, arena.OutcomeUnavailable, "error_capability_not_supported", false},
		{"UNKNOWN_AGENT", func() reply { return failing(UnknownAgent) }, enough, arena.OutcomeUnavailable, "error_unknown_agent", false},
		{"INVALID_SIGNATURE", func() reply { return failing(InvalidSignature) }, enough, arena.OutcomeUnavailable, "error_invalid_signature", false},
		{"UNKNOWN_AGENT until the hello", func() reply { return once(UnknownAgent) }, enough, arena.OutcomeAnswered, "", false},
		{"another code", func() reply { return failing("TEAPOT") }, enough, arena.OutcomeError, "error_other", true},
		{"silence", func() reply { return silent }, quiet, arena.OutcomeTimeout, "time_limit", false},
	}
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := newArena(t)
			for _, c := range table {
				t.Run(c.name, func(t *testing.T) {
					h := &testArena{t: t, store: h.store, key: h.key}
					n := h.node(func(o *Options) { o.Folder = t.TempDir() })
					f := h.agent()
					a := f.attempt(w.start(t, h, n, f, c.answer()), c.limit)
					began := time.Now()
					r := n.send(t, a)
					took := time.Since(began)
					if r.Outcome != c.want || r.Reason != c.reason || r.Retry != c.retry || r.Unreached {
						t.Errorf("outcome %q, reason %q, retry %t, unreached %t; want %q, %q, %t: %s", r.Outcome, r.Reason, r.Retry, r.Unreached, c.want, c.reason, c.retry, r.Detail)
					}
					if answered := c.want == arena.OutcomeAnswered; answered != (r.Answer != nil) || answered && (r.Answer.Answer != "Canberra" || r.Head != nil) {
						t.Errorf("answer %+v, head %s", r.Answer, r.Head)
					}
					if r.SentAt.IsZero() || r.Elapsed < 0 || r.Elapsed > took || len(r.Request) == 0 || len(r.Head) > headBytes {
						t.Errorf("sent at %v, elapsed %v, request of %d bytes", r.SentAt, r.Elapsed, len(r.Request))
					}
				})
			}
		})
	}
}

// Over HTTP, statuses speak as they do in AAP.
func TestDriver_statuses(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	elsewhere := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	jsonReply := func(status int, body []byte) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}
	}
	status := func(code int) func(*fake, seen) func(http.ResponseWriter) {
		return func(*fake, seen) func(http.ResponseWriter) {
			return func(w http.ResponseWriter) { w.WriteHeader(code) }
		}
	}
	with := func(code int, answer reply) func(*fake, seen) func(http.ResponseWriter) {
		return func(f *fake, s seen) func(http.ResponseWriter) { return jsonReply(code, answer(f, s)) }
	}
	changed := func(change func(f *fake, m map[string]any)) reply {
		return func(f *fake, s seen) []byte {
			m := f.draft("response", map[string]any{"correlationId": s.Payload.CorrelationID, "status": "success", "result": map[string]any{"answer": "x"}})
			f.sign(m)
			change(f, m)
			data, _ := json.Marshal(m)
			return data
		}
	}
	for _, c := range []struct {
		name   string
		serve  func(*fake, seen) func(http.ResponseWriter)
		want   arena.Outcome
		reason string
		retry  bool
		posts  int32
	}{
		{"408", status(408), arena.OutcomeTimeout, "status_408", false, 1},
		{"429", status(429), arena.OutcomeRateLimited, "status_429", false, 1},
		{"500", status(500), arena.OutcomeError, "status_500", true, 1},
		{"502", status(502), arena.OutcomeError, "status_502", true, 1},
		{"503", status(503), arena.OutcomeUnavailable, "status_503", false, 1},
		{"504", status(504), arena.OutcomeError, "status_504", true, 1},
		{"418", status(418), arena.OutcomeInvalid, "status_418", false, 1},
		{"204", status(204), arena.OutcomeInvalid, "status_204", false, 1},
		{"400", status(400), arena.OutcomeInvalid, "status_400", false, 1},
		{"401, then hello and the request again", status(401), arena.OutcomeUnavailable, "status_401", false, 3},
		{"403", status(403), arena.OutcomeUnavailable, "status_403", false, 3},
		{"400 with INVALID_MESSAGE", with(400, failing(InvalidMessage)), arena.OutcomeError, "error_invalid_message", false, 1},
		{"404 with CAPABILITY_NOT_SUPPORTED", with(404, failing(CapabilityNotSupported)), arena.OutcomeUnavailable, "error_capability_not_supported", false, 1},
		{"429 with INTERNAL_ERROR", with(429, failing(InternalError)), arena.OutcomeRateLimited, "status_429", false, 1},
		{"400 with an answer", with(400, answering("x")), arena.OutcomeInvalid, "status_400", false, 1},
		{"200 without a body", status(200), arena.OutcomeInvalid, "bad_content_type", false, 1},
		{"200 with garbage", with(200, func(*fake, seen) []byte { return []byte(`{"answer":`) }), arena.OutcomeInvalid, "bad_message", false, 1},
		{"200 with a hello", with(200, func(f *fake, _ seen) []byte { return f.hello() }), arena.OutcomeInvalid, "wrong_correlation", false, 1},
		{"200 with an old answer", with(200, func(f *fake, s seen) []byte { s.Payload.CorrelationID = "x"; return answering("x")(f, s) }), arena.OutcomeInvalid, "wrong_correlation", false, 1},
		{"not signed", with(200, changed(func(_ *fake, m map[string]any) { delete(m, "signature") })), arena.OutcomeInvalid, "bad_signature", false, 1},
		{"changed after it was signed", with(200, changed(func(_ *fake, m map[string]any) { m["id"] = newID() })), arena.OutcomeInvalid, "bad_signature", false, 1},
		{"another's message", with(200, changed(func(f *fake, m map[string]any) {
			other := *f
			other.key = newKey(t)
			m["from"] = map[string]any{"agentId": rawID(other.public())}
			other.sign(m)
		})), arena.OutcomeInvalid, "wrong_sender", false, 1},
		{"for another", with(200, changed(func(f *fake, m map[string]any) {
			m["to"] = map[string]any{"agentId": f.name}
			f.sign(m)
		})), arena.OutcomeInvalid, "bad_message", false, 1},
		{"redirect", func(*fake, seen) func(http.ResponseWriter) {
			return func(w http.ResponseWriter) { w.Header().Set("Location", elsewhere.Endpoint()); w.WriteHeader(307) }
		}, arena.OutcomeInvalid, "redirect", false, 1},
		{"dropped", func(*fake, seen) func(http.ResponseWriter) {
			return func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
		}, arena.OutcomeError, "dropped", true, 1},
	} {
		f := h.agent()
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			endpoint := f.endpoint(func(w http.ResponseWriter, data []byte) {
				posts.Add(1)
				if s := f.check(data); s.Type == "request" {
					c.serve(f, s)(w)
				} else {
					jsonReply(200, f.hello())(w)
				}
			})
			r := n.send(t, f.attempt(endpoint, enough))
			if r.Outcome != c.want || r.Reason != c.reason || r.Retry != c.retry || posts.Load() != c.posts {
				t.Errorf("outcome %q, reason %q, retry %t after %d posts; want %q, %q, %t, %d: %s", r.Outcome, r.Reason, r.Retry, posts.Load(), c.want, c.reason, c.retry, c.posts, r.Detail)
			}
		})
	}
	if len(elsewhere.Requests()) > 0 { // Threat S4.
		t.Error("a redirect was followed")
	}
}

// Threats R1 to R4, R6, R8, R9, R11: the endpoint attacks.
func TestDriver_attacks(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	n.timing.greet = time.Hour // no second hello, however long the attacks before take
	f := h.agent()
	for _, a := range protocoltest.Attacks() {
		t.Run(a.Threat+"/"+a.Name, func(t *testing.T) {
			t.Parallel()
			server := protocoltest.NewRaw(t, a.Serve)
			limit, endpoint := enough, server.URL()
			if a.Stalls {
				limit = short
			}
			if a.TLS {
				endpoint = strings.Replace(endpoint, "http:", "https:", 1)
			}
			r := n.send(t, f.attempt(endpoint, limit))
			if r.Outcome != a.Outcome || r.Unreached != a.TLS || len(r.Head) > headBytes || server.Conns() != 1 {
				t.Errorf("outcome %q, unreached %t, %d connections; want %q, %t, 1: %s %s", r.Outcome, r.Unreached, server.Conns(), a.Outcome, a.TLS, r.Reason, r.Detail)
			}
		})
	}
}

// Nothing is sent before dispatch, and the request has these members.
func TestDriver_Prepare(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	l := f.dial(n.web.URL)
	a := f.attempt("", enough)
	sent := 0
	letters := func() (n int) {
		mail, err := h.store.Messages.Mail(t.Context(), agentInbox(f.id), 0, 100, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mail {
			if !strings.HasPrefix(m.ID, epochMail) {
				n++
			}
		}
		return n
	}
	for capability, action := range map[string]string{"arena:round": "arena:round/trivia", "arena.round": "arena.round", "other:thing": "arena:round/trivia"} {
		if err := h.store.Protocols.GreetPeer(t.Context(), f.id, []string{capability}, time.Now()); err != nil {
			t.Fatal(err)
		}
		send, err := n.driver.Prepare(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		if n := letters(); n != sent {
			t.Fatalf("%d letters before send %d", n, sent+1)
		}
		sent++
		replies := make(chan arena.Reply, 1)
		go func() { replies <- send(t.Context()) }()
		s := f.check(l.read())
		if s.Type != "request" || s.Payload.Action != action || s.Payload.Timeout != enough.Milliseconds() || s.To.AgentID != rawID(f.public()) || s.From.AgentID != rawID(f.arena) {
			t.Errorf("request %+v", s)
		}
		var params struct {
			League, MatchID string
			Round           int
			Task            struct{ Description string }
		}
		if err := json.Unmarshal(s.Payload.Params, &params); err != nil || params.League != "trivia" || params.Task.Description == "" {
			t.Errorf("params %s", s.Payload.Params)
		}
		l.write(answering("Canberra")(f, s))
		if r := <-replies; r.Outcome != arena.OutcomeAnswered || string(r.Request) == "" {
			t.Errorf("reply %+v", r)
		}
	}
	bad := a
	bad.Seat.PublicKey = "none"
	if _, err := n.driver.Prepare(t.Context(), bad); err == nil {
		t.Error("a seat without a key was prepared")
	}
	bad = a
	bad.TimeLimit = 0
	if _, err := n.driver.Prepare(t.Context(), bad); err == nil {
		t.Error("an attempt without time was prepared")
	}
}

// An answer that another node took in time counts, also when this node looks
// for it only after the end.
func TestServer_await_looks_once_more(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n, other := h.node(), h.node()
	f := h.agent()
	m, err := readMessage(f.message("response", map[string]any{"correlationId": "c", "status": "success"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.arrived(t.Context(), "c", m, time.Minute); err != nil {
		t.Fatal(err)
	}
	here, stop := n.wait("c")
	defer stop()
	if a, ok := n.await(t.Context(), "c", here, time.Time{}, 0); !ok || a.m.Digest != m.Digest || a.At.IsZero() {
		t.Errorf("%+v, %t", a, ok)
	}
}

func TestDriver_unreached(t *testing.T) {
	t.Parallel()
	h := newArena(t)
	n := h.node()
	f := h.agent()
	gone := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	gone.Close()
	for endpoint, reason := range map[string]string{"": "not_connected", gone.Endpoint(): "refused"} {
		r := n.send(t, f.attempt(endpoint, enough))
		if r.Outcome != arena.OutcomeError || r.Reason != reason || !r.Unreached || !r.Retry || !r.SentAt.IsZero() {
			t.Errorf("%q: %+v", endpoint, r)
		}
	}
}
