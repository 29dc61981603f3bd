package relay_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/protocol/envelope"
	"github.com/agora-arena/arena/protocol/envelope/relay"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/store"
	"github.com/agora-arena/arena/store/storetest"
)

func identityOf(name string) *envelope.Identity {
	seed := sha256.Sum256([]byte(name))
	return envelope.NewIdentity(ed25519.NewKeyFromSeed(seed[:]), name)
}

// world is a relay over a database of its own.
type world struct {
	t      *testing.T
	store  *store.Store
	self   *envelope.Identity
	log    *envelope.Log
	relay  *relay.Server
	url    string
	ahead  atomic.Int64 // of the relay's clock, ns
	halt   atomic.Pointer[time.Time]
	events *accepted
}

// now is the relay's clock.
func (w *world) now() time.Time {
	if at := w.halt.Load(); at != nil {
		return at.Add(time.Duration(w.ahead.Add(int64(time.Millisecond))))
	}
	return time.Now().Add(time.Duration(w.ahead.Load()))
}

// stopClock makes the relay's clock advance by a millisecond whenever it is read, so
// that a slow machine does not use up a second.
func (w *world) stopClock() {
	now := time.Now()
	w.halt.Store(&now)
}

// accepted records the events that agents sent.
type accepted struct {
	mu     sync.Mutex
	events []string
	err    error
}

func (h *accepted) Accept(_ context.Context, matchID, agentID string, event []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, matchID+" "+agentID+" "+string(event))
	return h.err
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), storetest.SQLite(t), store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// newWorld starts a relay; ann, bob and eve are registered.
func newWorld(t *testing.T, change ...func(*relay.Options)) *world {
	t.Helper()
	w := &world{t: t, store: openStore(t), events: &accepted{}}
	w.serve(mailbox.NewNotifier(nil), change...)
	for _, name := range []string{"ann", "bob", "eve"} {
		w.register(name)
	}
	return w
}

// serve adds a node of the relay and makes it the one that is asked.
func (w *world) serve(notifier *mailbox.Notifier, change ...func(*relay.Options)) {
	w.t.Helper()
	w.node(notifier, change...)
	server := httptest.NewServer(w.relay)
	w.t.Cleanup(server.Close)
	w.t.Cleanup(w.relay.Close)
	w.url = server.URL + "/relay"
}

// node makes the relay, without a network.
func (w *world) node(notifier *mailbox.Notifier, change ...func(*relay.Options)) {
	w.t.Helper()
	key, err := envelope.LoadKey(w.t.Context(), w.store.Keys)
	if err != nil {
		w.t.Fatal(err)
	}
	w.self = envelope.NewIdentity(key, "Arena")
	w.log = envelope.NewLog(w.store.Relay, notifier, w.self, w.now)
	o := relay.Options{Log: w.log, Notifier: notifier, Store: w.store.Relay, Agents: w.store.Agents, Events: w.events, Addresses: quota.NewSlots(0, ""), Now: w.now, Logger: slog.New(slog.NewTextHandler(w.t.Output(), nil))}
	for _, c := range change {
		c(&o)
	}
	w.relay = relay.NewServer(o)
}

func (w *world) register(name string) {
	w.t.Helper()
	ctx, now := w.t.Context(), time.Now()
	hash := sha256.Sum256([]byte(name))
	err := w.store.Accounts.CreateOwner(ctx, arena.Owner{ID: "ow_" + name, Name: name, CreatedAt: now}, arena.Token{ID: "to_" + name, OwnerID: "ow_" + name, Scope: arena.ScopeOwner, Hash: hash, CreatedAt: now})
	if err == nil {
		err = w.store.Agents.CreateAgent(ctx, arena.Agent{
			ID: "ag_" + name, OwnerID: "ow_" + name, Name: name, Protocol: arena.ProtocolEnvelope, PublicKey: identityOf(name).DID(),
			CreatedAt: now, PassedAt: now, KeyProvedAt: now, Health: arena.Health{MaxConcurrent: 1},
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// answer is any reply of the relay.
type answer struct {
	Status  int             `json:"-"`
	OK      bool            `json:"ok"`
	ID      string          `json:"id"`
	Seq     int64           `json:"seq"`
	Error   string          `json:"error"`
	Message string          `json:"message"`
	Events  []event         `json:"events"`
	HasMore bool            `json:"hasMore"`
	LastTS  string          `json:"lastTs"`
	Cursor  string          `json:"cursor"`
	Count   int             `json:"count"`
	Stored  bool            `json:"stored"`
	Agents  json.RawMessage `json:"agents"`
	Version string          `json:"version"`
	DID     string          `json:"did"`
	body    []byte
}

type event struct {
	ID      string                     `json:"id"`
	TS      string                     `json:"ts"`
	Type    envelope.Type              `json:"type"`
	Sender  struct{ ID string }        `json:"sender"`
	Thread  struct{ ID string }        `json:"thread"`
	Payload map[string]json.RawMessage `json:"payload"`
}

func (a answer) ids() []string {
	ids := []string{}
	for _, e := range a.Events {
		ids = append(ids, e.ID)
	}
	return ids
}

func (w *world) do(ctx context.Context, method, path string, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{Status: resp.StatusCode}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return a, err
	}
	return a, json.Unmarshal(a.body, &a)
}

func (w *world) post(body []byte) answer {
	w.t.Helper()
	a, err := w.do(w.t.Context(), http.MethodPost, "/events", body)
	if err != nil {
		w.t.Fatalf("post: %v: %s", err, a.body)
	}
	return a
}

// get polls; parameters come as name, value, name, value.
func (w *world) get(parameters ...string) answer {
	w.t.Helper()
	v := url.Values{"timeout": {"0"}}
	for i := 0; i < len(parameters); i += 2 {
		v.Set(parameters[i], parameters[i+1])
	}
	a, err := w.do(w.t.Context(), http.MethodGet, "/events?"+v.Encode(), nil)
	if err != nil {
		w.t.Fatalf("poll: %v: %s", err, a.body)
	}
	return a
}

// draft is a REQUEST with the id, from name to the other.
func (w *world) sign(name string, d envelope.Draft) []byte {
	w.t.Helper()
	if d.At.IsZero() {
		d.At = w.now()
	}
	e, err := identityOf(name).Sign(d)
	if err != nil {
		w.t.Fatal(err)
	}
	return e.Body
}

func (w *world) request(name, id, to string, change ...func(*envelope.Draft)) []byte {
	w.t.Helper()
	d := envelope.Draft{
		Type: envelope.TypeRequest, ID: id, Thread: "thread_" + id,
		Payload: envelope.Request{RequestID: "req_" + id, Intent: "translation.en_zh", Params: json.RawMessage(`{"text":"<你好> & \u2028"}`)},
	}
	if to != "" {
		d.Recipient = identityOf(to).DID()
	}
	for _, c := range change {
		c(&d)
	}
	return w.sign(name, d)
}

func (w *world) mustPost(body []byte) answer {
	w.t.Helper()
	a := w.post(body)
	if a.Status != http.StatusOK || !a.OK {
		w.t.Fatalf("post: %d %s", a.Status, a.body)
	}
	return a
}

func (w *world) refused(status int, word string, a answer) {
	w.t.Helper()
	if a.Status != status || a.OK || a.Error != word || a.Message == "" {
		w.t.Errorf("%d %s, want %d %s", a.Status, a.body, status, word)
	}
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
}

// openRound begins a match and opens its first round.
func (w *world) openRound(id string, names ...string) arena.Match {
	w.t.Helper()
	ctx, now := w.t.Context(), time.Now()
	settings := arena.Settings{
		Format: arena.FormatLadder, Generator: &arena.GeneratorSpec{Name: "arithmetic"}, Judge: arena.JudgeSpec{Kind: arena.JudgeNumber}, Rounds: 3,
		TimeLimit: time.Minute, MinSeats: 2, MaxSeats: 2, Visibility: arena.VisibilitySealed, ScoreMode: arena.ScoreMatch,
	}
	err := w.store.Leagues.CreateLeague(ctx, arena.League{Slug: "trivia", Title: "Trivia", Status: arena.LeagueOpen, Settings: settings, CreatedAt: now})
	m := arena.Match{ID: id, League: "trivia", Status: arena.MatchScheduled, Settings: settings, CreatedAt: now, StartsAt: now.Add(-time.Minute)}
	for i, name := range names {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: "ag_" + name, State: arena.SeatActive})
	}
	if err == nil {
		_, err = w.store.Matches.CreateMatch(ctx, m, arena.Event{At: now, Type: arena.EventMatchScheduled, Body: json.RawMessage(`{}`)})
	}
	var claimed []arena.Match
	if err == nil {
		claimed, err = w.store.Matches.ClaimMatches(ctx, "nd_1", time.Hour, 1, nil)
	}
	if err == nil {
		_, err = w.store.Matches.StartMatch(ctx, claimed[0].Lease, claimed[0].Seats, now, &arena.Round{No: 1, OpenedAt: now, Task: arena.Task{ID: "tk_1"}}, nil)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return claimed[0]
}
