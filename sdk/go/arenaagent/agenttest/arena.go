package agenttest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/coder/websocket"
	"github.com/golang-jwt/jwt/v5"
)

// AgentID is the id of the agent under test unless a Task names another.
const AgentID = "ag_test"

// Arena is the pocket arena. It is safe for concurrent use.
type Arena struct {
	tb     testing.TB
	server *httptest.Server
	mux    *http.ServeMux
	client *http.Client

	mu      sync.Mutex
	keys    []signingKey // the last one signs
	fetches int
	down    bool
	dials   int
	socks   map[*websocket.Conn]bool
	events  []Event
	changed chan struct{} // closed at each change
	pulls   pulls
}

type signingKey struct {
	kid     string
	private *ecdsa.PrivateKey
}

// Event is one event that the agent reported.
type Event struct {
	AgentID, MatchID string // from the token
	Round            int    // from the token
	Type             string
	Fields           map[string]any // with the type
}

// New starts an arena that ends with the test.
func New(tb testing.TB) *Arena {
	tb.Helper()
	a := &Arena{tb: tb, socks: map[*websocket.Conn]bool{}, changed: make(chan struct{}), client: &http.Client{Transport: &http.Transport{}}, pulls: newPulls()}
	a.RotateKey()
	a.mux = http.NewServeMux()
	a.mux.HandleFunc("GET /.well-known/jwks.json", a.serveKeys)
	a.mux.HandleFunc("GET /v1/stream", a.serveSocket)
	a.mux.HandleFunc("POST /v1/stream", a.servePost)
	a.mux.HandleFunc("GET /v1/me", a.pulling(a.serveMe))
	a.mux.HandleFunc("GET /v1/agents/{id}", a.serveAgent)
	a.mux.HandleFunc("GET /v1/agents/{id}/tasks", a.pulling(a.serveTasks))
	a.mux.HandleFunc("POST /v1/agents/{id}/tasks/{task}/answer", a.pulling(a.serveAnswer))
	a.server = httptest.NewServer(a.mux)
	tb.Cleanup(func() {
		a.CutSockets(websocket.StatusGoingAway)
		a.server.Close()
		a.client.CloseIdleConnections()
	})
	return a
}

// Handle serves more of the arena's API, for the tests of programs that register
// agents. The pattern is one of http.ServeMux.
func (a *Arena) Handle(pattern string, h http.HandlerFunc) { a.mux.HandleFunc(pattern, h) }

// URL is the arena's base URL.
func (a *Arena) URL() string { return a.server.URL }

// Serve starts an agent on a port of its own and returns its endpoint.
func (a *Arena) Serve(agent http.Handler) (endpoint string) {
	a.tb.Helper()
	s := httptest.NewServer(agent)
	a.tb.Cleanup(s.Close)
	return s.URL + "/agora"
}

// RotateKey publishes a new key, which signs from now on.
func (a *Arena) RotateKey() {
	a.tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.tb.Fatal(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, signingKey{fmt.Sprintf("key_%d", len(a.keys)), private})
}

// SetDown makes the arena answer 503 to everything, or ends that.
func (a *Arena) SetDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// KeyFetches is how often the key set was read.
func (a *Arena) KeyFetches() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fetches
}

// Dials is how many sockets were opened.
func (a *Arena) Dials() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dials
}

func (a *Arena) isDown(w http.ResponseWriter) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	return a.down
}

func (a *Arena) serveKeys(w http.ResponseWriter, r *http.Request) {
	if a.isDown(w) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fetches++
	set := jwkset.NewMemoryStorage()
	for _, k := range a.keys {
		jwk, err := jwkset.NewJWKFromKey(k.private.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{
			ALG: jwkset.AlgES256, KID: k.kid, USE: jwkset.UseSig,
		}})
		if err == nil {
			err = set.KeyWrite(r.Context(), jwk)
		}
		if err != nil {
			a.tb.Error(err)
		}
	}
	body, err := set.JSONPublic(r.Context())
	if err != nil {
		a.tb.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// Task is one task POST. Zero fields get a value that an arena would send.
type Task struct {
	AgentID, MatchID, League, TaskID, Description string
	Round, Attempt                                int
	Options                                       []string
	TimeLimit                                     time.Duration // default 10 s

	// Header and Claims change the token: a value replaces one, nil removes
	// one. Bearer replaces the whole token when it is not nil.
	Header, Claims map[string]any
	Bearer         *string
	// Body replaces what is posted after the token was made for the task.
	Body []byte
}

// Reply is what came back.
type Reply struct {
	Status     int
	Answer     string
	Confidence *float64
	Reasoning  string
	Subagents  []string
	Tools      []string
	Body       []byte
}

// Ask posts a task to an endpoint and reads the reply.
func (a *Arena) Ask(ctx context.Context, endpoint string, task Task) (Reply, error) {
	body, token, err := a.Make(task)
	if err != nil {
		return Reply{}, err
	}
	if task.Body != nil {
		body = task.Body
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return Reply{}, fmt.Errorf("ask: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return Reply{}, fmt.Errorf("ask: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	r := Reply{Status: resp.StatusCode}
	if r.Body, err = io.ReadAll(resp.Body); err != nil {
		return r, fmt.Errorf("ask: %w", err)
	}
	return r, r.decode()
}

// decode reads the members of the body.
func (r *Reply) decode() error {
	var wire struct {
		Answer        string   `json:"answer"`
		Confidence    *float64 `json:"confidence"`
		Reasoning     string   `json:"reasoning"`
		SubagentsUsed []string `json:"subagents_used"`
		ToolsUsed     []string `json:"tools_used"`
	}
	if err := json.Unmarshal(r.Body, &wire); err != nil {
		return fmt.Errorf("reply %q: %w", r.Body, err)
	}
	r.Answer, r.Confidence, r.Reasoning, r.Subagents, r.Tools = wire.Answer, wire.Confidence, wire.Reasoning, wire.SubagentsUsed, wire.ToolsUsed
	return nil
}

// Make returns the body and the token of a task.
func (a *Arena) Make(task Task) (body []byte, token string, err error) {
	now := time.Now() //nolint:forbidigo // a test kit lives in real time
	limit := cmp.Or(task.TimeLimit, 10*time.Second)
	agent, match := cmp.Or(task.AgentID, AgentID), cmp.Or(task.MatchID, "m_test")
	round := cmp.Or(task.Round, 1)
	body, err = json.Marshal(map[string]any{
		"version": "1.0", "league": cmp.Or(task.League, "trivia"), "match_id": match, "round": round, "total_rounds": nil,
		"task": map[string]any{
			"description": cmp.Or(task.Description, "What is the capital of Australia?"), "input_format": "string",
			"output_format": "string", "options": task.Options,
		},
		"time_limit_seconds": limit.Seconds(), "max_tokens": 500, "rules": []string{"only_one_answer"}, "opponent_count": 1,
		"task_id": cmp.Or(task.TaskID, fmt.Sprintf("tk_%s_%d", match, round)), "attempt": cmp.Or(task.Attempt, 1),
		"deadline": now.Add(limit).UTC().Format("2006-01-02T15:04:05.000Z"),
	})
	if err != nil {
		return nil, "", fmt.Errorf("make a task: %w", err)
	}
	if task.Bearer != nil {
		return body, *task.Bearer, nil
	}
	sum := sha256.Sum256(body)
	issued, expires := now.Add(-5*time.Second).Unix(), now.Add(limit+5*time.Second).Unix() // like the arena, for clocks that are behind or ahead
	claims := jwt.MapClaims{
		"agent_id": agent, "sub": agent, "aud": agent, "match_id": match, "iss": a.URL(), "iat": issued, "exp": expires,
		"expires_at": expires, "jti": rand.Text(), "round": round, "bh": base64.RawURLEncoding.EncodeToString(sum[:]),
	}
	change(claims, task.Claims)
	a.mu.Lock()
	key := a.keys[len(a.keys)-1]
	a.mu.Unlock()
	t := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	t.Header["kid"], t.Header["typ"] = key.kid, "aap-task+jwt"
	change(t.Header, task.Header)
	token, err = t.SignedString(key.private)
	if err != nil {
		return nil, "", fmt.Errorf("sign a task token: %w", err)
	}
	return body, token, nil
}

func change(m, by map[string]any) {
	maps.Copy(m, by)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
}

// claims checks a token of this arena.
func (a *Arena) claims(token string) (Event, bool) {
	c := jwt.MapClaims{}
	_, err := jwt.NewParser(jwt.WithValidMethods([]string{"ES256"})).ParseWithClaims(token, c, func(t *jwt.Token) (any, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, k := range a.keys {
			if k.kid == t.Header["kid"] {
				return k.private.Public(), nil
			}
		}
		return nil, jwt.ErrTokenUnverifiable
	})
	agent, _ := c["agent_id"].(string)
	match, _ := c["match_id"].(string)
	round, _ := c["round"].(float64)
	return Event{AgentID: agent, MatchID: match, Round: int(round)}, err == nil
}

func (a *Arena) serveSocket(w http.ResponseWriter, r *http.Request) {
	if a.isDown(w) {
		return
	}
	who, ok := a.claims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	a.mu.Lock()
	a.dials++
	a.socks[c] = true
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.socks, c)
		a.mu.Unlock()
		_ = c.CloseNow()
	}()
	for {
		_, data, err := c.Read(r.Context())
		if err != nil {
			return
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			a.tb.Errorf("event %q: %v", data, err)
			return
		}
		if token, _ := m["token"].(string); m["type"] == "auth" {
			if who, ok = a.claims(token); !ok {
				_ = c.Close(4401, "token")
				return
			}
			continue
		}
		a.note(who, m)
	}
}

func (a *Arena) servePost(w http.ResponseWriter, r *http.Request) {
	if a.isDown(w) {
		return
	}
	who, ok := a.claims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if !ok {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	for d := json.NewDecoder(r.Body); ; {
		var m map[string]any
		if err := d.Decode(&m); err != nil {
			break
		}
		a.note(who, m)
	}
	w.WriteHeader(http.StatusAccepted)
}

func (a *Arena) note(who Event, fields map[string]any) {
	who.Fields = fields
	who.Type, _ = fields["type"].(string)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = append(a.events, who)
	a.acknowledge(func(o *offer) bool {
		return cmp.Or(o.task.MatchID, "m_test") == who.MatchID && cmp.Or(o.task.Round, 1) == who.Round
	})
	a.signal()
}

// Events returns the events of a match, as soon as there are at least n. It
// waits for them until ctx ends, at most half a minute.
func (a *Arena) Events(ctx context.Context, matchID string, n int) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		a.mu.Lock()
		var got []Event
		for _, e := range a.events {
			if e.MatchID == matchID {
				got = append(got, e)
			}
		}
		changed := a.changed
		a.mu.Unlock()
		if len(got) >= n {
			return got, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return got, fmt.Errorf("%d events of %d: %w", len(got), n, ctx.Err())
		}
	}
}

// CutSockets closes every open socket with a code.
func (a *Arena) CutSockets(code websocket.StatusCode) {
	a.mu.Lock()
	open := maps.Clone(a.socks)
	a.mu.Unlock()
	var wg sync.WaitGroup
	for c := range open {
		wg.Go(func() { _ = c.Close(code, "") })
	}
	wg.Wait()
}
