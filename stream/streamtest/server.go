package streamtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/arena"
)

// Server serves streams over HTTP.
type Server struct{ HTTP *httptest.Server }

// Serve starts a server. It is closed at the end of the test, after cleanups
// that are registered later.
func Serve(t testing.TB, h http.Handler) *Server {
	t.Helper()
	s := &Server{HTTP: httptest.NewUnstartedServer(h)}
	// Small send buffers: writes are cut short as on a real network, and a
	// frozen reader is detected soon.
	s.HTTP.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(16 << 10) // a larger one makes the test slower only
		}
	}
	s.HTTP.Start()
	t.Cleanup(s.HTTP.Close)
	return s
}

// Try opens a WebSocket.
func (s *Server) Try(t *testing.T, query string, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	return websocket.Dial(t.Context(), s.HTTP.URL+"/v1/stream"+query,
		&websocket.DialOptions{HTTPHeader: header, HTTPClient: s.HTTP.Client()})
}

// Dial opens a WebSocket that must be accepted.
func (s *Server) Dial(t *testing.T, query string, header http.Header) *Peer {
	t.Helper()
	c, _, err := s.Try(t, query, header) //nolint:bodyclose // the library closes it
	if err != nil {
		t.Fatalf("dial %s: %v", query, err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() }) // it may be closed
	return &Peer{t: t, Conn: c}
}

// Agent opens a WebSocket with a token in the header and reads the greeting.
func (s *Server) Agent(t *testing.T, token string) *Peer {
	t.Helper()
	p := s.Dial(t, "", http.Header{"Authorization": {"Bearer " + token}})
	if got := p.Next(); got.Type != "ready" {
		t.Fatalf("first message %+v, want ready", got)
	}
	return p
}

// Request sends a plain request.
func (s *Server) Request(t *testing.T, method, query string, header http.Header, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.HTTP.URL+"/v1/stream"+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := s.HTTP.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() }) // it may be closed
	return resp
}

// WantProblem fails the test unless resp is a problem document with a status
// and a code.
func WantProblem(t *testing.T, resp *http.Response, status int, code arena.Code) {
	t.Helper()
	defer func() { _ = resp.Body.Close() }() // it was read
	var p struct {
		Type, Title, Detail string
		Status              int
		Code                arena.Code
	}
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Fatalf("status %d, not a problem: %v", resp.StatusCode, err)
	}
	if resp.StatusCode != status || p.Status != status || p.Code != code || p.Detail == "" || p.Title != http.StatusText(status) {
		t.Errorf("status %d, problem %+v; want %d %s", resp.StatusCode, p, status, code)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		if resp.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
}

// Tokens issues task tokens and checks them.
type Tokens struct {
	mu     sync.Mutex
	claims map[string]arena.TaskClaims
}

// Token returns a new token, in the form of a JWT.
func (ts *Tokens) Token(match, agent string, round int, life time.Duration) string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.claims == nil {
		ts.claims = map[string]arena.TaskClaims{}
	}
	token := fmt.Sprintf("task.token.%d", len(ts.claims))
	expires := time.Now().Add(life) //nolint:forbidigo // streams of tests run in real time
	ts.claims[token] = arena.TaskClaims{MatchID: match, AgentID: agent, Round: round, ExpiresAt: expires}
	return token
}

// Authenticate returns the claims of a token.
func (ts *Tokens) Authenticate(_ context.Context, token string) (arena.TaskClaims, error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if c, ok := ts.claims[token]; ok {
		return c, nil
	}
	return arena.TaskClaims{}, arena.Errorf(arena.CodeUnauthorized, "unknown token")
}

// Address returns the address that a request of a test names.
func Address(r *http.Request) string { return r.Header.Get("X-Test-Address") }

// Slots limit the open clients of an address.
type Slots interface {
	Acquire(address string) (release func(), err error)
}

// Free reports whether n slots of an address are free.
func Free(slots Slots, n int, address string) bool {
	for range n {
		release, err := slots.Acquire(address)
		if err != nil {
			return false
		}
		defer release()
	}
	return true
}
