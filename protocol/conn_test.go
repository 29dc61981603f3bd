package protocol

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// An agent that says close means it, also when it is slow to hang up.
func TestClient_Do_connection_close(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		<-over
	})
	defer close(over)
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 2 {
		r := request(server.URL())
		r.Limit = time.Minute
		if x := client.Do(t.Context(), r); x.Failure != "" || x.Reused {
			t.Errorf("exchange %+v", x)
		}
		if client.pool.idle != 0 {
			t.Fatal("the connection was kept")
		}
	}
}

// from is a connection with the address that it says.
type from struct {
	net.Conn
	addr net.Addr
}

func (f from) RemoteAddr() net.Addr { return f.addr }

// Threat N1: a reply from this machine does not show that the network works.
func TestClient_LastReply(t *testing.T) {
	t.Parallel()
	agent := protocoltest.NewAgent(t, protocoltest.AgentOptions{})
	for address, remote := range map[string]bool{"127.0.0.1": false, "127.3.2.1": false, "::1": false, "192.0.2.1": true, "10.0.0.1": true} {
		client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		dial := client.pool.dial
		client.pool.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return from{c, &net.TCPAddr{IP: net.ParseIP(address), Port: 80}}, err
		}
		before := client.LastReply()
		r := request(agent.Endpoint())
		r.Limit = time.Minute
		if x := client.Do(t.Context(), r); x.Failure != "" {
			t.Errorf("exchange %+v", x)
		}
		if got := client.LastReply().After(before); got != remote {
			t.Errorf("a reply of %s counts: %t", address, got)
		}
		client.Close()
	}
}
