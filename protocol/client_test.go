package protocol_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agora-arena/arena/protocol"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// The lookup of an address that nobody waits for any more ends by its own time limit.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net.(*Resolver).tryOneName"))
}

func newClient(t *testing.T, g protocol.GuardOptions, o protocol.ClientOptions) *protocol.Client {
	t.Helper()
	guard, err := protocol.NewGuard(g)
	if err != nil {
		t.Fatal(err)
	}
	o.Now = time.Now
	c, err := protocol.NewClient(guard, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func loopback() protocol.GuardOptions {
	return protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

func post(url string) protocol.Request {
	return protocol.Request{Method: http.MethodPost, URL: url, Token: "t", Body: []byte(`{"version":"1.0"}`), Limit: time.Minute}
}

func TestClient_Do(t *testing.T) {
	t.Parallel()
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	before := time.Now()
	x := newClient(t, loopback(), protocol.ClientOptions{}).Do(t.Context(), post(agent.Endpoint()))
	if x.Failure != "" || x.Err != nil || x.Status != 200 || x.ContentType != "application/json" || string(x.Body) != `{"answer":"42"}` {
		t.Errorf("exchange %+v", x)
	}
	if !x.Connected || !x.Written || !x.Replied || x.SentAt.Before(before) || x.Elapsed <= 0 || x.Elapsed > time.Since(before) {
		t.Errorf("exchange %+v", x)
	}
}

// Threat S1: nothing reaches a blocked address, whatever its spelling.
// Threat S2: without a guard, net/http would dial all of these.
func TestClient_Do_blocked(t *testing.T) {
	t.Parallel()
	server := protocoltest.NewRaw(t, func(net.Conn) {})
	_, port, _ := net.SplitHostPort(server.Addr())
	c := newClient(t, protocol.GuardOptions{}, protocol.ClientOptions{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "１２７.0.0.1", "127。0。0。1"} {
		x := c.Do(t.Context(), post("http://"+host+":"+port+"/agora"))
		if x.Failure != protocol.FailBlocked || !errors.Is(x.Err, protocol.ErrBlocked) || x.Connected || x.Written || x.Status != 0 {
			t.Errorf("%s: %+v", host, x)
		}
	}
	for _, url := range []string{"ftp://127.0.0.1/", "http://", "unix:///x", "http://a b/"} {
		if x := c.Do(t.Context(), post(url)); x.Failure != protocol.FailBlocked {
			t.Errorf("%s: %+v", url, x)
		}
	}
	if n := server.Conns(); n != 0 {
		t.Errorf("%d connections came through", n)
	}
}

// Threat S4: no status and no method makes the client go somewhere else.
func TestClient_Do_no_redirect(t *testing.T) {
	t.Parallel()
	c := newClient(t, loopback(), protocol.ClientOptions{})
	elsewhere := protocoltest.NewRaw(t, func(net.Conn) {})
	for _, status := range []int{301, 302, 303, 307, 308} {
		agent := protocoltest.NewRaw(t, func(conn net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn)) // whatever it is
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d Elsewhere\r\nConnection: close\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, elsewhere.URL())
		})
		task, check := post(agent.URL()), post(agent.URL())
		check.Method, check.Body, check.Token = http.MethodGet, nil, ""
		for _, r := range []protocol.Request{task, check} {
			if x := c.Do(t.Context(), r); x.Status != status || x.Failure != "" {
				t.Errorf("%s, %d: %+v", r.Method, status, x)
			}
		}
	}
	if n := elsewhere.Conns(); n != 0 {
		t.Errorf("%d connections elsewhere", n)
	}
}

// Threat S6: a proxy from the environment would be all that the guard sees.
func TestClient_Do_no_proxy(t *testing.T) {
	proxy := protocoltest.NewRaw(t, func(net.Conn) {})
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+proxy.Addr())
	}
	c := newClient(t, loopback(), protocol.ClientOptions{})
	if x := c.Do(t.Context(), post("http://agent.invalid/agora")); x.Failure != protocol.FailDNS || x.Connected {
		t.Errorf("exchange %+v", x)
	}
	if n := proxy.Conns(); n != 0 {
		t.Errorf("%d connections to the proxy", n)
	}
}

// Threat R9: a POST on a connection that the server has closed meanwhile is lost and
// not sent again automatically.
func TestClient_Do_never_sends_twice(t *testing.T) {
	t.Parallel()
	var posts atomic.Int32
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for n := 0; ; n++ { // the first request of a connection is answered, the second one is not
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			posts.Add(1)
			if n == 1 {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
		}
	})
	c := newClient(t, loopback(), protocol.ClientOptions{})
	if x := c.Do(t.Context(), post(server.URL())); x.Failure != "" {
		t.Fatalf("first: %+v", x)
	}
	if x := c.Do(t.Context(), post(server.URL())); x.Failure != protocol.FailDropped || x.Replied || !x.Connected {
		t.Errorf("second: %+v", x)
	}
	if n := posts.Load(); server.Conns() != 1 || n != 2 {
		t.Errorf("%d connections, %d posts; want 1, 2", server.Conns(), n)
	}
}

// Threat R1: what is read of a body is bounded.
func TestClient_Do_body_cap(t *testing.T) {
	t.Parallel()
	c := newClient(t, loopback(), protocol.ClientOptions{})
	for _, size := range []int{protocol.MaxBody - 1, protocol.MaxBody, protocol.MaxBody + 1, 4 * protocol.MaxBody} {
		agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{Play: func(protocoltest.Request) protocoltest.Behaviour {
			return protocoltest.Reply(200, "application/json", strings.Repeat("x", size))
		}})
		x := c.Do(t.Context(), post(agent.Endpoint()))
		if tooLarge := size > protocol.MaxBody; (x.Failure == protocol.FailTooLarge) != tooLarge || len(x.Body) != min(size, protocol.MaxBody) {
			t.Errorf("%d bytes: failure %q, %d read", size, x.Failure, len(x.Body))
		}
	}
}

// Threats R1, R2, R3, R4, R6, R8, R9, R11: what each attack is called.
func TestClient_Do_attacks(t *testing.T) {
	t.Parallel()
	want := map[string]protocol.Failure{
		"endless body": protocol.FailTooLarge, "one byte of body, then silence": protocol.FailTimeout, "one byte of head, then silence": protocol.FailTimeout,
		"silence": protocol.FailTimeout, "endless head": protocol.FailHeaders, "endless head line": protocol.FailHeaders, "flood of 1xx": protocol.FailHeaders,
		"101, then silence": "", "101 without upgrade, then silence": "", "gzip bomb": "", "body cut": protocol.FailTruncated, "bad chunk": protocol.FailTruncated,
		"head cut": protocol.FailTruncated, "HTTP/1.0 without length, cut": "", "not HTTP": protocol.FailHTTP, "two lengths": protocol.FailHTTP,
		"status 000": "", "status 999": "", "closed before the reply": protocol.FailDropped, "reset before the reply": protocol.FailDropped,
		"TLS stall": protocol.FailTLS, "no TLS": protocol.FailTLS,
	}
	c := newClient(t, loopback(), protocol.ClientOptions{TLSTimeout: 100 * time.Millisecond})
	for _, a := range protocoltest.Attacks() {
		t.Run(a.Threat+"/"+a.Name, func(t *testing.T) {
			t.Parallel()
			r := post(protocoltest.NewRaw(t, a.Serve).URL())
			if a.Stalls {
				r.Limit = 500 * time.Millisecond
			}
			if a.TLS {
				r.URL = strings.Replace(r.URL, "http:", "https:", 1)
			}
			x := c.Do(t.Context(), r)
			failure, known := want[a.Name]
			if !known || x.Failure != failure {
				t.Errorf("failure %q, %v; want %q", x.Failure, x.Err, failure)
			}
			if bomb := a.Threat == "R4"; (x.Encoding == "gzip") != bomb || bomb && !bytes.HasPrefix(x.Body, []byte{0x1f, 0x8b}) {
				t.Errorf("encoding %q, body begins with %x", x.Encoding, x.Body[:min(2, len(x.Body))])
			}
			if len(x.Body) > protocol.MaxBody || x.Status == 101 && x.Body != nil || a.TLS && (x.Connected || x.Written) {
				t.Errorf("exchange %+v", x)
			}
		})
	}
}

// Threat R10: HTTP/1.1 is all that is ever offered.
func TestClient_Do_http1_only(t *testing.T) {
	t.Parallel()
	protos, alpn := make(chan string, 1), make(chan []string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { protos <- r.Proto }))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		alpn <- h.SupportedProtos
		return nil, nil //nolint:nilnil // documented: keep the server's own
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	c := newClient(t, loopback(), protocol.ClientOptions{ExtraRoots: []*x509.Certificate{server.Certificate()}})
	if x := c.Do(t.Context(), post(server.URL)); x.Failure != "" {
		t.Fatalf("exchange %+v", x)
	}
	if p := <-protos; p != "HTTP/1.1" {
		t.Errorf("spoke %s", p)
	}
	for _, p := range <-alpn {
		if p != "http/1.1" {
			t.Errorf("offered %s", p)
		}
	}
}

// Threat R11: certificates are always verified.
func TestClient_Do_tls(t *testing.T) {
	t.Parallel()
	expired := certificate(t, "127.0.0.1", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	wrongHost := certificate(t, "127.0.0.9", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	good := certificate(t, "127.0.0.1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	for _, c := range []struct {
		name    string
		serve   tls.Certificate
		trusted bool
		want    protocol.Failure
	}{
		{"good", good, true, ""},
		{"unknown authority", good, false, protocol.FailTLS},
		{"expired", expired, true, protocol.FailTLS},
		{"wrong host", wrongHost, true, protocol.FailTLS},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			server.TLS = &tls.Config{Certificates: []tls.Certificate{c.serve}}
			server.Config.ErrorLog = log.New(t.Output(), "", 0)
			server.StartTLS()
			t.Cleanup(server.Close)
			var o protocol.ClientOptions
			if c.trusted {
				o.ExtraRoots = []*x509.Certificate{c.serve.Leaf}
			}
			x := newClient(t, loopback(), o).Do(t.Context(), post(server.URL))
			if x.Failure != c.want || x.Written != (c.want == "") {
				t.Errorf("exchange %+v", x)
			}
		})
	}
}

func certificate(t *testing.T, address string, from, until time.Time) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until, IPAddresses: []net.IP{net.ParseIP(address)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Another way to connect is used for addresses only that the guard lets through.
func TestClient_Do_dial(t *testing.T) {
	t.Parallel()
	var dialed []string
	c := newClient(t, protocol.GuardOptions{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}, protocol.ClientOptions{
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, address)
			return nil, syscall.ECONNREFUSED
		},
	})
	for url, want := range map[string]protocol.Failure{
		"http://10.1.0.1:8000/": protocol.FailRefused, "http://10.2.0.1:8000/": protocol.FailBlocked,
		"http://169.254.169.254/": protocol.FailBlocked, "http://an.example/": protocol.FailBlocked,
	} {
		if x := c.Do(t.Context(), post(url)); x.Failure != want {
			t.Errorf("%s: %s (%v), want %s", url, x.Failure, x.Err, want)
		}
	}
	if !slices.Equal(dialed, []string{"10.1.0.1:8000"}) {
		t.Errorf("dialed %v", dialed)
	}
}
