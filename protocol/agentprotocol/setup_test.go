package agentprotocol

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/strictjson"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testArena is one arena: a database and the signing key of its nodes.
type testArena struct {
	t     *testing.T
	store *store.Store
	key   ed25519.PrivateKey
	names int
	still bool // nodes read their folder only when the test calls for it
}

func newArena(t *testing.T) *testArena {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: discard(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if err := s.Accounts.CreateOwner(t.Context(), arena.Owner{ID: "ow_1", Name: "o", CreatedAt: now}, arena.Token{ID: "to_1", OwnerID: "ow_1", Scope: arena.ScopeOwner, CreatedAt: now}); err != nil {
		t.Fatal(err)
	}
	return &testArena{t: t, store: s, key: newKey(t)}
}

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// node is one process of the arena.
type node struct {
	*Server
	web       *httptest.Server
	driver    *Driver
	events    *journal
	connected chan string // ids of unhealthy agents that connected
	limited   *refusals
}

const maxSockets = 8 // of one address

// refusals let most messages of an address be refused.
type refusals struct {
	mu   sync.Mutex
	most int
	n    map[string]int
}

func (r *refusals) Check(address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n[address] >= r.most {
		return arena.Errorf(arena.CodeRateLimited, "too many")
	}
	return nil
}

func (r *refusals) Take(_ context.Context, address string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n[address]++
	return nil
}

type journal struct {
	mu    sync.Mutex
	taken []string
	err   error
}

func (j *journal) Accept(_ context.Context, matchID, agentID string, events []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	j.taken = append(j.taken, matchID+" "+agentID+" "+string(events))
	return nil
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.taken...)
}

func newClient(t *testing.T) *protocol.Client {
	t.Helper()
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: time.Now, TLSTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// node starts another node of the arena. Nodes have no bus: they find each
// other's mail by looking.
func (h *testArena) node(change ...func(*Options)) *node {
	h.t.Helper()
	box := mailbox.NewInbox(h.store.Messages, mailbox.NewNotifier(nil), time.Now)
	n := &node{events: &journal{}, connected: make(chan string, 99), limited: &refusals{most: 10_000, n: map[string]int{}}}
	o := Options{
		Key: h.key, Client: newClient(h.t), Peers: h.store.Protocols, Mail: box,
		Actions: map[string]Action{"arena:agent": func(_ context.Context, a arena.Agent, _ json.RawMessage) (any, error) {
			return map[string]string{"agent_id": a.ID}, nil
		}},
		Logger: slog.New(slog.NewTextHandler(h.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})), Now: time.Now,
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if n.driver, err = New(o); err != nil {
		h.t.Fatal(err)
	}
	n.Server = NewServer(ServerOptions{
		Driver: n.driver, Agents: h.store.Agents, Events: n.events, Refusals: n.limited, Sockets: quota.NewSlots(maxSockets, "too many"), Awake: func(_ context.Context, id string) { n.connected <- id },
	})
	n.timing.poll = 2 * time.Millisecond
	n.timing.hello = enough
	n.web = httptest.NewServer(n.Server)
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !h.still {
			_ = n.Run(ctx)
		}
	}()
	h.t.Cleanup(func() {
		n.Close()
		stop()
		<-done
		n.web.Close()
	})
	return n
}

// fake is an agent: the other side of every test.
type fake struct {
	t     *testing.T
	id    string
	key   ed25519.PrivateKey
	arena ed25519.PublicKey
	name  string // the form of its id in messages
}

// agent registers an agent with a proved key.
func (h *testArena) agent(change ...func(*arena.Agent)) *fake {
	h.t.Helper()
	h.names++
	key := newKey(h.t)
	id := rawID(key.Public().(ed25519.PublicKey))
	now := time.Now().Truncate(time.Millisecond)
	a := arena.Agent{
		ID: arena.NewID(arena.AgentPrefix, now), OwnerID: "ow_1", Name: id, Protocol: arena.ProtocolAgentProtocol,
		PublicKey: id, KeyProvedAt: now, CreatedAt: now,
	}
	for _, c := range change {
		c(&a)
	}
	if err := h.store.Agents.CreateAgent(h.t.Context(), a); err != nil {
		h.t.Fatal(err)
	}
	f := &fake{t: h.t, id: a.ID, key: key, arena: h.key.Public().(ed25519.PublicKey), name: id}
	if err := h.store.Protocols.NamePeer(h.t.Context(), a.ID, nameOf(f.public())); err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.Protocols.GreetPeer(h.t.Context(), a.ID, []string{"arena:round"}, now); err != nil {
		h.t.Fatal(err)
	}
	return f
}

func (f *fake) public() ed25519.PublicKey { return f.key.Public().(ed25519.PublicKey) }

// draft returns a message that is not signed yet.
func (f *fake) draft(typ string, payload any) map[string]any {
	return map[string]any{
		"protocol": "agentprotocol/0.1", "id": newID(), "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "type": typ, "payload": payload,
		"from": map[string]any{"agentId": f.name, "name": "Fake", "capabilities": []string{"arena:round"}},
		"to":   map[string]any{"agentId": rawID(f.arena), "broadcast": false},
	}
}

// sign signs a draft as the text says: sorted keys, no signature, Ed25519.
func (f *fake) sign(draft map[string]any) []byte {
	f.t.Helper()
	delete(draft, "signature")
	text, err := strictjson.CanonicalOf(draft)
	if err != nil {
		f.t.Fatal(err)
	}
	draft["signature"] = base64.StdEncoding.EncodeToString(ed25519.Sign(f.key, text))
	data, err := json.Marshal(draft)
	if err != nil {
		f.t.Fatal(err)
	}
	return data
}

func (f *fake) message(typ string, payload any) []byte { return f.sign(f.draft(typ, payload)) }

func (f *fake) hello() []byte {
	return f.message("hello", map[string]any{"version": "0.1", "maxConcurrent": 4})
}

// seen is a message of the arena as an agent sees it.
type seen struct {
	From    struct{ AgentID, Name string }
	To      struct{ AgentID string }
	ID      string
	Type    string
	Payload struct {
		Action, CorrelationID, Status, Code, Message, Version, PublicKey string
		Timeout                                                          int64
		Params, Result, Details                                          json.RawMessage
	}
}

// check reads a message of the arena and verifies its signature.
func (f *fake) check(data []byte) seen {
	f.t.Helper()
	m, err := readMessage(data)
	if err == nil {
		err = m.verify(f.arena)
	}
	var s seen
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		f.t.Errorf("message of the arena: %v\n%s", err, data)
	}
	return s
}

// reply is a message that answers a request.
type reply func(f *fake, request seen) []byte

func answering(text string) reply {
	return responding("success", `{"answer":"`+text+`"}`)
}

func responding(status, result string) reply {
	return func(f *fake, r seen) []byte {
		return f.message("response", map[string]any{"correlationId": r.Payload.CorrelationID, "status": status, "result": json.RawMessage(result)})
	}
}

func failing(code Code) reply {
	return func(f *fake, r seen) []byte {
		return f.message("error", map[string]any{"correlationId": r.Payload.CorrelationID, "code": code, "message": "because"})
	}
}

func silent(*fake, seen) []byte { return nil }

// post sends a message to the arena by HTTP.
func (f *fake) post(url string, data []byte) (int, []byte) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(f.t.Context()), http.MethodPost, url+"/agentprotocol", bytes.NewReader(data))
	if err != nil {
		f.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	// A test server that closes closes the idle connections of the default client, and
	// one counts as idle just before its answer, if that has no body, is handed over.
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Error(err)
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Error(err)
	}
	return resp.StatusCode, body
}

// link is an agent's socket.
type link struct {
	f  *fake
	ws *websocket.Conn
}

// dial opens a socket and says hello.
func (f *fake) dial(url string) *link {
	f.t.Helper()
	l := f.open(url)
	l.write(f.hello())
	if s := f.check(l.read()); s.Type != "hello" {
		f.t.Fatalf("answer to hello: %+v", s)
	}
	return l
}

func (f *fake) open(url string) *link {
	f.t.Helper()
	ws, _, err := websocket.Dial(f.t.Context(), strings.Replace(url, "http", "ws", 1)+"/agentprotocol/ws", nil)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = ws.CloseNow() })
	return &link{f, ws}
}

func (l *link) write(data []byte) {
	l.f.t.Helper()
	if err := l.ws.Write(l.f.t.Context(), websocket.MessageText, data); err != nil {
		l.f.t.Error(err)
	}
}

func (l *link) read() []byte {
	l.f.t.Helper()
	_, data, err := l.ws.Read(l.f.t.Context())
	if err != nil {
		l.f.t.Error(err)
	}
	return data
}

// closed waits until the arena closes the socket and returns its code.
func (l *link) closed() websocket.StatusCode {
	for {
		if _, _, err := l.ws.Read(l.f.t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// play answers requests and hellos until the socket ends.
func (l *link) play(answer reply) {
	done := make(chan struct{})
	l.f.t.Cleanup(func() { _ = l.ws.CloseNow(); <-done })
	go func() {
		defer close(done)
		for {
			_, data, err := l.ws.Read(context.WithoutCancel(l.f.t.Context()))
			if err != nil {
				return
			}
			out := l.f.answer(data, answer)
			if out != nil && l.ws.Write(context.WithoutCancel(l.f.t.Context()), websocket.MessageText, out) != nil {
				return
			}
		}
	}()
}

// answer answers one message of the arena.
func (f *fake) answer(data []byte, answer reply) []byte {
	switch s := f.check(data); s.Type {
	case "hello":
		return f.hello()
	case "request":
		return answer(f, s)
	}
	return nil
}

// checked lets n check the agent several times at once, and returns a function
// that waits for the checks.
func (f *fake) checked(n *node, times int) (wait func()) {
	var checks sync.WaitGroup
	for range times {
		checks.Go(func() {
			if got := n.driver.Probe(f.t.Context(), arena.Agent{ID: f.id, PublicKey: rawID(f.public()), KeyProvedAt: time.Now()}); !got.OK {
				f.t.Errorf("health %+v", got)
			}
		})
	}
	return checks.Wait
}

// attempt is a round for the agent.
func (f *fake) attempt(endpoint string, limit time.Duration) arena.Attempt {
	a := protocoltest.NewAttempt(endpoint, limit)
	a.Seat.AgentID, a.Seat.PublicKey, a.Seat.Protocol = f.id, rawID(f.public()), arena.ProtocolAgentProtocol
	return a
}

func (n *node) send(t *testing.T, a arena.Attempt) arena.Reply {
	t.Helper()
	send, err := n.driver.Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return send(t.Context())
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
