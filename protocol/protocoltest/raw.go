package protocoltest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/agora-arena/arena/arena"
)

// Raw is a TCP server on 127.0.0.1 whose every connection is served by one
// function, below HTTP.
type Raw struct {
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	count int
	marks map[string]chan struct{} // by address: our own connections, each closed when it has come
	shut  bool
}

// NewRaw starts a raw server. serve runs on a goroutine per connection, which
// is closed after it. The server closes when the test ends; reading from a
// connection ends then too.
func NewRaw(t testing.TB, serve func(net.Conn)) *Raw {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	s := &Raw{listener: l, conns: map[net.Conn]bool{}, marks: map[string]chan struct{}{}}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if s.add(c) {
				s.running.Go(func() { defer s.drop(c); serve(c) })
			}
		}
	})
	t.Cleanup(s.close)
	return s
}

// Addr returns host and port.
func (s *Raw) Addr() string { return s.listener.Addr().String() }

// URL returns an endpoint on the server.
func (s *Raw) URL() string { return "http://" + s.Addr() + "/agora" }

// Conns returns how many connections came. A caller that has given up may have
// made one that the server has not accepted yet, so Conns makes one itself and
// waits for it: they come in order.
func (s *Raw) Conns() int {
	s.mu.Lock()
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp4", s.Addr())
	if err == nil {
		came := make(chan struct{})
		s.marks[c.LocalAddr().String()] = came
		s.mu.Unlock()
		<-came
		_ = c.Close()
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	return s.count
}

func (s *Raw) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := c.RemoteAddr().String()
	if came, ours := s.marks[from]; ours {
		delete(s.marks, from)
		close(came)
		_ = c.Close()
		return false
	}
	s.count++
	if s.shut {
		_ = c.Close()
		return false
	}
	s.conns[c] = true
	return true
}

func (s *Raw) drop(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *Raw) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	s.shut = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Attack is one way to break HTTP.
type Attack struct {
	Threat  string // its name in the threat model: "R1"
	Name    string
	Serve   func(net.Conn)
	Outcome arena.Outcome // what a task POST must end as
	Stalls  bool          // only the time limit ends it
	TLS     bool          // it happens to an https endpoint
}

// Attacks lists the hostile servers, one per threat and way.
func Attacks() []Attack {
	const invalid, timeout = arena.OutcomeInvalid, arena.OutcomeTimeout
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	return []Attack{
		{Threat: "R1", Name: "endless body", Outcome: invalid, Serve: flood(head+"Transfer-Encoding: chunked\r\n\r\n", "400\r\n"+strings.Repeat("x", 1024)+"\r\n")},
		{Threat: "R1", Name: "one byte of body, then silence", Outcome: timeout, Stalls: true, Serve: say(head+"Content-Length: 100\r\n\r\n{", true)},
		{Threat: "R1", Name: "one byte of head, then silence", Outcome: timeout, Stalls: true, Serve: say("H", true)},
		{Threat: "R1", Name: "silence", Outcome: timeout, Stalls: true, Serve: say("", true)},
		{Threat: "R2", Name: "endless head", Outcome: invalid, Serve: flood("HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n")},
		{Threat: "R2", Name: "endless head line", Outcome: invalid, Serve: flood("HTTP/1.1 200 OK\r\nX-A: ", strings.Repeat("a", 1000))},
		{Threat: "R2", Name: "flood of 1xx", Outcome: invalid, Serve: flood("", "HTTP/1.1 102 Processing\r\n\r\n")},
		{Threat: "R3", Name: "101, then silence", Outcome: invalid, Serve: say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", true)},
		{Threat: "R3", Name: "101 without upgrade, then silence", Outcome: invalid, Serve: say("HTTP/1.1 101 Switching Protocols\r\n\r\n", true)},
		{Threat: "R4", Name: "gzip bomb", Outcome: invalid, Serve: func(c net.Conn) { say(head+"Content-Encoding: gzip\r\nContent-Length: "+gzipBomb(), false)(c) }},
		{Threat: "R6", Name: "body cut", Outcome: invalid, Serve: say(head+"Content-Length: 100\r\n\r\n"+`{"answer":"42"}`, false)},
		{Threat: "R6", Name: "bad chunk", Outcome: invalid, Serve: say(head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", false)},
		{Threat: "R6", Name: "head cut", Outcome: invalid, Serve: say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", false)},
		{Threat: "R6", Name: "HTTP/1.0 without length, cut", Outcome: invalid, Serve: say("HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"+`{"answer":"4`, false)},
		{Threat: "R8", Name: "not HTTP", Outcome: invalid, Serve: say("220 mail.example ESMTP\r\n", false)},
		{Threat: "R8", Name: "two lengths", Outcome: invalid, Serve: say(head+"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}}", false)},
		{Threat: "R8", Name: "status 000", Outcome: invalid, Serve: say("HTTP/1.1 000 Zero\r\nContent-Length: 0\r\n\r\n", false)},
		{Threat: "R8", Name: "status 999", Outcome: invalid, Serve: say("HTTP/1.1 999 Much\r\nContent-Length: 0\r\n\r\n", false)},
		{Threat: "R9", Name: "closed before the reply", Outcome: arena.OutcomeError, Serve: say("", false)},
		{Threat: "R9", Name: "reset before the reply", Outcome: arena.OutcomeError, Serve: reset},
		{Threat: "R11", Name: "TLS stall", Outcome: arena.OutcomeError, TLS: true, Serve: hold},
		{Threat: "R11", Name: "no TLS", Outcome: arena.OutcomeError, TLS: true, Serve: func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }},
	}
}

// say reads one request, writes s, and then closes or waits for the caller to.
func say(s string, stay bool) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		_, _ = io.WriteString(c, s)
		if stay {
			hold(c)
		}
	}
}

// flood reads one request, writes start, then more until the caller hangs up.
func flood(start, more string) func(net.Conn) {
	return func(c net.Conn) {
		readRequest(c)
		_, err := io.WriteString(c, start)
		for err == nil {
			_, err = io.WriteString(c, more)
		}
	}
}

func reset(c net.Conn) {
	readRequest(c)
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// hold waits until the caller hangs up or the server closes.
func hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func readRequest(c net.Conn) {
	if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
}

// gzipBomb returns length, blank line and body of 8 MiB of zeros in a few KiB.
func gzipBomb() string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is a valid one
	zeros := make([]byte, 1<<20)
	for range 8 {
		_, _ = z.Write(zeros)
	}
	_ = z.Close()
	return fmt.Sprintf("%d\r\n\r\n%s", b.Len(), b.String())
}
