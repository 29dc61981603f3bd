package protocol

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

// recordingAgent returns an agent that reports each request and answers it.
func recordingAgent(t *testing.T) (client *Client, url string, received chan int) {
	t.Helper()
	received = make(chan int, 10) // bytes of each body
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			n, _ := io.Copy(io.Discard, r.Body)
			received <- int(n)
			if _, err := io.WriteString(c, emptyReply); err != nil {
				return
			}
		}
	})
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now, MaxConnsPerHost: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, server.URL(), received
}

// TrySend sends a request over an idle connection, and Do only waits for its reply.
func TestCall_TrySend(t *testing.T) {
	t.Parallel()
	client, url, received := recordingAgent(t)
	if x := client.Do(t.Context(), request(url)); x.Failure != "" {
		t.Fatalf("exchange %+v", x)
	}
	<-received
	call := client.Call(request(url))
	call.TrySend()
	<-received // before anybody waits for the reply
	sent := time.Now()
	x := call.Do(t.Context())
	if x.Failure != "" || x.Status != http.StatusOK || !x.Connected || !x.Reused || !x.Written || x.SentAt.After(sent) || x.Elapsed <= 0 {
		t.Errorf("exchange %+v", x)
	}
	if len(received) != 0 {
		t.Error("it was sent twice")
	}
	if x := client.Do(t.Context(), request(url)); x.Failure != "" || !x.Reused {
		t.Errorf("the connection did not come back: %+v", x)
	}
}

// What cannot be sent without waiting is left to Do.
func TestCall_TrySend_leaves_to_Do(t *testing.T) {
	t.Parallel()
	client, url, received := recordingAgent(t)
	long := request(url)
	long.Body = []byte(`"` + strings.Repeat("x", maxTrySend) + `"`)
	for _, c := range []struct {
		what string
		r    Request
	}{{"no connection", request(url)}, {"a long request", long}, {"no URL", request("http://")}} {
		call := client.Call(c.r)
		call.TrySend()
		if call.conn != nil || call.x.Written || len(received) > 0 {
			t.Errorf("%s: the request was sent", c.what)
		}
		if x := call.Do(t.Context()); x.Written != (c.what != "no URL") || x.Written && <-received != len(c.r.Body) {
			t.Errorf("%s: exchange %+v", c.what, x)
		}
	}
}

// TrySend does not use a connection that has ended: Do sends the request over a new
// one, once. Threat R9.
func TestCall_TrySend_closed(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
			return
		}
		_, _ = io.WriteString(c, emptyReply)
		<-ended // the client has put the connection aside
		_ = c.Close()
		ended <- struct{}{}
	})
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now, MaxConnsPerHost: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 2 {
		call := client.Call(request(server.URL()))
		call.TrySend()
		if call.conn != nil || call.x.Written {
			t.Error("the request was sent")
		}
		if x := call.Do(t.Context()); x.Failure != "" || x.Reused {
			t.Errorf("exchange %+v", x)
		}
		ended <- struct{}{}
		<-ended
	}
}

// A request that is canceled after TrySend releases its connection.
func TestCall_TrySend_cancelled(t *testing.T) {
	t.Parallel()
	client, url, received := recordingAgent(t)
	client.Do(t.Context(), request(url))
	<-received
	call := client.Call(request(url))
	call.TrySend()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x := call.Do(ctx); x.Failure != FailCancelled || !x.Written {
		t.Errorf("exchange %+v", x)
	}
	if x := client.Do(t.Context(), request(url)); x.Failure != "" || x.Reused {
		t.Errorf("the next exchange %+v", x)
	}
}

// An agent that answers without taking what it is sent cannot block TrySend,
// and with it the other seats.
func TestCall_TrySend_blocked_socket(t *testing.T) {
	t.Parallel()
	fed := make(chan struct{})
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		_, _ = io.WriteString(c, emptyReply)
		<-fed
	})
	defer close(fed)
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now, MaxConnsPerHost: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if x := client.Do(t.Context(), request(server.URL())); x.Failure != "" {
		t.Fatalf("exchange %+v", x)
	}
	call := client.Call(request(server.URL()))
	to := client.pool.take(call.to)
	for n := 1; n > 0 || to.drained(); { // until nothing more fits; a slow machine may be late before it has written anything
		_ = to.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		n, _ = to.Write(make([]byte, 1<<20))
	}
	client.pool.put(to)
	call.TrySend()
	if call.conn != to || call.x.Written || call.request == nil {
		t.Error("the request was sent into a full socket")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if x := call.Do(ctx); x.Failure != FailCancelled {
		t.Errorf("exchange %+v", x)
	}
}
