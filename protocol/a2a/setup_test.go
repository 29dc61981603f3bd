package a2a

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// enough ends what would otherwise hang; nothing is measured against it.
const enough = time.Minute

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seen collects the events of agents.
type seen struct {
	mu     sync.Mutex
	events []string
	delay  time.Duration
}

func (s *seen) Accept(_ context.Context, matchID, agentID string, event []byte) error {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, matchID+" "+agentID+" "+string(event))
	return nil
}

func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.events...)
}

func newDriver(t *testing.T, events Events) *Driver {
	t.Helper()
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	must(t, err)
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: time.Now, TLSTimeout: 100 * time.Millisecond})
	must(t, err)
	t.Cleanup(client.Close)
	d := New(Options{
		Client: client, Key: ed25519.NewKeyFromSeed(make([]byte, 32)), Events: events, Now: time.Now,
		Sign: func(c arena.TaskClaims) (string, error) { return "signed-" + c.BodyHash, nil },
	})
	t.Cleanup(d.Close)
	return d
}

// card returns a card whose only interface is at url.
func card(v version, url string, streaming bool) string {
	if v == v03 {
		return fmt.Sprintf(`{"name":"Bob","protocolVersion":"0.3.0","url":%q,"capabilities":{"streaming":%t},"skills":[]}`, url, streaming)
	}
	return fmt.Sprintf(`{"name":"Bob","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":%t}}`, url, streaming)
}

// healthy replies with a card that names the endpoint itself as its interface.
func healthy(v version, streaming bool) protocoltest.Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		url := "http://" + r.Host + strings.TrimSuffix(r.URL.Path, cardPath)
		protocoltest.Reply(http.StatusOK, "application/json", card(v, url, streaming))(w, r)
	}
}

// result is a reply of JSON-RPC.
func result(text string) string { return `{"jsonrpc":"2.0","id":1,"result":` + text + `}` }

func replies(text string) protocoltest.Behaviour {
	return protocoltest.Reply(http.StatusOK, "application/json", text)
}

// said is a message with a data part.
func said(v version, answer string) string {
	data, _ := json.Marshal(map[string]string{"answer": answer}) // texts always encode
	if v == v03 {
		return result(`{"kind":"message","messageId":"1","role":"agent","parts":[{"kind":"data","data":` + string(data) + `}]}`)
	}
	return result(`{"message":{"messageId":"1","role":"ROLE_AGENT","parts":[{"data":` + string(data) + `}]}}`)
}

// task is a task as the result of a message.
func task1(state, rest string) string {
	return `{"task":` + task0(state, rest) + `}`
}

// task0 is a task alone.
func task0(state, rest string) string {
	return `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_` + state + `"` + rest + `}`
}

// asked is one request that a scripted agent got.
type asked struct {
	Method string `json:"method"`
	Params struct {
		ID      string `json:"id"`
		Message struct {
			Kind      string `json:"kind"`
			MessageID string `json:"messageId"`
			ContextID string `json:"contextId"`
			Role      string `json:"role"`
			Parts     []struct {
				Kind string          `json:"kind"`
				Text string          `json:"text"`
				Data json.RawMessage `json:"data"`
			} `json:"parts"`
			Metadata map[string]string `json:"metadata"`
		} `json:"message"`
		Configuration map[string]any `json:"configuration"`
		Tenant        string         `json:"tenant"`
	} `json:"params"`
	Header http.Header `json:"-"`
}

// agent is a scripted agent: answer gets the requests one by one.
type agent struct {
	*httptest.Server

	mu    sync.Mutex
	asked []asked
	grown chan struct{}
}

// newAgent starts an agent. answer is called with the number of the request, from
// 1 on, by one goroutine per request.
func newAgent(t *testing.T, v version, streaming bool, answer func(n int, q asked) protocoltest.Behaviour) *agent {
	t.Helper()
	a := &agent{grown: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+cardPath, func(w http.ResponseWriter, r *http.Request) {
		replies(card(v, "http://"+r.Host+"/rpc", streaming))(w, r)
	})
	mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		q := asked{Header: r.Header}
		if err := json.Unmarshal(body, &q); err != nil {
			t.Errorf("request %s: %v", body, err)
		}
		a.mu.Lock()
		a.asked = append(a.asked, q)
		n := len(a.asked)
		a.mu.Unlock()
		a.grown <- struct{}{}
		answer(n, q)(w, r)
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *agent) requests() []asked {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]asked{}, a.asked...)
}

func (a *agent) methods() (names []string) {
	for _, q := range a.requests() {
		names = append(names, q.Method)
	}
	return names
}

// play sends one attempt.
func play(t *testing.T, d *Driver, a arena.Attempt) arena.Reply {
	t.Helper()
	send, err := d.Prepare(t.Context(), a)
	must(t, err)
	return send(t.Context())
}

// events replies with an event stream, and then stays open until the caller has
// gone, if stay.
func events(stay bool, data ...string) protocoltest.Behaviour {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			_, _ = io.WriteString(w, "id: 1\r\ndata: "+d+"\r\n\r\n")
			_ = http.NewResponseController(w).Flush()
		}
		if stay {
			<-r.Context().Done()
		}
	}
}
