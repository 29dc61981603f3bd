package protocol

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// replies answers every request of a connection with a status and a body of JSON.
func replies(status int, asked *atomic.Int32) func(net.Conn) {
	return func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			asked.Add(1)
			_, _ = fmt.Fprintf(c, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", status)
		}
	}
}

// limitedClient resolves every name to 127.0.0.1, which it takes for a public
// address, and stops the clock of its limits.
func limitedClient(t *testing.T) (c *Client, advance func(time.Duration)) {
	t.Helper()
	resolver := resolverOf(t, func(string) []string { return []string{"127.0.0.1"} })
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8"), Resolver: resolver}), ClientOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	now := time.Now()
	client.hosts.now = func() time.Time { return now }
	client.hosts.opened = func(netip.Addr) bool { return false }
	return client, func(d time.Duration) { now = now.Add(d) }
}

// send makes n requests to the port of a server under one name after the other
// and returns how many were refused for the limit.
func send(t *testing.T, c *Client, addr string, n, names int, unproven bool) (refused int) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r := request(fmt.Sprintf("http://a%d.example:%s/", i%names, port))
		r.Unproven = unproven
		switch x := c.Do(t.Context(), r); {
		case x.Failure == FailBusy && !x.Connected && !x.Written:
			refused++
		case x.Failure != "":
			t.Fatalf("request %d: %+v", i, x)
		}
	}
	return refused
}

// Threat N3: whatever names lead to an address, it gets few requests unless an
// agent replies there.
func TestClient_Do_unproven(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ status, names, n, refused int }{
		"one name":       {404, 1, 150, 30},
		"many names":     {404, 150, 150, 30},
		"an agent":       {200, 1, 300, 0},
		"many agents":    {200, 20, 300, 0},
		"accepted later": {202, 1, 300, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := protocoltest.NewRaw(t, replies(c.status, &asked))
			client, advance := limitedClient(t)
			if refused := send(t, client, server.Addr(), c.n, c.names, true); refused != c.refused || int(asked.Load()) != c.n-c.refused {
				t.Errorf("%d refused, want %d; %d came through", refused, c.refused, asked.Load())
			}
			if c.refused == 0 {
				return
			}
			advance(5 * time.Second)
			if refused := send(t, client, server.Addr(), 10, c.names, true); refused != 5 {
				t.Errorf("5 s later %d of 10 are refused", refused)
			}
			other := protocoltest.NewRaw(t, replies(200, &asked))
			if refused := send(t, client, other.Addr(), 1, 1, true); refused != 0 {
				t.Error("another address is refused too")
			}
		})
	}
}

// Threat N3: connections that fail count too.
func TestClient_Do_unproven_unreached(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	client, _ := limitedClient(t)
	got := map[Failure]int{}
	for range 150 {
		r := request("http://" + addr + "/")
		r.Unproven = true
		got[client.Do(t.Context(), r).Failure]++
	}
	if got[FailRefused] != 120 || got[FailBusy] != 30 {
		t.Errorf("failures %v", got)
	}
}

// Threat N3: a name that moved away from its agent loses its standing with the
// first reply that is not an agent's, and gets it back with the first that is.
func TestClient_Do_suspect(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	status := new(atomic.Int32)
	status.Store(200)
	server := protocoltest.NewRaw(t, func(c net.Conn) { replies(int(status.Load()), &asked)(c) })
	client, advance := limitedClient(t)
	if refused := send(t, client, server.Addr(), 300, 1, false); refused != 0 {
		t.Fatalf("%d requests to an agent are refused", refused)
	}
	status.Store(500)
	client.CloseIdle()
	if refused := send(t, client, server.Addr(), 150, 1, false); refused != 29 {
		t.Errorf("%d are refused, want all after the first and 120 more", refused)
	}
	status.Store(200)
	client.CloseIdle()
	advance(time.Second)
	if refused := send(t, client, server.Addr(), 100, 1, false); refused != 0 {
		t.Errorf("%d requests to an agent that is back are refused", refused)
	}
	if got := len(client.hosts.suspect); got != 0 {
		t.Errorf("%d hosts are suspect after the agent is back", got)
	}
	status.Store(500)
	client.CloseIdle()
	send(t, client, server.Addr(), 1, 1, false)
	client.hosts.opened = func(a netip.Addr) bool { return a.IsLoopback() }
	if refused := send(t, client, server.Addr(), 300, 1, false); refused != 0 {
		t.Errorf("%d requests to an address that the operator opened are refused", refused)
	}
}

// A suspect host is neither warmed nor sent anything with the batch: its requests
// are counted first. Threat N3.
func TestClient_Warm_suspect(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := protocoltest.NewRaw(t, replies(500, &asked))
	client, _ := limitedClient(t)
	r := request(server.URL())
	if x := client.Do(t.Context(), r); x.Status != 500 {
		t.Fatalf("exchange %+v", x)
	}
	call := client.Call(r)
	if call.TrySend(); call.conn != nil || call.x.Written {
		t.Error("sent before it was counted")
	}
	client.CloseIdle()
	client.Warm(server.URL())
	client.pool.warming.Wait()
	if client.pool.idle != 0 {
		t.Error("warmed")
	}
}

// A certificate for its name shows that a host belongs to the owner that registered
// it, whatever it replies.
func TestHosts_note_certificate(t *testing.T) {
	t.Parallel()
	client, _ := limitedClient(t)
	for secure, want := range map[bool]bool{true: false, false: true} {
		call := client.Call(request("http://agent.example/"))
		call.to.secure, call.x = secure, Exchange{Connected: true, Status: 404}
		client.hosts.note(call)
		if got := client.hosts.suspect[call.to]; got != want {
			t.Errorf("secure %t: suspect %t", secure, got)
		}
	}
}

// While nothing replies, the arena's own network may be the fault: no endpoint
// becomes suspect.
func TestClient_Do_suspect_outage(t *testing.T) {
	t.Parallel()
	client, _ := limitedClient(t)
	for _, replied := range []bool{false, true} {
		client.started = time.Now().Add(-time.Hour)
		if replied {
			client.started = time.Now()
		}
		r := request("http://127.0.0.1:1/")
		if x := client.Do(t.Context(), r); x.Failure != FailRefused {
			t.Fatalf("exchange %+v", x)
		}
		if got := client.Call(r).standing == suspect; got != replied {
			t.Errorf("suspect: %t, want %t", got, replied)
		}
	}
}

// What is remembered has a bound, and an address that is called too often is not
// forgotten while others have their tokens back.
func TestHosts_bounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := newHosts(func() time.Time { return now }, func(netip.Addr) bool { return false })
	address := func(n int) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, byte(n >> 16), byte(n >> 8), byte(n)}), 443)
	}
	for range 2 * addressBurst {
		h.take(unproven, address(0))
	}
	for n := range 3 * maxAddresses {
		if n%1000 == 0 {
			now = now.Add(2 * time.Second)
			for h.take(unproven, address(0)) {
			}
		}
		if !h.take(unproven, address(n+1)) {
			t.Fatal("a new address is refused")
		}
	}
	if len(h.addresses) > maxAddresses {
		t.Errorf("%d addresses", len(h.addresses))
	}
	if h.take(unproven, address(0)) {
		t.Error("the busy address was forgotten")
	}
}
