package e2e

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/internal/certs/certstest"
	"github.com/agora-arena/arena/internal/testwait"
)

// An arena without a proxy gets its certificate from an ACME server, keeps it in
// its database, and serves browsers with it.
func TestE2E_TLS(t *testing.T) {
	t.Parallel()
	addr, plain := freeAddr(t), freeAddr(t)
	pebble := certstest.Start(t, freeAddr(t), addr, plain)
	_, port, err := net.SplitHostPort(addr)
	must(t, err)
	dir := t.TempDir()
	settings := []string{
		"ARENA_TLS=auto", "ARENA_ADDR=" + addr, "ARENA_HTTP_ADDR=" + plain, "ARENA_PUBLIC_URL=https://localhost:" + port,
		"ARENA_ACME_URL=" + pebble.URL, "ARENA_ACME_CA_FILE=" + pebble.CAFile,
	}
	command := func(args ...string) (code int, text string) {
		var out strings.Builder
		code = execArena(t.Context(), buildArena(t), args, settings, strings.NewReader(""), &out, &out)
		return code, out.String()
	}
	if code, text := command("config", "--check"); code != exitOK {
		t.Errorf("config --check: exit code %d, %s", code, text)
	}
	p := serve(t, dir, settings...)
	if p.local != "https://"+addr {
		t.Errorf("the ready file has %s", p.local)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pebble.Roots(t), MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(url string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		must(t, err)
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return resp, err
	}
	testwait.Until(t, "the certificate is there", func() bool {
		resp, err := get(p.url + "/readyz")
		return err == nil && resp.StatusCode == http.StatusOK && resp.ProtoMajor == 2 && resp.Header.Get("Strict-Transport-Security") != ""
	})
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(p.url, "http", "ws", 1)+"/v1/stream?lobby=1", &websocket.DialOptions{HTTPClient: client})
	must(t, err)
	if _, text, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(text), `"hello"`) {
		t.Errorf("the stream begins with %s, %v", text, err)
	}
	_ = conn.CloseNow()
	if resp, err := get("http://" + plain + "/leagues?a=1"); err != nil || resp.Header.Get("Location") != p.url+"/leagues?a=1" {
		t.Errorf("plain HTTP: %v, %v", resp, err)
	}
	if code, text := command("healthcheck"); code != exitOK {
		t.Errorf("healthcheck: exit code %d, %s", code, text)
	}

	p.stop()
	p = serve(t, dir, settings...)
	testwait.Until(t, "the certificate outlives the process", func() bool {
		_, err := get(p.url + "/readyz")
		return err == nil
	})
	if got := pebble.Orders(); got > 2 || pebble.Issued() != 1 { // the first order may be for the other challenge
		t.Errorf("%d orders, %d certificates", got, pebble.Issued())
	}
}
