package protocol

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

const emptyReply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

func request(url string) Request {
	return Request{Method: http.MethodPost, URL: url, Body: []byte("{}"), Limit: 10 * time.Second}
}

// answerAll answers every request of a connection, and counts connections that
// have ended.
func answerAll(ended *atomic.Int32) func(net.Conn) {
	return func(c net.Conn) {
		defer ended.Add(1)
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if _, err := io.WriteString(c, emptyReply); err != nil {
				return
			}
		}
	}
}

// dialled counts the connections that a client makes.
func dialled(c *Client) *atomic.Int32 {
	var n atomic.Int32
	dial := c.pool.dial
	c.pool.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, network, addr)
	}
	return &n
}

// A connection serves the next request for half a minute.
func TestClient_Do_keeps_connections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		client, end := pipeClient(t, 0, answerAll(&ended))
		defer end()
		n := dialled(client)
		do := func() {
			t.Helper()
			if x := client.Do(t.Context(), request("http://agent.example/")); x.Failure != "" || x.Status != http.StatusOK {
				t.Fatalf("exchange %+v", x)
			}
		}
		do()
		time.Sleep(idleTime - 1)
		do()
		if n.Load() != 1 || ended.Load() != 0 {
			t.Errorf("%d connections, %d ended", n.Load(), ended.Load())
		}
		time.Sleep(idleTime)
		synctest.Wait()
		if ended.Load() != 1 || len(client.pool.hosts) != 0 || client.pool.idle != 0 {
			t.Errorf("%d ended, %d hosts and %d idle are left", ended.Load(), len(client.pool.hosts), client.pool.idle)
		}
		do()
		if n.Load() != 2 {
			t.Errorf("%d connections", n.Load())
		}
	})
}

// A connection that was closed, or on which something came unasked, is not
// used again: the task goes out on a new one, and is not lost. Threat R9.
func TestClient_Do_looks_before_it_uses(t *testing.T) {
	t.Parallel()
	for _, unasked := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsmuggled!"} {
		ready := make(chan struct{})
		server := protocoltest.NewRaw(t, func(c net.Conn) {
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(c, emptyReply)
			<-ready // the client has put the connection aside
			_, _ = io.WriteString(c, unasked)
			_ = c.Close()
			ready <- struct{}{}
		})
		client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if x := client.Do(t.Context(), request(server.URL())); x.Failure != "" || len(x.Body) != 0 {
				t.Errorf("exchange %+v", x)
			}
			ready <- struct{}{}
			<-ready
		}
		if server.Conns() != 3 {
			t.Errorf("%d connections, want 3", server.Conns())
		}
		client.Close()
	}
}

// What comes in one piece with a reply, behind it, is no reply to the next
// request. Threats F3, R9.
func TestClient_Do_more_than_asked(t *testing.T) {
	t.Parallel()
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(c, emptyReply+"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsmuggled!")
		}
	})
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 3 {
		if x := client.Do(t.Context(), request(server.URL())); x.Failure != "" || len(x.Body) != 0 || x.Reused {
			t.Errorf("exchange %+v: %s", x, x.Body)
		}
	}
}

// A caller that waits for a connection and receives one that has ended meanwhile
// gets another.
func TestPool_hands_on_what_works(t *testing.T) {
	t.Parallel()
	first := make(chan net.Conn, 1)
	server := protocoltest.NewRaw(t, func(c net.Conn) {
		select {
		case first <- c:
			_, _ = io.WriteString(c, "?") // and the connection ends
		default:
			answerAll(new(atomic.Int32))(c)
		}
	})
	client, err := NewClient(newGuard(t, GuardOptions{Allow: prefixes("127.0.0.0/8")}), ClientOptions{Now: time.Now, MaxConnsPerHost: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	p := client.pool
	to := client.Call(request(server.URL())).to
	held, err := p.get(t.Context(), to, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := held.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Fatalf("the connection stays open: %v", err)
	}
	done := make(chan Exchange)
	go func() { done <- client.Do(t.Context(), request(server.URL())) }()
	for waiting := 0; waiting == 0; {
		runtime.Gosched()
		p.mu.Lock()
		waiting = len(p.hosts[to].waiting)
		p.mu.Unlock()
	}
	p.put(held)
	if x := <-done; x.Failure != "" || x.Reused {
		t.Errorf("exchange %+v", x)
	}
}

// A slot that becomes free when its waiter has just given up goes to the next one.
func TestPool_freed_at_timeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	to := target{host: "agent.example", port: "80"}
	for missed := false; !missed; { // which of two things that are ready is taken is chance
		p := newPool(&pool{perHost: 1})
		next := make(chan *conn, 1)
		p.hosts[to] = &slots{open: 1, waiting: []chan *conn{next}}
		ready := make(chan *conn, 1)
		ready <- nil
		_, err := p.await(ctx, to, ready)
		missed = err != nil
		if missed && len(next) != 1 {
			t.Error("the slot is lost")
		}
		p.stop()
	}
}

// A connection that a caller gives up is closed; no other caller gets the late
// reply.
func TestClient_Do_cancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int32
		client, end := pipeClient(t, 0, func(c net.Conn) {
			if served.Add(1) == 1 {
				writeAfter(2*time.Second, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")(c)
			} else {
				writeAfter("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew")(c)
			}
		})
		defer end()
		client.pool.perHost = 1
		why := errors.New("the match is lost")
		ctx, cancel := context.WithCancelCause(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if x := client.Do(ctx, request("http://agent.example/")); x.Failure != FailCancelled || !x.Written || x.Replied || x.Elapsed != time.Second {
				t.Errorf("exchange %+v", x)
			}
		})
		synctest.Wait()
		waiting.Go(func() { // waits for its ready, which may come in the same moment as the end
			if x := client.Do(ctx, request("http://agent.example/")); x.Failure != FailCancelled || x.Written {
				t.Errorf("exchange %+v", x)
			}
		})
		time.Sleep(time.Second)
		cancel(why)
		waiting.Wait()
		if x := client.Do(t.Context(), request("http://agent.example/")); string(x.Body) != "new" {
			t.Errorf("exchange %+v", x)
		}
		if x := client.Do(ctx, request("http://agent.example/")); x.Failure != FailCancelled || !errors.Is(x.Err, why) {
			t.Errorf("exchange %+v", x)
		}
	})
}

// However many want a connection, wait and give up, at most two are open, and
// no ready is lost.
func TestPool_turns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var open, most atomic.Int32
		client, end := pipeClient(t, time.Millisecond, func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				time.Sleep(time.Second)
				if _, err := io.WriteString(c, emptyReply); err != nil {
					return
				}
			}
		})
		dial := client.pool.dial
		client.pool.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			most.Store(max(most.Load(), open.Add(1)))
			c, err := dial(ctx, network, addr)
			if err != nil {
				open.Add(-1)
				return nil, err
			}
			return &counted{Conn: c, open: &open}, nil
		}
		client.pool.perHost = 2
		var all sync.WaitGroup
		var answered, gaveUp atomic.Int32
		for i := range 12 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%4)*1500*time.Millisecond)
				defer cancel()
				switch x := client.Do(ctx, request("http://agent.example/")); x.Failure {
				case "":
					answered.Add(1)
				case FailCancelled:
					gaveUp.Add(1)
				default:
					t.Errorf("exchange %+v", x)
				}
			})
		}
		all.Wait()
		if most.Load() != 2 || answered.Load() < 2 || gaveUp.Load() == 0 || answered.Load()+gaveUp.Load() != 12 {
			t.Errorf("%d open at once, %d answered, %d gave up", most.Load(), answered.Load(), gaveUp.Load())
		}
		for range 3 {
			if x := client.Do(t.Context(), request("http://agent.example/")); x.Failure != "" {
				t.Errorf("afterwards: %+v", x)
			}
		}
		end()
		if len(client.pool.hosts) != 0 || client.pool.idle != 0 || open.Load() != 0 {
			t.Errorf("%d hosts, %d idle, %d open are left", len(client.pool.hosts), client.pool.idle, open.Load())
		}
	})
}

// counted counts its first Close.
type counted struct {
	net.Conn
	open *atomic.Int32
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// A reply counts even if the server did not read the request to its end.
func TestClient_Do_reply_before_the_end_of_the_request(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, end := pipeClient(t, 0, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 10))
			_ = c.Close()
		})
		defer end()
		if x := client.Do(t.Context(), request("http://agent.example/")); x.Failure != FailDropped || x.Written || !x.SentAt.IsZero() {
			t.Errorf("nothing came: %+v", x)
		}
		client.pool.dial = func(context.Context, string, string) (net.Conn, error) {
			return refusing{strings.NewReader("HTTP/1.1 413 Too Much\r\nContent-Length: 0\r\n\r\n")}, nil
		}
		if x := client.Do(t.Context(), request("http://agent.example/")); x.Failure != "" || x.Status != 413 || x.Written || x.SentAt.IsZero() {
			t.Errorf("a reply came: %+v", x)
		}
		if client.pool.idle != 0 {
			t.Error("the connection was kept")
		}
	})
}

// refusing accepts no request and has a reply.
type refusing struct{ io.Reader }

func (refusing) Write([]byte) (int, error)        { return 0, net.ErrClosed }
func (refusing) Close() error                     { return nil }
func (refusing) LocalAddr() net.Addr              { return nil }
func (refusing) RemoteAddr() net.Addr             { return nil }
func (refusing) SetDeadline(time.Time) error      { return nil }
func (refusing) SetReadDeadline(time.Time) error  { return nil }
func (refusing) SetWriteDeadline(time.Time) error { return nil }

// Nothing that an endpoint or a token holds makes a line of its own.
func TestEncode(t *testing.T) {
	t.Parallel()
	encoded := func(raw string, r Request, once bool) (string, error) {
		u, err := url.Parse(raw)
		if err != nil {
			return "", err
		}
		to, err := targetOf(u)
		if err != nil {
			return "", err
		}
		b, err := encode(u, to, &r, once)
		return string(b), err
	}
	common := "\r\nUser-Agent: AgoraArena/1.0\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"
	for _, c := range []struct {
		url  string
		r    Request
		once bool
		want string
	}{
		{
			"http://agent.example:81/a%20b?c=d",
			Request{Method: "POST", Token: "x.y", Body: []byte("{}")},
			false,
			"POST /a%20b?c=d HTTP/1.1\r\nHost: agent.example:81" + common + "Authorization: Bearer x.y\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		},
		{"https://bücher.example", Request{Method: "GET"}, true, "GET / HTTP/1.1\r\nHost: xn--bcher-kva.example" + common + "Connection: close\r\n\r\n"},
		{"http://[::1]:5000/", Request{Method: "GET"}, false, "GET / HTTP/1.1\r\nHost: [::1]:5000" + common + "\r\n"},
	} {
		if got, err := encoded(c.url, c.r, c.once); err != nil || got != c.want {
			t.Errorf("%s: %v\n%q, want\n%q", c.url, err, got, c.want)
		}
	}
	for raw, token := range map[string]string{
		"http://agent.example/?a b": "", "http://agent.example/?a\r\nX: y": "", "http://agent.example/": "x\r\nX: y", "http://a%0d%0a.example/": "",
		"http://agent.example/\x7f": "", "http:///": "", "http:agent.example": "", "ftp://agent.example/": "",
	} {
		if got, err := encoded(raw, Request{Method: "GET", Token: token}, false); err == nil {
			t.Errorf("%q with token %q: %q", raw, token, got)
		}
	}
}

// What was warmed costs a request nothing, even when it is asked for while the
// connection is being made; there is never one too many.
func TestClient_Warm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		client, end := pipeClient(t, time.Second, answerAll(&ended))
		defer end()
		n := dialled(client)
		const there = "http://agent.example/"
		for _, wait := range []time.Duration{300 * time.Millisecond, 2 * time.Second, 3 * time.Second} { // being made, made, kept
			client.Warm(there)
			time.Sleep(wait)
			start := time.Now()
			x := client.Do(t.Context(), request(there))
			if took := time.Since(start); x.Failure != "" || took != max(0, time.Second-wait) || n.Load() != 1 {
				t.Errorf("after %v: %+v, took %v, %d connections", wait, x, took, n.Load())
			}
		}
		for _, bad := range []string{"", "::", "ftp://agent.example/"} {
			client.Warm(bad)
		}

		client.pool.perHost = 2
		var two sync.WaitGroup
		for range 2 { // the second one makes its own
			two.Go(func() {
				if x := client.Do(t.Context(), request("http://other.example/")); x.Failure != "" {
					t.Errorf("exchange %+v", x)
				}
			})
			client.Warm("http://other.example/")
		}
		two.Wait()
		synctest.Wait()
		if l := client.pool.hosts[target{host: "other.example", port: "80"}]; l.open != 2 || l.warming != 0 || len(l.idle) != 2 || n.Load() != 3 {
			t.Errorf("%+v, %d connections", l, n.Load())
		}
	})
}

// A connection that cannot be warmed is tried again by the request, which reports
// the error; closing the client ends what is being made.
func TestClient_Warm_fails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, end := pipeClient(t, time.Hour, nil)
		client.Warm("http://agent.example/")
		x := client.Do(t.Context(), request("http://agent.example/"))
		synctest.Wait()
		if x.Failure != FailConnect || len(client.pool.hosts) != 0 {
			t.Errorf("exchange %+v, %d hosts", x, len(client.pool.hosts))
		}
		client.Warm("http://agent.example/")
		start := time.Now()
		end()
		if time.Since(start) != 0 || len(client.pool.hosts) != 0 {
			t.Errorf("closed after %v, %d hosts", time.Since(start), len(client.pool.hosts))
		}
	})
}

// A reply to HEAD has no body, whatever length it names, and the connection stays
// in use.
func TestClient_Do_head(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, end := pipeClient(t, 0, func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 405 No\r\nContent-Length: 7\r\n\r\n")
			}
		})
		defer end()
		for _, reused := range []bool{false, true} {
			x := client.Do(t.Context(), Request{Method: http.MethodHead, URL: "http://agent.example/", Limit: time.Second})
			if x.Failure != "" || x.Status != http.StatusMethodNotAllowed || len(x.Body) != 0 || x.Reused != reused {
				t.Errorf("exchange %+v, want reused %t", x, reused)
			}
		}
	})
}
