package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/internal/certs/certstest"
)

const hsts = "Strict-Transport-Security"

// serve runs a server until the test ends.
func serve(t *testing.T, s *Server) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
}

// newTLSServer runs a server with a certificate for arena.test in the returned
// file.
func newTLSServer(t *testing.T) (s *Server, file string, cert *x509.Certificate) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "all.pem")
	cert = certstest.Write(t, file, "arena.test", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	s = newTestServer(t, "ARENA_TLS="+file+","+file, "ARENA_PUBLIC_URL=https://arena.test", "ARENA_HTTP_ADDR=127.0.0.1:0", "ARENA_SHUTDOWN_GRACE=1s", "ARENA_ALLOW_CIDRS_FORCE=1")
	return s, file, cert
}

// client returns a client that finds arena.test at the server.
func client(t *testing.T, s *Server, http2 bool, trusted ...*x509.Certificate) *http.Client {
	t.Helper()
	var d net.Dialer
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: certstest.Pool(trusted...), MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, s.listener.Addr().String())
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// send sends a request and returns the response, whose body is open.
func send(t *testing.T, c *http.Client, method, url string, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	must(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// All ways to talk to the arena work over TLS, by HTTP/1.1 and by HTTP/2.
func TestServer_TLS(t *testing.T) {
	t.Parallel()
	s, _, cert := newTLSServer(t)
	serve(t, s)
	for proto, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			c := client(t, s, http2, cert)
			for _, path := range []string{"/", "/readyz", "/v1/agents", "/none"} {
				resp := send(t, c, "GET", "https://arena.test"+path, "")
				if resp.Proto != proto || resp.Header.Get(hsts) == "" {
					t.Errorf("%s: %s, %s %q", path, resp.Proto, hsts, resp.Header.Get(hsts))
				}
			}

			events := send(t, c, "GET", "https://arena.test/v1/stream?lobby=1", "", "Accept", "text/event-stream")
			line, err := bufio.NewReader(events.Body).ReadString('\n')
			if err != nil || !strings.Contains(events.Header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("event stream: %q, %v", line, err)
			}

			var owner struct{ Token string }
			must(t, json.NewDecoder(send(t, c, "POST", "https://arena.test/v1/owners", `{"name":"owner by `+proto+`"}`, "Content-Type", "application/json").Body).Decode(&owner))
			var agent struct {
				ID  string `json:"agent_id"`
				Key string `json:"agent_key"`
			}
			must(t, json.NewDecoder(send(t, c, "POST", "https://arena.test/v1/agents", `{"name":"agent by `+proto[:4]+proto[5:6]+`","leagues":[]}`,
				"Content-Type", "application/json", "Authorization", "Bearer "+owner.Token).Body).Decode(&agent))
			if poll := send(t, c, "GET", "https://arena.test/v1/agents/"+agent.ID+"/tasks?wait=1", "", "Authorization", "Bearer "+agent.Key); poll.StatusCode != http.StatusNoContent {
				body, _ := io.ReadAll(poll.Body)
				t.Errorf("poll: %s %s", poll.Status, body)
			}
		})
	}
	t.Run("WebSocket", func(t *testing.T) {
		t.Parallel()
		conn, _, err := websocket.Dial(t.Context(), "wss://arena.test/v1/stream?lobby=1", &websocket.DialOptions{HTTPClient: client(t, s, false, cert)})
		must(t, err)
		defer conn.CloseNow() //nolint:errcheck // the test ends
		if _, text, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(text), `"hello"`) {
			t.Errorf("%s, %v", text, err)
		}
	})
}

// A new certificate is presented to new connections; open ones stay.
func TestServer_TLS_reload(t *testing.T) {
	t.Parallel()
	s, file, first := newTLSServer(t)
	serve(t, s)
	conn, _, err := websocket.Dial(t.Context(), "wss://arena.test/v1/stream?lobby=1", &websocket.DialOptions{HTTPClient: client(t, s, false, first)})
	must(t, err)
	defer conn.CloseNow() //nolint:errcheck // the test ends
	reading := make(chan error, 1)
	go func() { // Ping needs a reader
		for {
			if _, _, err := conn.Read(t.Context()); err != nil {
				reading <- err
				return
			}
		}
	}()
	second := certstest.Write(t, file, "arena.test", time.Now().Add(-time.Hour), time.Now().Add(2*time.Hour))
	limit, ask := time.After(20*time.Second), time.NewTicker(20*time.Millisecond)
	defer ask.Stop()
	for !s.certs.Expires().Equal(second.NotAfter) {
		select {
		case <-limit:
			t.Fatal("the file is not read again")
		case <-ask.C:
		}
	}
	resp := send(t, client(t, s, true, second), "GET", "https://arena.test/readyz", "")
	if got := resp.TLS.PeerCertificates[0]; !got.Equal(second) {
		t.Errorf("a new client gets the certificate that ends at %v", got.NotAfter)
	}
	must(t, conn.Ping(t.Context()))
	_ = conn.CloseNow()
	<-reading //nolint:errcheck // of a connection that was closed
}

// Plain HTTP leads readers to the public URL and nowhere else. Threat O10.
func TestServer_redirect(t *testing.T) {
	t.Parallel()
	s, _, _ := newTLSServer(t)
	serve(t, s)
	addr := s.plainListener.Addr().String()
	for _, tc := range []struct{ request, status, location string }{
		{"GET /leagues/x?a=1&b=%20 HTTP/1.1\r\nHost: arena.test", "308", "https://arena.test/leagues/x?a=1&b=%20"},
		{"HEAD /a%2Fb HTTP/1.1\r\nHost: evil.test", "308", "https://arena.test/a%2Fb"},
		{"GET //evil.test/x HTTP/1.1\r\nHost: evil.test", "308", "https://arena.test//evil.test/x"},
		{"GET http://evil.test/x HTTP/1.1\r\nHost: evil.test", "308", "https://arena.test/x"},
		{"GET x:.evil.test/ HTTP/1.1\r\nHost: evil.test", "308", "https://arena.test"},
		{"GET / HTTP/1.1\r\nHost: arena.test\r\nAuthorization: Bearer x", "403", ""},
		{"POST /v1/owners HTTP/1.1\r\nHost: arena.test\r\nContent-Length: 0", "403", ""},
		{"GET /.well-known/acme-challenge/x HTTP/1.1\r\nHost: arena.test", "308", "https://arena.test/.well-known/acme-challenge/x"},
	} {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", addr)
		must(t, err)
		_, err = io.WriteString(conn, tc.request+"\r\nConnection: close\r\n\r\n")
		must(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		_ = resp.Body.Close()
		_ = conn.Close()
		if got := resp.Header.Get("Location"); resp.Status[:3] != tc.status || got != tc.location || resp.Header.Get(hsts) != "" {
			t.Errorf("%q: %s, Location %q, %s %q", tc.request, resp.Status, got, hsts, resp.Header.Get(hsts))
		}
	}
}

// A client that opens a connection and sends nothing, or half a handshake, is cut
// off; others are served meanwhile. Threat O9.
func TestServer_TLS_unfinishedHandshake(t *testing.T) {
	t.Parallel()
	s, _, cert := newTLSServer(t)
	// With the limit of a release: a shorter one would cut off honest clients of a
	// busy machine.
	if s.public.ReadHeaderTimeout > 5*time.Second {
		t.Errorf("a handshake may take %v", s.public.ReadHeaderTimeout)
	}
	serve(t, s)
	sent := []string{"", "\x16\x03\x01\x02\x00\x01"}
	conns := make([]net.Conn, len(sent))
	for i, text := range sent {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", s.listener.Addr().String())
		must(t, err)
		defer conn.Close() //nolint:errcheck // the server has closed it
		_, err = io.WriteString(conn, text)
		must(t, err)
		conns[i] = conn
	}
	if resp := send(t, client(t, s, true, cert), "GET", "https://arena.test/readyz", ""); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	for i, conn := range conns {
		must(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Errorf("after %q: %v", sent[i], err)
		}
	}
}

// Without TLS of its own there is no certificate to watch, and browsers receive
// no policy unless the public URL is https.
func TestServer_noTLS(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	if got := request(t, s, "GET", "/readyz", "", "").Header().Get(hsts); got != "" {
		t.Errorf("%s: %s", hsts, got)
	}
	families, err := s.metrics.registry.Gather()
	must(t, err)
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "arena_certificate") {
			t.Errorf("%s is exported", f.GetName())
		}
	}
}

// The admin page and the metrics say when the certificate expires.
func TestServer_certificateWatched(t *testing.T) {
	t.Parallel()
	s, _, cert := newTLSServer(t)
	families, err := s.metrics.registry.Gather()
	must(t, err)
	got := 0.0
	for _, f := range families {
		if f.GetName() == "arena_certificate_expiry_timestamp_seconds" {
			got = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	if want := float64(cert.NotAfter.Unix()); got != want {
		t.Errorf("the metric is %v, want %v", got, want)
	}
	facts := request(t, s, "GET", "/v1/admin/status", testAdmin, "").Body.String()
	if !strings.Contains(facts, `"certificate"`) {
		t.Errorf("the status does not name the certificate: %s", facts)
	}
}

func TestLoad_TLS(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		environ []string
		want    string // in the error; "": there is none
	}{
		{[]string{"ARENA_TLS=auto", "ARENA_PUBLIC_URL=https://arena.example.org"}, ""},
		{[]string{"ARENA_TLS=a.pem,b.pem"}, ""}, // the files may come later
		{[]string{"ARENA_TLS=on"}, `ARENA_TLS: "on" is neither off, auto nor two files`},
		{[]string{"ARENA_TLS=auto"}, "ARENA_PUBLIC_URL: must be set with ARENA_TLS=auto"},
		{[]string{"ARENA_TLS=a.pem,b.pem", "ARENA_PUBLIC_URL=http://arena.example.org"}, "must begin with https://"},
		{[]string{"ARENA_TLS=auto", "ARENA_PUBLIC_URL=https://arena.local"}, "Let's Encrypt issues no certificate for arena.local"},
		{[]string{"ARENA_TLS=auto", "ARENA_PUBLIC_URL=https://arena.local", "ARENA_ACME_URL=https://ca.local/dir"}, ""},
		{[]string{"ARENA_ACME_URL=http://ca.local/dir"}, "ARENA_ACME_URL"},
		{[]string{"ARENA_ACME_EMAIL=x"}, "ARENA_ACME_EMAIL"},
		{[]string{"ARENA_HTTP_ADDR=:80"}, "ARENA_HTTP_ADDR: redirects to https, so it needs ARENA_TLS"},
		{[]string{"ARENA_TLS=a.pem,b.pem", "ARENA_HTTP_ADDR=:443"}, "ARENA_HTTP_ADDR: :443 is ARENA_ADDR"},
	} {
		c, err := Load(Sources{Environ: tc.environ})
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v: %v, want %q", tc.environ, err, tc.want)
		}
		if c.TLSOn() && c.Addr != ":443" {
			t.Errorf("%v: listens on %s", tc.environ, c.Addr)
		}
	}
	if got := load(t, "ARENA_TLS=a.pem,b.pem").PublicURL.String(); got != "https://localhost:443" {
		t.Errorf("the public URL is %s", got)
	}
}
