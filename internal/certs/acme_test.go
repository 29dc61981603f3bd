package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/certs/certstest"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/store"
)

// Pebble finds localhost on this machine.
const testHost = "localhost"

// testLog is a log that announces lines.
type testLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string
}

func newTestLog() (*testLog, *slog.Logger) {
	l := &testLog{lines: make(chan string, 1000)}
	return l, slog.New(slog.NewTextHandler(l, nil))
}

// Write adds one line.
func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines <- string(p)
	return l.text.Write(p)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await returns the next line that contains a text.
func (l *testLog) await(t *testing.T, text string) string {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case line := <-l.lines:
			if strings.Contains(line, text) {
				return line
			}
		case <-limit:
			t.Fatalf("no line with %q in the log:\n%s", text, l)
		}
	}
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	return openStoreAt(t, "sqlite:"+filepath.Join(t.TempDir(), "arena.db"))
}

func openStoreAt(t *testing.T, database string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), database, store.Options{Logger: slog.New(slog.DiscardHandler), Now: time.Now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	must(t, s.Migrate(t.Context()))
	return s
}

// node serves TLS and plain HTTP with certificates of its own.
type node struct {
	certs      *Certificates
	tls, plain net.Listener
	log        *testLog
	stop       func()
}

// listen opens the listeners of a node.
func listen(t *testing.T) *node {
	t.Helper()
	n := &node{}
	var lc net.ListenConfig
	for _, l := range []*net.Listener{&n.tls, &n.plain} {
		var err error
		*l, err = lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
		must(t, err)
	}
	return n
}

// start opens the certificates and runs the node.
func (n *node) start(t *testing.T, o ACME, plain bool) {
	t.Helper()
	var log *slog.Logger
	n.log, log = newTestLog()
	o.HTTP = plain
	var err error
	n.certs, err = Open(Options{Host: testHost, ACME: &o, Now: time.Now, Logger: log})
	must(t, err)
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	secure := &http.Server{TLSConfig: n.certs.Config(), ErrorLog: quiet, ReadHeaderTimeout: time.Minute, Handler: http.NotFoundHandler()}
	unsecured := &http.Server{ErrorLog: quiet, ReadHeaderTimeout: time.Minute, Handler: n.certs.Challenges(http.NotFoundHandler())}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var all sync.WaitGroup
	all.Go(func() { _ = secure.ServeTLS(n.tls, "", "") })
	all.Go(func() { _ = unsecured.Serve(n.plain) })
	all.Go(func() { n.certs.Run(ctx) })
	n.stop = sync.OnceFunc(func() {
		stop()
		_ = secure.Close()
		_ = unsecured.Close()
		all.Wait()
	})
	t.Cleanup(n.stop)
}

// presented returns the certificate that the node presents to a client.
func (n *node) presented(t *testing.T, roots *x509.CertPool) (*x509.Certificate, error) {
	t.Helper()
	d := tls.Dialer{Config: &tls.Config{ServerName: testHost, RootCAs: roots, MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(t.Context(), "tcp", n.tls.Addr().String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()                                                 //nolint:errcheck // only read from
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil //nolint:forcetypeassert // of tls.Dialer
}

// A certificate comes by either challenge, and a node that starts later loads it
// from the database.
func TestACME(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ offered, tls, plain bool }{ // HTTP-01 is offered; the ACME server reaches TLS, plain HTTP
		"tls-alpn-01":       {false, true, true},
		"http-01":           {true, false, true},
		"port 80 is closed": {true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := openStore(t), listen(t)
			tlsAddr, plainAddr := n.tls.Addr().String(), n.plain.Addr().String()
			if !tc.tls {
				tlsAddr = certstest.FreeAddr(t) // where nothing answers
			}
			if !tc.plain {
				plainAddr = certstest.FreeAddr(t)
			}
			pebble := certstest.Start(t, certstest.FreeAddr(t), tlsAddr, plainAddr)
			o := ACME{Store: s.Certificates, Directory: pebble.URL, CAFile: pebble.CAFile, Email: "ops@example.org"}
			n.start(t, o, tc.offered)
			n.log.await(t, "certificate obtained")
			testwait.Until(t, "the node presents the certificate", func() bool { return !n.certs.Expires().IsZero() })
			first, err := n.presented(t, pebble.Roots(t))
			must(t, err)
			if !first.NotAfter.Equal(n.certs.Expires()) {
				t.Errorf("it expires at %v, the node says %v", first.NotAfter, n.certs.Expires())
			}
			n.stop()
			late := listen(t)
			late.start(t, o, tc.offered)
			testwait.Until(t, "a later node has it too", func() bool { return !late.certs.Expires().IsZero() })
			second, err := late.presented(t, pebble.Roots(t))
			must(t, err)
			if !second.Equal(first) || pebble.Issued() != 1 {
				t.Errorf("a later node presents another certificate, %d were issued", pebble.Issued())
			}
		})
	}
}

// Without a certificate the node still serves and logs what to do, and clients do
// not take it for verified. Threat O11.
func TestACME_fails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	none, ca := filepath.Join(dir, "none.pem"), filepath.Join(dir, "ca.pem")
	certstest.Write(t, ca, "127.0.0.1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	for name, tc := range map[string]struct{ file, want string }{
		"no authority": {none, "ARENA_ACME_CA_FILE: open " + none},
		"no server":    {ca, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := listen(t)
			n.start(t, ACME{Store: openStore(t).Certificates, Directory: "https://" + certstest.FreeAddr(t) + "/dir", CAFile: tc.file}, true)
			if line := n.log.await(t, "certificate not obtained"); !strings.Contains(line, tc.want) || !strings.Contains(line, "it is tried again") {
				t.Error(line)
			}
			if _, err := n.presented(t, x509.NewCertPool()); err == nil || !strings.Contains(err.Error(), "unknown authority") {
				t.Errorf("a client got %v", err)
			}
			if at := n.certs.Expires(); !at.IsZero() {
				t.Errorf("no certificate expires at %v", at)
			}
		})
	}
}

// The authority of the ACME server may come after the start. What is stored is
// presented before.
func TestACME_authorityLater(t *testing.T) {
	t.Parallel()
	s, n := openStore(t), listen(t)
	pebble := certstest.Start(t, certstest.FreeAddr(t), n.tls.Addr().String(), n.plain.Addr().String())
	o := ACME{Store: s.Certificates, Directory: pebble.URL, CAFile: pebble.CAFile}
	n.start(t, o, false)
	n.log.await(t, "certificate obtained")

	o.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	now := time.Now()
	late := newACME(o, testHost, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if err := late.obtain(t.Context()); err == nil || !strings.Contains(err.Error(), "ARENA_ACME_CA_FILE") || late.newest() == nil {
		t.Errorf("without the file: %v, presents %v", err, late.newest())
	}
	text, err := os.ReadFile(pebble.CAFile)
	must(t, err)
	certstest.Replace(t, o.CAFile, text)
	must(t, late.obtain(t.Context()))

	// With a wrong clock each new certificate is due at once. It is presented all the
	// same, and the next order waits.
	first := late.newest()
	now = first.Leaf.NotAfter
	if err := late.obtain(t.Context()); err == nil || !strings.Contains(err.Error(), "the clock of this server is at") {
		t.Errorf("with a wrong clock: %v", err)
	}
	must(t, late.obtain(t.Context()))
	if got := pebble.Issued(); got != 2 || late.newest().Leaf.Equal(first.Leaf) {
		t.Errorf("%d certificates issued, presents %v", got, late.newest().Leaf.SerialNumber)
	}
}

// A certificate that is due or cannot be read is replaced. One that is due is
// presented meanwhile.
func TestACME_renews(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "due.pem")
	due := certstest.Write(t, file, testHost, time.Now().Add(-5*time.Hour), time.Now().Add(2*time.Hour))
	text, err := os.ReadFile(file)
	must(t, err)
	for name, stored := range map[string][]byte{"due": text, "unreadable": []byte("x")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, n := openStore(t), listen(t)
			pebble := certstest.Start(t, certstest.FreeAddr(t), n.tls.Addr().String(), n.plain.Addr().String())
			must(t, s.Certificates.PutTLSFile(t.Context(), pebble.URL+"/"+testHost+"/certificate", stored))
			n.start(t, ACME{Store: s.Certificates, Directory: pebble.URL, CAFile: pebble.CAFile}, true)
			if line, want := n.log.await(t, "certificate obtained"), fmt.Sprintf("renewal=%t", name == "due"); !strings.Contains(line, want) {
				t.Errorf("%s, want %s", line, want)
			}
			got, err := n.presented(t, pebble.Roots(t))
			must(t, err)
			if got.Equal(due) || !got.NotAfter.Equal(n.certs.Expires()) {
				t.Errorf("presents the certificate that expires at %v", got.NotAfter)
			}
		})
	}
}

// Orders that fail are repeated with growing pauses, and not before the ACME
// server allows it. Other nodes do not order meanwhile. Threat O11.
func TestACME_retries(t *testing.T) {
	t.Parallel()
	asked, after := 0, ""
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /dir", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"newNonce":"%[1]s/nonce","newAccount":"%[1]s/account","newOrder":"%[1]s/order"}`, server.URL)
	})
	mux.HandleFunc("HEAD /nonce", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Replay-Nonce", "n") })
	mux.HandleFunc("POST /account", func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many orders"}`))
	})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	certstest.Replace(t, ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	now := time.Now()
	o := ACME{Store: openStore(t).Certificates, Directory: server.URL + "/dir", CAFile: ca}
	var nodes [2]*acmeSource
	for i := range nodes {
		nodes[i] = newACME(o, testHost, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	}
	for i, tc := range []struct {
		after string
		pause time.Duration
	}{{"", time.Minute}, {"60", 2 * time.Minute}, {"7200", 2 * time.Hour}, {"x", 8 * time.Minute}, {"9999999", 24 * time.Hour}, {"-1", 32 * time.Minute}, {"", time.Hour}, {"", time.Hour}} {
		after = tc.after
		if err := nodes[0].obtain(t.Context()); err == nil || !strings.Contains(err.Error(), "too many orders") {
			t.Errorf("order %d: %v", i, err)
		}
		now = now.Add(tc.pause - time.Millisecond)
		for _, node := range nodes {
			must(t, node.obtain(t.Context()))
		}
		now = now.Add(time.Millisecond)
		if asked != i+1 {
			t.Fatalf("%d orders after %d pauses", asked, i)
		}
	}
	nodes[0].release(t.Context())
	if err := nodes[1].obtain(t.Context()); err == nil || asked != 9 {
		t.Errorf("after the first node has stopped: %v, %d orders", err, asked)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
