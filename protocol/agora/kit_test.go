package agora_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/agora"
	"github.com/agora-arena/arena/protocol/mailbox"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// enough ends what would otherwise hang; nothing is measured against it.
const enough = time.Minute

// doc reads one of the arena's documents.
func doc(t testing.TB, name string) agora.Document {
	t.Helper()
	d, err := agora.ParseDocument(agora.DocumentText(name))
	must(t, err)
	return d
}

// memoryStore keeps mail, conversations and bases as the store does.
type memoryStore struct {
	mu            sync.Mutex
	mail          []arena.Mail
	expires       map[int64]time.Time
	conversations map[[32]byte]arena.Conversation
	bases         map[[32]byte]string
	ways          map[string]string // by agent and endpoint
	alive         map[string]time.Time
	atOnce        map[string]int
	fail          error         // of every call
	slow          time.Duration // how long a look for an answer takes
}

func newMemoryStore() *memoryStore {
	return &memoryStore{
		expires: map[int64]time.Time{}, conversations: map[[32]byte]arena.Conversation{}, bases: map[[32]byte]string{},
		alive: map[string]time.Time{}, atOnce: map[string]int{}, ways: map[string]string{},
	}
}

func (m *memoryStore) PutMail(_ context.Context, mail arena.Mail, expires time.Time) (arena.Mail, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, there := range m.mail {
		if there.Box == mail.Box && there.ID == mail.ID {
			if !bytes.Equal(there.Body, mail.Body) {
				return there, arena.Errorf(arena.CodeConflict, "another message")
			}
			return there, nil
		}
	}
	mail.N = int64(len(m.mail) + 1)
	m.mail, m.expires[mail.N] = append(m.mail, mail), expires
	return mail, m.fail
}

func (m *memoryStore) Mail(_ context.Context, box string, after int64, limit int, now time.Time) (found []arena.Mail, err error) {
	if strings.HasPrefix(box, "agora/answer/") {
		time.Sleep(m.slow)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, mail := range m.mail {
		if mail.Box == box && mail.N > after && m.expires[mail.N].After(now) && len(found) < limit {
			found = append(found, mail)
		}
	}
	return found, m.fail
}

func (m *memoryStore) DropMail(_ context.Context, box string, upTo int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n := range m.mail {
		if m.mail[n].Box == box && m.mail[n].N <= upTo {
			m.mail[n].Box = "dropped"
		}
	}
	return m.fail
}

func (m *memoryStore) Once(context.Context, string, string, [32]byte, time.Time, time.Time) (bool, error) {
	return true, m.fail
}

func (m *memoryStore) OpenConversation(_ context.Context, c arena.Conversation, perAddress int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, other := range m.conversations {
		if other.Address == c.Address && other.ExpiresAt.After(c.CreatedAt) {
			perAddress--
		}
	}
	if perAddress <= 0 {
		return arena.Errorf(arena.CodeRateLimited, "too many")
	}
	m.conversations[c.Key] = c
	return m.fail
}

func (m *memoryStore) Conversation(_ context.Context, key [32]byte) (arena.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.conversations[key]
	if !ok {
		return c, arena.Errorf(arena.CodeNotFound, "none")
	}
	return c, m.fail
}

func (m *memoryStore) UpdateConversation(_ context.Context, key [32]byte, apply func(*arena.Conversation)) (arena.Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.conversations[key]
	apply(&c)
	m.conversations[key] = c
	return c, m.fail
}

func (m *memoryStore) SetSecretBase(_ context.Context, agentID string, hash [32]byte, _ time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for h, id := range m.bases {
		if id == agentID {
			delete(m.bases, h)
		}
	}
	m.bases[hash] = agentID
	return m.fail
}

func (m *memoryStore) AgentOfBase(_ context.Context, hash [32]byte) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id, ok := m.bases[hash]; ok || m.fail != nil {
		return id, m.fail
	}
	return "", arena.Errorf(arena.CodeNotFound, "none")
}

func (m *memoryStore) KeepAlive(_ context.Context, agentID string, until time.Time, atOnce int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alive[agentID], m.atOnce[agentID] = until, atOnce
	return m.fail
}

func (m *memoryStore) AliveUntil(_ context.Context, agentID string) (time.Time, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alive[agentID], m.atOnce[agentID], m.fail
}

func (m *memoryStore) AgoraWay(_ context.Context, agentID, endpoint string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ways[agentID+" "+endpoint], m.fail
}

func (m *memoryStore) SetAgoraWay(_ context.Context, agentID, endpoint, way string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ways[agentID+" "+endpoint] = way
	return m.fail
}

func (m *memoryStore) box(t testing.TB) *mailbox.Inbox {
	t.Helper()
	box := mailbox.NewInbox(m, mailbox.NewNotifier(nil), time.Now)
	return box
}

func newDriver(t *testing.T, m *memoryStore) *agora.Driver {
	t.Helper()
	return newDriverWith(t, m, false)
}

func newDriverWith(t *testing.T, m *memoryStore, plainHTTP bool) *agora.Driver {
	t.Helper()
	return driverOf(t, m, plainHTTP, patient())
}

// patient is a clock a minute ahead that advances by a microsecond at each reading:
// the second that a question or a DELETE may take is enough on any machine.
func patient() func() time.Time {
	began, looks := time.Now().Add(time.Minute), new(atomic.Int64)
	return func() time.Time { return began.Add(time.Duration(looks.Add(1)) * time.Microsecond) }
}

func driverOf(t *testing.T, m *memoryStore, plainHTTP bool, now func() time.Time) *agora.Driver {
	t.Helper()
	guard, err := protocol.NewGuard(protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	must(t, err)
	client, err := protocol.NewClient(guard, protocol.ClientOptions{Now: now, TLSTimeout: 100 * time.Millisecond})
	must(t, err)
	d, err := agora.New(agora.Options{Client: client, Inbox: m.box(t), Bases: m, Ways: m, Now: now, PlainHTTP: plainHTTP})
	must(t, err)
	t.Cleanup(func() { d.Close(); client.Close() })
	return d
}

// received is one request that a fake agent received.
type received struct {
	Method, Path string
	Raw          map[string]json.RawMessage // members of the body
	Hash         *string                    `json:"protocolHash"`
	Sources      []string                   `json:"protocolSources"`
	Body         string                     `json:"body"`
	Multiround   bool                       `json:"multiround"`
	Status       string                     `json:"status"`
	Error        string                     `json:"error"`
}

// bob is an agent that listens, as another author may have written it. It records
// its requests and replies as the test sets it.
type bob struct {
	*httptest.Server
	mu       sync.Mutex
	received []received
	end      chan struct{} // receives one for each DELETE
}

// newBob starts an agent. say answers POSTs by status and body; wellknown is
// its list of documents, "" for 404.
func newBob(t *testing.T, wellknown string, say func(n int, h received) (int, string)) *bob {
	t.Helper()
	b := &bob{end: make(chan struct{}, 16)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := received{Method: r.Method, Path: r.URL.EscapedPath()}
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &h.Raw)
		_ = json.Unmarshal(data, &h)
		b.mu.Lock()
		b.received = append(b.received, h)
		n := 0
		for _, past := range b.received {
			if past.Method == http.MethodPost {
				n++
			}
		}
		b.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/wellknown") && wellknown != "":
			_, _ = io.WriteString(w, wellknown)
		case r.Method == http.MethodPost:
			if r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type %q", r.Header.Get("Content-Type"))
			}
			status, reply := say(n, h)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, reply)
		case r.Method == http.MethodDelete:
			_, _ = io.WriteString(w, `{"status":"success"}`)
			b.end <- struct{}{}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(b.Close)
	return b
}

func (b *bob) posts() []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.received), func(h received) bool { return h.Method != http.MethodPost })
}

func (b *bob) methods() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.received {
		all = append(all, h.Method+" "+h.Path)
	}
	return all
}

func attempt(b *bob, round, total int) arena.Attempt {
	a := protocoltest.NewAttempt(b.URL+"/agora", enough)
	a.Round, a.TotalRounds = round, total
	return a
}

func send(t *testing.T, d *agora.Driver, a arena.Attempt) arena.Reply {
	t.Helper()
	send, err := d.Prepare(t.Context(), a)
	must(t, err)
	return send(t.Context())
}

// said makes a good reply with a body.
func said(body string, more ...string) string {
	text, _ := json.Marshal(body)
	return `{"status":"success","body":` + string(text) + strings.Join(more, "") + `}`
}

func failed(text string) string { return `{"status":"failure","error":"` + text + `"}` }
