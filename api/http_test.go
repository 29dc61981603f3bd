package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
)

func TestNew_trustedProxies(t *testing.T) {
	t.Parallel()
	o := testOptions(t).build(t)
	o.Site.TrustedProxies = []string{"proxy.local"}
	if _, err := New(o); err == nil {
		t.Error("a trusted proxy that is no address was taken")
	}
}

func TestAPI_paths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run([]scenario{
		{name: "page", method: "GET", path: "/", status: 200, says: "page GET"},
		{name: "deep page", method: "GET", path: "/matches/m_1", status: 200, says: "page GET"},
		{name: "page by HEAD", method: "HEAD", path: "/", status: 200, says: "page HEAD"},
		{name: "unknown path of the API", method: "GET", path: "/v1/nothing", status: 404, code: arena.CodeNotFound},
		{name: "root of the API", method: "GET", path: "/v1", status: 404, code: arena.CodeNotFound},
		{name: "unknown well-known", method: "GET", path: "/.well-known/nothing", status: 404, code: arena.CodeNotFound},
		{name: "metrics are not here", method: "GET", path: "/metrics", status: 404, code: arena.CodeNotFound},
		{name: "slash at the end", method: "GET", path: "/v1/leagues/", status: 404, code: arena.CodeNotFound},
		{name: "wrong method", method: "PUT", path: "/v1/leagues", status: 405, code: arena.CodeNoMethod, says: "PUT"},
		{name: "HEAD", method: "HEAD", path: "/v1/leagues", status: 200},
		{name: "HEAD of the questions of a pack", method: "HEAD", path: "/v1/packs/pk_1/tasks", status: 401, code: arena.CodeUnauthorized},
		// A HEAD must not wait, nor take a task.
		{name: "HEAD of the stream", method: "HEAD", path: "/v1/stream", status: 405, code: arena.CodeNoMethod},
		{name: "HEAD of tasks", method: "HEAD", path: "/v1/agents/ag_1/tasks", token: w.alice, status: 405, code: arena.CodeNoMethod},
		{name: "HEAD of an export", method: "HEAD", path: "/v1/leagues/quiz/export", status: 405, code: arena.CodeNoMethod},
		{name: "HEAD of envelopes", method: "HEAD", path: "/relay/events", status: 405, code: arena.CodeNoMethod},
		{name: "HEAD of envelopes, as some SDKs ask", method: "HEAD", path: "/relay/v1/messages", status: 405, code: arena.CodeNoMethod},
		// Two-party Agora has errors of its own.
		{name: "its unknown path", method: "GET", path: "/agora/nothing", status: 200, says: "agora GET"},
		{name: "its base with a slash", method: "POST", path: "/agora/", status: 200, says: "agora POST"},
		{name: "its wrong method", method: "PUT", path: "/agora", status: 200, says: "agora PUT"},
		{name: "unknown path of the relay", method: "GET", path: "/relay/nothing", status: 404, code: arena.CodeNotFound},
		{name: "a page beside them", method: "GET", path: "/agorax", status: 200, says: "page GET"},
		{name: "jwks", method: "GET", path: "/.well-known/jwks.json", status: 200, says: "jwks GET"},
		{name: "stream", method: "GET", path: "/v1/stream", status: 200, says: "stream GET 192.0.2.1:1234"},
		{name: "events of an agent", method: "POST", path: "/v1/stream", token: "a.task.token", status: 200, says: "stream POST"},
		{name: "health", method: "GET", path: "/healthz", status: 200, says: `{"status":"ok"}`},
		{name: "ready", method: "GET", path: "/readyz", status: 200, says: `{"status":"ok"}`},
		{name: "version", method: "GET", path: "/version", status: 200, says: "v0.0.0-test"},
		{name: "document", method: "GET", path: "/v1/openapi.json", status: 200, says: `"openapi":"3.1.0"`},
		{name: "docs", method: "GET", path: "/docs", status: 200, says: "/v1/agents/{id}/deliveries"},
	})
	if allow := w.do("PUT", "/v1/leagues", "", nil).header.Get("Allow"); strings.Count(allow, ",") != 2 || !strings.Contains(allow, "GET") || !strings.Contains(allow, "POST") || !strings.Contains(allow, "OPTIONS") {
		t.Errorf("Allow: %q", allow)
	}
	if allow := w.do("HEAD", "/v1/agents/ag_1/tasks", "", nil).header.Get("Allow"); allow != "GET" {
		t.Errorf("Allow of tasks: %q", allow)
	}
	if body := string(w.do("GET", "/docs", "", nil).body); strings.Contains(body, "<script") || strings.Contains(body, "https://") {
		t.Error("the page of the document loads something")
	}
}

func TestAPI_bodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	post := func(name, body, kind string, status int, code arena.Code, says string, fields ...string) scenario {
		s := scenario{name: name, method: "POST", path: "/v1/owners", body: body, status: status, code: code, says: says, fields: fields}
		s.header = []string{"Content-Type", kind}
		return s
	}
	const kind = "application/json"
	w.run([]scenario{
		post("good", `{"name":"x1"}`, kind, 201, "", ""),
		post("with a charset", `{"name":"x2"}`, "application/json; charset=UTF-8", 201, "", ""),
		post("another case", `{"name":"x3"}`, "Application/JSON; Charset=utf-8", 201, "", ""),
		post("form", "name=x", "application/x-www-form-urlencoded", 415, arena.CodeUnsupported, "application/json"),
		post("text", `{"name":"x"}`, "text/plain", 415, arena.CodeUnsupported, "application/json"),
		post("no type", `{"name":"x"}`, "", 415, arena.CodeUnsupported, "application/json"),
		post("another charset", `{"name":"x"}`, "application/json; charset=latin1", 415, arena.CodeUnsupported, "application/json"),
		post("too large", `{"name":"`+strings.Repeat("x", maxJSONBody)+`"}`, kind, 413, arena.CodeTooLarge, "65536 bytes"),
		// Threat R5, from the other side.
		post("broken", `{"name":`, kind, 400, arena.CodeMalformed, "", "body"),
		post("trailing text", `{"name":"x"}{}`, kind, 400, arena.CodeMalformed, "", "body"),
		post("duplicate member", `{"name":"x","name":"y"}`, kind, 400, arena.CodeMalformed, "duplicate", "body"),
		post("byte order mark", "\xef\xbb\xbf{}", kind, 400, arena.CodeMalformed, "byte order", "body"),
		post("invalid UTF-8", "{\"name\":\"\xff\"}", kind, 400, arena.CodeMalformed, "UTF-8", "body"),
		post("lone surrogate", `{"name":"\ud800"}`, kind, 400, arena.CodeMalformed, "", "body"),
		post("deep", strings.Repeat("[", 100)+strings.Repeat("]", 100), kind, 400, arena.CodeMalformed, "deeper", "body"),
		post("null", `null`, kind, 422, arena.CodeInvalid, "object", "body"),
		post("list", `[]`, kind, 422, arena.CodeInvalid, "object", "body"),
		post("wrong type", `{"name":7}`, kind, 422, arena.CodeInvalid, "string", "name"),
		post("empty", ``, kind, 400, arena.CodeMalformed, "required"),
	})
	// What was sent is not echoed.
	if body := w.do("POST", "/v1/owners", "", `{"name":"x","password":"hunter2"}`).is(422).body; strings.Contains(string(body), "hunter2") {
		t.Errorf("echo: %s", body)
	}
}

// Threat E3: whatever a text holds, a browser runs our own files only.
func TestAPI_headers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/v1/leagues", "/v1/nothing", "/", "/docs", "/v1/stream", "/healthz"} {
		h := w.do("GET", path, "", nil).header
		csp := h.Get("Content-Security-Policy")
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" || h.Get("X-Request-Id") == "" ||
			!strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "script-src") {
			t.Errorf("%s: %v", path, h)
		}
		if page := path == "/"; strings.HasPrefix(csp, "default-src 'self'") != page {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
	// One page may stand in a frame of another site, and nothing else.
	for path, framed := range map[string]bool{
		"/embed/matches/m_1": true, "/embed/matches/": false, "/embed/matches/m_1/x": false, "/embed/matches/..%2f..%2fconsole": false,
		"/embed": false, "/console": false, "/m/m_1": false, "/v1/embed/matches/m_1": false,
	} {
		csp := w.do("GET", path, "", nil).header.Get("Content-Security-Policy")
		if strings.Contains(csp, "frame-ancestors *") != framed || strings.Contains(csp, "frame-ancestors 'none'") == framed {
			t.Errorf("%s: policy %q", path, csp)
		}
	}
	if got := w.do("GET", "/version", "", nil, "X-Request-Id", "from-proxy_1").header.Get("X-Request-Id"); got != "from-proxy_1" {
		t.Errorf("request id %q", got)
	}
	// Threat E4.
	for _, bad := range []string{"a b", "x\x1b[0m", strings.Repeat("x", 65), "ü"} {
		if got := w.do("GET", "/version", "", nil, "X-Request-Id", bad).header.Get("X-Request-Id"); got == bad || got == "" {
			t.Errorf("request id %q was taken", bad)
		}
	}
}

// Threat O6: a browser that has been here once never asks by plain http again, if
// the arena is reached by https at all.
func TestAPI_hsts(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://arena.example": "max-age=31536000", "http://arena.example": "", "http://localhost:8080": "",
	} {
		o := testOptions(t).build(t)
		o.Site.URL = url
		a, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/embed/matches/m_1", "/v1/leagues", "/v1/nothing", "/docs", "/healthz"} {
			w := httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			if got := w.Header().Get("Strict-Transport-Security"); got != want {
				t.Errorf("%s%s has the header %q, want %q", url, path, got, want)
			}
		}
	}
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func TestAPI_log(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	w := newWorld(t, func(o *parts) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	log.take()
	w.do("GET", "/v1/agents/ag_private?x=hunter2", w.alice, nil, "X-Request-Id", "r1")
	line := log.take()
	if want := "msg=request method=GET route=/v1/agents/:id status=422 duration_ms=0 request_id=r1\n"; !strings.HasSuffix(line, want) || strings.Count(line, "\n") != 1 {
		t.Errorf("log %q, want one line that ends in %q", line, want)
	}
	w.do("POST", "/v1/owners", "", object{"name": "hunter2"}).is(201)
	if line := log.take(); strings.Contains(line, "hunter2") || strings.Contains(line, token.OwnerSecretPrefix) {
		t.Errorf("the log holds a body: %q", line)
	}
}

func TestAPI_recoverPanic(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	w := newWorld(t, func(o *parts) {
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.CheckEndpoint = func(context.Context, string, string) (string, error) { panic("the sky falls") }
	})
	r := w.do("POST", "/v1/agents", w.alice, object{"name": "a", "endpoint": "https://a.example"}).is(500)
	if strings.Contains(string(r.body), "sky") {
		t.Errorf("shown to the client: %s", r.body)
	}
	if line := log.take(); !strings.Contains(line, "the sky falls") || !strings.Contains(line, "goroutine") {
		t.Errorf("not in the log: %q", line)
	}
}

func TestAPI_notReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) {
		o.Node.Ready = func(context.Context) error { return errors.New("disk of 10.1.2.3 is gone") }
	})
	r := w.do("GET", "/readyz", "", nil).is(503)
	if r.header.Get("Retry-After") == "" || strings.Contains(string(r.body), "10.1.2.3") {
		t.Errorf("%v %s", r.header, r.body)
	}
	w.do("GET", "/healthz", "", nil).is(200)
}

// Threat E10: who promises a body and does not send it gets its answer when
// the time for bodies is over, and does not keep the connection.
func TestAPI_bodyThatDoesNotCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t) // by its clock that time is over
	srv := httptest.NewServer(w.api)
	defer srv.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()                                     //nolint:errcheck // read to its end
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // of a server that waits for ever
	const head = "POST /v1/owners HTTP/1.1\r\nHost: arena\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
		t.Errorf("%v, %.200q", err, answer)
	}
}

// Over a real socket: HEAD has no body, and a handler may take the connection
// over.
func TestAPI_realSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *parts) {
		o.Handlers.Stream = inbound{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: test\r\n\r\n")
			_ = rw.Flush()
			_ = conn.Close()
		})}
	})
	srv := httptest.NewServer(w.api)
	defer srv.Close()
	send := func(method, path string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "test")
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := send("HEAD", "/v1/leagues")
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil || len(body) > 0 || res.StatusCode != 200 {
		t.Errorf("HEAD: %d, %d bytes, %v", res.StatusCode, len(body), err)
	}
	res = send("GET", "/v1/stream")
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("upgrade: %d, %v", res.StatusCode, err)
	}
}

func TestAPI_compressed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	compressed, err := Compress(w.api)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		method, path, accept string
		coding               string
	}{
		"JSON":              {"GET", "/v1/openapi.json", "gzip, br", "gzip"},
		"text":              {"GET", "/skill.md", "gzip", "gzip"},
		"refused":           {"GET", "/v1/openapi.json", "gzip;q=0", ""},
		"not asked for":     {"GET", "/v1/openapi.json", "", ""},
		"short":             {"GET", "/v1/leagues", "gzip", ""},
		"a token, once":     {"POST", "/v1/me/tokens", "gzip", ""},
		"a stream":          {"GET", "/v1/stream?lobby=1", "gzip", ""},
		"agents' protocols": {"GET", "/agora/wellknown", "gzip", ""},
	} {
		ask := func(accept string) (http.Header, []byte) {
			req := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, http.NoBody)
			req.Header.Set("Accept-Encoding", accept)
			req.Header.Set("Authorization", "Bearer "+w.alice)
			rec := httptest.NewRecorder()
			compressed.ServeHTTP(rec, req)
			return rec.Header(), rec.Body.Bytes()
		}
		header, body := ask(tt.accept)
		if got := header.Get("Content-Encoding"); got != tt.coding {
			t.Errorf("%s: Content-Encoding %q, want %q", name, got, tt.coding)
		}
		if tt.coding == "" {
			continue
		}
		if got := header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%s: Vary %q", name, got)
		}
		_, plain := ask("identity")
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(unzipped, plain) {
			t.Errorf("%s: %d bytes after decompression, want %d: %v", name, len(unzipped), len(plain), err)
		}
	}
}

// Only reads of documents are compressed: no response that shows a token or a
// key once, no stream and no poll.
func TestCompressible(t *testing.T) {
	t.Parallel()
	for _, r := range routes() {
		request := httptest.NewRequestWithContext(t.Context(), r.method, strings.NewReplacer("{", "", "}", "").Replace(r.path), http.NoBody)
		want := r.method == http.MethodGet && strings.HasPrefix(r.path, "/v1/") && r.path != streamPath && r.id != "poll-task"
		want = want || slices.Contains([]string{"/docs", "/skill.md", "/llms.txt", leagueCalendarPath, agentCalendarPath, leagueFeedPath, agentFeedPath}, r.path)
		if got := compressible(request); got != want {
			t.Errorf("%s %s: compressible = %t", r.method, r.path, got)
		}
	}
}
