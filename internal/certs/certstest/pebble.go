package certstest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agora-arena/arena/internal/testneed"
)

// startTime is how long Pebble may take until it answers.
const startTime = 20 * time.Second

// Pebble is a running ACME server.
type Pebble struct {
	URL    string // of its directory
	CAFile string // PEM file of the authority of its own certificate

	roots string // URL of the root that it issues under
	http  *http.Client
	log   *log
}

// log keeps what Pebble writes.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to the log.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the log so far.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// FreeAddr returns an address of this machine on which nothing listens.
func FreeAddr(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close() //nolint:errcheck // nothing was accepted
	return l.Addr().String()
}

// Start starts Pebble at addr for the test. It validates names at two ports of
// this machine: TLS-ALPN-01 at the port of tlsAddr, HTTP-01 at the port of
// httpAddr. Without the program the test is skipped, unless the comma list ARENA_TEST_REQUIRE names
// pebble: then it fails.
func Start(t testing.TB, addr, tlsAddr, httpAddr string) *Pebble {
	t.Helper()
	program, err := exec.LookPath("pebble")
	if err != nil && !testneed.Required("pebble") {
		t.Skip("no pebble found: put it on PATH, or apt-get install pebble")
	}
	must(t, err)
	dir := t.TempDir()
	file, management := filepath.Join(dir, "server.pem"), FreeAddr(t)
	now := time.Now() //nolint:forbidigo // a test has no other clock
	own := Write(t, file, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour))
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": addr, "managementListenAddress": management, "certificate": file, "privateKey": file,
		"tlsPort": port(t, tlsAddr), "httpPort": port(t, httpAddr),
	}})
	must(t, err)
	configFile := filepath.Join(dir, "config.json")
	must(t, os.WriteFile(configFile, config, 0o600))

	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: Pool(own), MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	p := &Pebble{URL: "https://" + addr + "/dir", CAFile: file, roots: "https://" + management + "/roots/0", http: &http.Client{Transport: transport}, log: &log{}}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program, "-config", configFile) //nolint:gosec // G204: found on PATH
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, p.log, p.log
	// It neither waits between validations nor forgets nonces.
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		stop()
		<-ended //nolint:errcheck // it was killed
		if t.Failed() {
			t.Logf("pebble wrote:\n%s", p.log)
		}
	})
	p.await(t, ended)
	return p
}

// await returns when Pebble answers.
func (p *Pebble) await(t testing.TB, ended <-chan error) {
	t.Helper()
	limit, ask := time.After(startTime), time.NewTicker(20*time.Millisecond)
	defer ask.Stop()
	for {
		if _, err := p.get(t.Context(), p.URL); err == nil {
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("pebble ended: %v\n%s", err, p.log)
		case <-limit:
			t.Fatalf("pebble does not answer:\n%s", p.log)
		case <-ask.C:
		}
	}
}

// Roots returns the authority of the certificates that Pebble issues.
func (p *Pebble) Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	pool, text := x509.NewCertPool(), p.RootPEM(t)
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("no root in %q", text)
	}
	return pool
}

// RootPEM returns the same as PEM.
func (p *Pebble) RootPEM(t testing.TB) []byte {
	t.Helper()
	text, err := p.get(t.Context(), p.roots)
	must(t, err)
	return text
}

// Orders returns how many orders there were, also those that failed.
func (p *Pebble) Orders() int { return strings.Count(p.log.String(), " orders in the db") }

// Issued returns how many certificates were issued.
func (p *Pebble) Issued() int { return strings.Count(p.log.String(), "Issued certificate serial") }

func (p *Pebble) get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", url, err)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the URL
	}
	defer resp.Body.Close()      //nolint:errcheck // only read from
	return io.ReadAll(resp.Body) //nolint:wrapcheck // for a test
}

func port(t testing.TB, addr string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	must(t, err)
	return a.Port
}
