package relay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/protocol/envelope/relay"
	"github.com/agora-arena/arena/protocol/mailbox"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// "Submit Event", "Subscribe to Events": every filter, and bytes as they came.
func TestServer_events(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, bob := identityOf("ann").DID(), identityOf("bob").DID()
	body := bytes.Replace(w.request("ann", "a", "bob"), []byte(`{"id"`), []byte("{\n \"id\""), 1)
	if a := w.mustPost(body); a.ID != "a" || a.Seq != 1 {
		t.Errorf("%s", a.body)
	}
	w.mustPost(w.request("ann", "b", ""))
	w.mustPost(w.sign("bob", envelope.Draft{Type: envelope.TypeOffer, ID: "c", Thread: "thread_a", Recipient: ann, Payload: envelope.Offer{RequestID: "req_a"}}))
	all := w.get()
	same(t, all.ids(), "a", "b", "c")
	if !bytes.Contains(all.body, body) || all.HasMore || !all.OK {
		t.Errorf("the envelope was altered: %s", all.body)
	}
	for _, c := range []struct {
		parameters string
		want       string
	}{
		{"recipient=" + bob, "a"},
		{"recipient=" + ann, "c"},
		{"sender=" + ann, "a b"},
		{"type=OFFER", "c"},
		{"type=RESULT", ""},
		{"thread=thread_a", "a c"},
		{"thread=thread_a&sender=" + bob, "c"},
		{"since=" + all.Events[0].TS, "b c"},
		{"since=" + all.Events[2].TS, ""},
		{"since=seq:1", "b c"},
		{"since=2020-01-01T00:00:00%2B01:00", "a b c"},
		{"since=2020-01-01T00:00:00+01:00", "a b c"},
		{"since=1900-01-01T00:00:00Z", "a b c"},
	} {
		a, err := w.do(t.Context(), http.MethodGet, "/events?timeout=0&"+c.parameters, nil)
		if err != nil || strings.Join(a.ids(), " ") != c.want {
			t.Errorf("%s: %v %s, want %s", c.parameters, err, a.body, c.want)
		}
	}
	if a := w.get("since", all.Cursor); len(a.Events) != 0 || a.Cursor != all.Cursor || a.LastTS != all.Cursor {
		t.Errorf("%s", a.body)
	}
	// meta.ttl: what has expired is dropped.
	w.mustPost(w.request("ann", "short", "bob", func(d *envelope.Draft) { d.TTL = time.Second }))
	w.ahead.Add(int64(2 * time.Second))
	same(t, w.get("since", all.Cursor).ids())
}

func TestServer_health(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, err := w.do(t.Context(), http.MethodGet, "/health", nil)
	if err != nil || !a.OK || a.Version != "1.0.0" || a.DID != w.self.DID() {
		t.Errorf("%s, %v", a.body, err)
	}
	for _, c := range [][2]string{{"GET", "/nothing"}, {"PUT", "/events"}, {"POST", "/seed"}} {
		if a, err := w.do(t.Context(), c[0], c[1], nil); err != nil || a.Status != http.StatusNotFound || a.Error != "NOT_FOUND" {
			t.Errorf("%v: %d %s, %v", c, a.Status, a.body, err)
		}
	}
}

// "Seed Demo Data": in development, and signed.
func TestServer_seed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *relay.Options) { o.Dev = true })
	a, err := w.do(t.Context(), http.MethodPost, "/seed", nil)
	if err != nil || !a.OK || a.Count != 12 {
		t.Fatalf("%s, %v", a.body, err)
	}
	var page struct{ Events []json.RawMessage }
	if err := json.Unmarshal(w.get().body, &page); err != nil || len(page.Events) != 12 {
		t.Fatalf("%d events, %v", len(page.Events), err)
	}
	for _, e := range page.Events {
		if _, err := envelope.Decode(e); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	w.mustPost(w.request("stranger", "a", ""))
}

// The names and shapes of the high-level SDK.
func TestServer_aliases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wrapped := append(append([]byte(`{"envelope": `), w.request("ann", "a", "bob")...), '}')
	if a, err := w.do(t.Context(), http.MethodPost, "/v1/messages", wrapped); err != nil || !a.OK || a.ID != "a" {
		t.Errorf("%s, %v", a.body, err)
	}
	if a, err := w.do(t.Context(), http.MethodGet, "/v1/messages?timeout=0", nil); err != nil || len(a.Events) != 1 {
		t.Errorf("%s, %v", a.body, err)
	}
	if a, err := w.do(t.Context(), http.MethodPost, "/v1/agents", []byte(`{"agent":{"id":"x"},"capabilities":[],"status":"online"}`)); err != nil || !a.OK || a.Stored {
		t.Errorf("%s, %v", a.body, err)
	}
}

// "Capability Manifest": signed, and found by its intents.
func TestServer_manifest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	publish := func(manifest string) answer {
		t.Helper()
		a, err := w.do(t.Context(), http.MethodPost, "/v1/agents", w.sign("ann", envelope.Draft{
			Type: envelope.TypeStatus, Payload: json.RawMessage(`{"manifest":` + manifest + `}`),
		}))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	key := strings.TrimPrefix(identityOf("ann").DID(), "did:key:")
	text := `{"id":"cap_1","name":"Ann","intents":[{"id":"arena.trivia","input_schema":{"type":"object"}}],"pricing":{"model":"free"},` +
		`"privacy_policy":"https://example.com","supported_languages":["en"],"auth":{"methods":["ed25519"],"public_key":"` + key + `"}}`
	if a := publish(text); !a.OK || !a.Stored {
		t.Errorf("%s", a.body)
	}
	for intent, want := range map[string]string{"": identityOf("ann").DID(), "?intent=arena.trivia": identityOf("ann").DID(), "?intent=arena.chess": `"agents":[]`} {
		if a, err := w.do(t.Context(), http.MethodGet, "/v1/discover"+intent, nil); err != nil || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s, %v", intent, a.body, err)
		}
	}
	for _, bad := range []string{
		`{}`, `{"id":"x","intents":[]}`, `{"id":"x","intents":[{"id":"arena.code-golf"}]}`, `{"id":"x","intents":[{"id":"arena.a"}],"max_concurrent":1001}`,
		`{"id":"x","intents":[{"id":"arena.a"}],"auth":{"methods":["rsa"]}}`, `{"id":"x","ID":"y","intents":[{"id":"arena.a"}]}`,
		`{"id":"x","intents":[{"id":"arena.a"}],"auth":{"methods":["ed25519"],"public_key":"` + identityOf("eve").DID() + `"}}`, `7`,
	} {
		w.refused(http.StatusBadRequest, "INVALID_REQUEST", publish(bad))
	}
}

// "Thread State Machine", over HTTP: the order and the senders.
func TestServer_thread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	say := func(name string, typ envelope.Type, payload any, change ...func(*envelope.Draft)) answer {
		n++
		d := envelope.Draft{Type: typ, ID: fmt.Sprint("m", n), Thread: "thread_a", Payload: payload}
		for _, c := range change {
			c(&d)
		}
		return w.post(w.sign(name, d))
	}
	ok := func(a answer) {
		t.Helper()
		if !a.OK {
			t.Errorf("%d %s", a.Status, a.body)
		}
	}
	loose := func(d *envelope.Draft) { d.Thread = "" } // as some programs do: by request_id alone
	offer, accept := envelope.Offer{RequestID: "req_a"}, envelope.Accept{RequestID: "req_a"}
	result := envelope.Result{RequestID: "req_a", Status: envelope.ResultSuccess}

	w.refused(http.StatusNotFound, "NOT_FOUND", say("ann", envelope.TypeAccept, accept))
	ok(w.post(w.request("ann", "a", "bob")))
	w.refused(http.StatusConflict, "CONFLICT", w.post(w.request("ann", "a2", "bob", func(d *envelope.Draft) { d.Thread = "thread_a" })))
	w.refused(http.StatusConflict, "CONFLICT", say("ann", envelope.TypeAccept, accept)) // nothing was offered
	w.refused(http.StatusConflict, "CONFLICT", say("bob", envelope.TypeResult, result)) // before ACCEPT
	w.refused(http.StatusForbidden, "FORBIDDEN", say("eve", envelope.TypeOffer, offer)) // not asked
	w.refused(http.StatusForbidden, "FORBIDDEN", say("eve", envelope.TypeError, envelope.Failure{Code: envelope.ErrTimeout}))
	w.refused(http.StatusConflict, "CONFLICT", say("bob", envelope.TypeOffer, envelope.Offer{RequestID: "req_b"}))
	ok(say("bob", envelope.TypeOffer, offer, loose))
	ok(say("bob", envelope.TypeOffer, offer))
	w.refused(http.StatusForbidden, "FORBIDDEN", say("bob", envelope.TypeAccept, accept))
	ok(say("ann", envelope.TypeAccept, accept, loose))
	w.refused(http.StatusConflict, "CONFLICT", say("ann", envelope.TypeAccept, accept)) // twice
	w.refused(http.StatusConflict, "CONFLICT", say("bob", envelope.TypeOffer, offer))
	w.refused(http.StatusForbidden, "FORBIDDEN", say("eve", envelope.TypeResult, result))
	w.refused(http.StatusBadRequest, "INVALID_REQUEST", say("bob", envelope.TypeResult, envelope.Result{RequestID: "req_a", Status: "done"}))
	ok(say("bob", envelope.TypeResult, result, loose))
	w.refused(http.StatusConflict, "CONFLICT", say("bob", envelope.TypeResult, result))
	ok(say("bob", envelope.TypeError, envelope.Failure{Code: envelope.ErrInternal})) // in any state
	w.refused(http.StatusConflict, "CONFLICT", say("bob", envelope.TypeResult, result))
	// An ERROR names its request in details at most.
	ok(w.post(w.request("ann", "z", "bob")))
	ok(say("bob", envelope.TypeError, envelope.Failure{Code: envelope.ErrUnavailable, Details: json.RawMessage(`{"request_id":"req_z"}`)}, loose))
	w.refused(http.StatusConflict, "CONFLICT", say("bob", envelope.TypeOffer, envelope.Offer{RequestID: "req_z"}, func(d *envelope.Draft) { d.Thread = "thread_z" }))
}

// Long Polling Behavior, 1 and 2: at once, when it comes, or empty in the end.
func TestServer_longPoll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	polls := make(chan answer, 1)
	poll := func(parameters string) {
		go func() {
			a, err := w.do(t.Context(), http.MethodGet, "/events?"+parameters, nil)
			if err != nil {
				t.Error(err)
			}
			polls <- a
		}()
	}
	poll("timeout=60&recipient=" + identityOf("bob").DID())
	w.waitParked(1)
	w.mustPost(w.request("ann", "other", "eve"))
	w.mustPost(w.request("ann", "a", "bob"))
	same(t, (<-polls).ids(), "a")
	poll("timeout=60&since=seq:2&type=OFFER") // no recipient: everything wakes it, and the filter holds
	w.waitParked(1)
	w.mustPost(w.sign("bob", envelope.Draft{Type: envelope.TypeOffer, ID: "b", Thread: "thread_a", Payload: envelope.Offer{RequestID: "req_a"}}))
	same(t, (<-polls).ids(), "b")
	poll("timeout=0.01&since=seq:3")
	if a := <-polls; a.Status != http.StatusOK || !a.OK || len(a.Events) != 0 || a.HasMore || a.Cursor != "seq:3" {
		t.Errorf("%s", a.body)
	}
	poll("since=seq:3")
	w.waitParked(1)
	w.relay.Close() // the node stops
	if a := <-polls; !a.OK || len(a.Events) != 0 {
		t.Errorf("%s", a.body)
	}
}

// Threat E10: a poll that promises a body and does not send it ends with the
// server's own time for reading, and does not keep its connection.
func TestServer_pollThatOwesABody(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(newWorld(t).relay)
	server.Config.ReadHeaderTimeout, server.Config.ReadTimeout = 30*time.Second, 10*time.Millisecond
	server.Start()
	defer server.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()                                     //nolint:errcheck // read to its end
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // of a server that waits for ever
	if _, err := io.WriteString(conn, "GET /relay/events?timeout=0.01 HTTP/1.1\r\nHost: arena\r\nContent-Length: 5\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		t.Errorf("%v, %.200q", err, answer)
	}
}

func (w *world) waitParked(n int) {
	w.t.Helper()
	testwait.Until(w.t, fmt.Sprint(n, " polls wait"), func() bool { return w.relay.Parked() == n })
}

// A reader resumes after the last envelope that it got, page by page.
func TestServer_pages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 250
	start := w.now().Add(-time.Minute)
	for i := range n {
		w.mustPost(w.request("ann", fmt.Sprintf("m%03d", i), "", func(d *envelope.Draft) {
			d.At = start.Add(time.Duration(i/7) * time.Millisecond) // seven share a time
		}))
	}
	for _, by := range []string{"time", "cursor"} {
		seen, since := 0, "2020-01-01T00:00:00Z"
		for pages := 0; ; pages++ {
			a := w.get("since", since)
			for i, e := range a.Events {
				if want := fmt.Sprintf("m%03d", seen+i); e.ID != want {
					t.Fatalf("by %s, page %d: %s, want %s", by, pages, e.ID, want)
				}
			}
			seen += len(a.Events)
			if len(a.Events) == 0 || pages > n {
				break
			}
			if a.HasMore != (seen < n) {
				t.Errorf("hasMore is %t after %d", a.HasMore, seen)
			}
			if since = a.Events[len(a.Events)-1].TS; !strings.HasPrefix(a.LastTS, since) {
				t.Errorf("lastTs %s, want %s", a.LastTS, since)
			}
			if by == "cursor" {
				since = a.Cursor
			}
		}
		if seen != n {
			t.Errorf("by %s: %d of %d", by, seen, n)
		}
	}
}

// Two nodes, one database: what is posted at one wakes a poll at the other.
func TestServer_nodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.url
	w.serve(mailbox.NewNotifier(nil)) // no bus: it polls now and then
	polls := make(chan answer, 1)
	go func() {
		a, err := w.do(context.WithoutCancel(t.Context()), http.MethodGet, "/events?timeout=60&recipient="+identityOf("bob").DID(), nil)
		if err != nil {
			t.Error(err)
		}
		polls <- a
	}()
	w.waitParked(1)
	second := w.url
	w.url = first
	w.mustPost(w.request("ann", "a", "bob"))
	w.url = second
	same(t, (<-polls).ids(), "a")
	if a, b := w.mustPost(w.request("ann", "b", "bob")), w.self.DID(); a.Seq != 2 || b == "" {
		t.Errorf("%s", a.body)
	}
}
