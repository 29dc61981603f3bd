package protocol

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pipeClient returns a client whose every connection is a pipe to serve, so that
// it runs in fake time, and the end of both.
func pipeClient(t *testing.T, connect time.Duration, serve func(c net.Conn)) (c *Client, end func()) {
	t.Helper()
	c, err := NewClient(newGuard(t, GuardOptions{}), ClientOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	c.pool.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case <-time.After(connect):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		near, far := net.Pipe()
		served.Go(func() { defer func() { _ = far.Close() }(); serve(far) })
		return near, nil
	}
	return c, func() { c.Close(); served.Wait() }
}

// writeAfter reads a request and then writes each part after its delay.
func writeAfter(parts ...any) func(net.Conn) {
	return func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		for _, p := range parts {
			switch p := p.(type) {
			case time.Duration:
				time.Sleep(p)
			case string:
				if _, err := io.WriteString(c, p); err != nil {
					return
				}
			}
		}
		_, _ = io.Copy(io.Discard, c)
	}
}

// Threat R7: the limit runs from the moment the request is written to the last
// byte; 1 ms late is late. Threat R1: nothing outlives it by more than 50 ms.
func TestClient_Do_limit(t *testing.T) {
	t.Parallel()
	const limit, ms = 10 * time.Second, time.Millisecond
	head, body := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "{}"
	drip := []any{head[:1]}
	for i := 1; i < len(head); i++ {
		drip = append(drip, time.Second, head[i:i+1])
	}
	for _, c := range []struct {
		name    string
		connect time.Duration
		serve   func(net.Conn)
		want    Failure
		elapsed time.Duration // 0: just over the limit
	}{
		{"at once", 0, writeAfter(head + body), "", 0},
		{"1 ms early", 0, writeAfter(limit-ms, head+body), "", limit - ms},
		{"1 ms early, in parts", 0, writeAfter(time.Second, head, limit-time.Second-ms, body), "", limit - ms},
		{"1 ms early after a slow connection", 9 * time.Second, writeAfter(limit-ms, head+body), "", limit - ms},
		{"1 ms late", 0, writeAfter(limit+ms, head+body), FailLate, limit + ms},
		{"head in time, last byte 1 ms late", 0, writeAfter(head+body[:1], limit+ms, body[1:]), FailLate, limit + ms},
		{"closed 1 ms late", 0, func(c net.Conn) { writeAfter(limit+ms, "HTTP/1.1 2")(&closing{c}) }, FailTimeout, limit + ms},
		{"much too late", 0, writeAfter(2*limit, head+body), FailTimeout, limit + grace},
		{"a drip of head", 0, writeAfter(drip...), FailTimeout, limit + grace},
		{"a drip of body", 0, writeAfter(head+"{", time.Hour, "}"), FailTimeout, limit + grace},
		{"101, then silence", 0, writeAfter("HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), "", 0}, // Threat R3.
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, end := pipeClient(t, c.connect, c.serve)
				defer end()
				start := time.Now()
				x := client.Do(t.Context(), Request{Method: http.MethodPost, URL: "http://agent.example/", Body: []byte("{}"), Limit: limit})
				if x.Failure != c.want || x.Elapsed != c.elapsed || !x.Written {
					t.Errorf("failure %q after %v, want %q after %v; %v", x.Failure, x.Elapsed, c.want, c.elapsed, x.Err)
				}
				if took := time.Since(start); took > c.connect+limit+50*ms {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// closing ends the stream after what was written instead of reading on.
type closing struct{ net.Conn }

func (c *closing) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	_ = c.Conn.Close()
	return n, err
}

func TestClient_Do_connection_limits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		connect time.Duration
		serve   func(net.Conn)
		whole   bool
		want    Failure
		took    time.Duration
	}{
		{"never connected", time.Hour, nil, false, FailConnect, 10 * time.Second},
		{"never connected, whole call", time.Hour, nil, true, FailConnect, 5*time.Second + grace},
		{"slow, whole call", 4 * time.Second, writeAfter(2*time.Second, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), true, FailTimeout, 5*time.Second + grace},
		{"request never read", 0, func(net.Conn) { time.Sleep(time.Hour) }, false, FailTimeout, 10 * time.Second},
		{"request never read, whole call", 0, func(net.Conn) { time.Sleep(time.Hour) }, true, FailTimeout, 5*time.Second + grace},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, end := pipeClient(t, c.connect, c.serve)
				defer end()
				start := time.Now()
				x := client.Do(t.Context(), Request{Method: http.MethodGet, URL: "http://agent.example/", Limit: 5 * time.Second, WholeCall: c.whole})
				if took := time.Since(start); x.Failure != c.want || took != c.took {
					t.Errorf("failure %q after %v, want %q after %v; %v", x.Failure, took, c.want, c.took, x.Err)
				}
			})
		})
	}
}

// Threat S7: one host gets a bounded number of connections. Waiting for one is
// bounded too, and does not run the agent's clock.
func TestClient_Do_waits_for_a_connection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, end := pipeClient(t, 0, func(c net.Conn) {
			in := bufio.NewReader(c)
			for _, d := range []time.Duration{7 * time.Second, 4 * time.Second} {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(d)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		})
		defer end()
		client.pool.perHost = 1
		do := func() Exchange {
			return client.Do(t.Context(), Request{Method: http.MethodPost, URL: "http://agent.example/", Body: []byte("{}"), Limit: 20 * time.Second})
		}
		var first Exchange
		var wg sync.WaitGroup
		wg.Go(func() { first = do() })
		synctest.Wait()
		client.setup = 5 * time.Second
		if x := do(); x.Failure != FailConnect || x.Connected || x.Written || !x.SentAt.IsZero() || x.Elapsed != 0 {
			t.Errorf("gave up before a connection was free: %+v", x)
		}
		client.setup = 10 * time.Second
		if x := do(); x.Failure != "" || x.Elapsed != 4*time.Second {
			t.Errorf("waited 2 s, then 4 s for the reply: %+v", x)
		}
		wg.Wait()
		if first.Failure != "" || first.Elapsed != 7*time.Second {
			t.Errorf("first: %+v", first)
		}
	})
}

// Threat R7.
func TestOverdue(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	for elapsed, want := range map[time.Duration]bool{0: false, limit - 1: false, limit: false, limit + 1: true, limit + time.Millisecond: true} {
		if got := overdue(elapsed, limit); got != want {
			t.Errorf("overdue(%v) is %t", elapsed, got)
		}
	}
}

// Threat S3: the name was public when it was checked and is not when it is
// dialled.
func TestClient_Do_rebinding(t *testing.T) {
	t.Parallel()
	hits := map[string]*atomic.Int32{"127.0.0.1": {}, "127.0.0.2": {}}
	port := serveOn(t, "127.0.0.1", 0, hits["127.0.0.1"])
	serveOn(t, "127.0.0.2", port, hits["127.0.0.2"])
	var inside atomic.Bool
	resolver := resolverOf(t, func(name string) []string {
		switch {
		case name == "mixed.example.":
			return []string{"127.0.0.1", "127.0.0.2"}
		case inside.Load():
			return []string{"127.0.0.1"}
		default:
			return []string{"93.184.216.34"}
		}
	})
	call := func(name string, allow ...netip.Prefix) Exchange {
		inside.Store(false)
		g := newGuard(t, GuardOptions{Allow: allow, AllowHTTP: true, Ports: []int{port}, Resolver: resolver})
		url := "http://" + name + ":" + strconv.Itoa(port) + "/agora"
		if _, err := g.CheckEndpoint(t.Context(), "endpoint", url); err != nil && name != "mixed.example" {
			t.Fatalf("check: %v", err)
		}
		inside.Store(true)
		c, err := NewClient(g, ClientOptions{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Do(t.Context(), Request{Method: http.MethodPost, URL: url, Body: []byte("{}"), Limit: time.Minute})
	}
	if x := call("rebind.example"); x.Failure != FailBlocked || x.Connected {
		t.Errorf("guarded: %+v", x)
	}
	// Of a mixed answer only the open address is dialled.
	if x := call("mixed.example", prefixes("127.0.0.2/32")...); x.Failure != "" {
		t.Errorf("mixed: %+v", x)
	}
	if a, b := hits["127.0.0.1"].Load(), hits["127.0.0.2"].Load(); a != 0 || b != 1 {
		t.Errorf("%d requests inside, %d on the open address; want 0, 1", a, b)
	}
	if x := call("rebind.example", prefixes("127.0.0.0/8")...); x.Failure != "" || hits["127.0.0.1"].Load() != 1 {
		t.Errorf("the test does not reach its server at all: %+v", x)
	}
}

// serveOn counts requests on address, at port or (0) any, and returns the port.
func serveOn(t *testing.T, address string, port int, hits *atomic.Int32) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }),
		ReadHeaderTimeout: time.Minute,
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return l.Addr().(*net.TCPAddr).Port
}
