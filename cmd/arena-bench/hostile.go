package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// BenchHostileCmd is `arena bench hostile`: the agents of the soak.
type BenchHostileCmd struct {
	Honest  int    `arg:"" help:"Number of honest agents."`
	Hostile int    `arg:"" help:"Number of hostile ones."`
	Stream  string `help:"Where agents send events, http://host:port/v1/stream."`
}

// hostileHello holds the addresses of the agents: the honest ones first.
type hostileHello struct {
	Honest  []string `json:"honest"`
	Hostile []string `json:"hostile"`
	Control string   `json:"control"` // GET: when the first task of each match came; POST: health checks are attacked too
}

// Run serves agents on ports of their own until standard input ends.
func (c *BenchHostileCmd) Run(app *App) error {
	ctx, cancel := context.WithCancel(app.Ctx)
	defer cancel()
	f := &hostileFleet{ctx: ctx, stream: c.Stream, arrivals: map[string]int64{}}
	var hello hostileHello
	attacks := hostileAttacks()
	for i := range c.Honest + c.Hostile {
		attack := attack{}
		if i >= c.Honest {
			attack = attacks[(i-c.Honest)%len(attacks)]
		}
		url, err := f.listen(func(conn net.Conn) { f.serve(conn, attack) })
		if err != nil {
			return err
		}
		if i < c.Honest {
			hello.Honest = append(hello.Honest, url+"/agora")
		} else {
			hello.Hostile = append(hello.Hostile, url+"/agora")
		}
	}
	var err error
	if hello.Control, err = f.listen(f.control); err != nil {
		return err
	}
	if err := json.NewEncoder(app.Stdout).Encode(hello); err != nil {
		return fmt.Errorf("say where the agents are: %w", err)
	}
	_, _ = io.Copy(io.Discard, app.Stdin) // until the other side closes it
	cancel()
	f.close()
	return nil
}

// hostileFleet is all agents, honest ones among them.
type hostileFleet struct {
	ctx    context.Context // of the command
	stream string
	loud   atomic.Bool // health checks are attacked too

	running   sync.WaitGroup
	listeners []net.Listener

	mu       sync.Mutex
	arrivals map[string]int64 // unix nanoseconds of an honest agent's first task, by match
}

func (f *hostileFleet) listen(serve func(net.Conn)) (url string, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(f.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	f.listeners = append(f.listeners, l)
	f.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f.running.Go(func() {
				stop := context.AfterFunc(f.ctx, func() { _ = conn.Close() })
				defer stop()
				defer conn.Close() //nolint:errcheck // the other side has what it gets
				serve(conn)
			})
		}
	})
	return "http://" + l.Addr().String(), nil
}

func (f *hostileFleet) close() {
	for _, l := range f.listeners {
		_ = l.Close()
	}
	f.running.Wait()
}

func (f *hostileFleet) control(conn net.Conn) {
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	f.loud.Store(f.loud.Load() || r.Method == http.MethodPost)
	f.mu.Lock()
	body, _ := json.Marshal(f.arrivals) // numbers always encode
	f.arrivals = map[string]int64{}
	f.mu.Unlock()
	reply(conn, "Connection: close\r\n", string(body))
}

// attack is a hostile agent's reaction to a task and to a health check; nil means
// an honest one.
type attack struct {
	name   string
	task   func(f *hostileFleet, conn net.Conn, token string)
	health func(conn net.Conn)
}

// serve answers requests on one connection, as long as there is nothing to attack.
func (f *hostileFleet) serve(conn net.Conn, a attack) {
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		at := time.Now().UnixNano()
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
			return
		case r.Method == http.MethodGet && (a.health == nil || !f.loud.Load()):
			reply(conn, "", `{"status":"ok","version":"1.0","capabilities":["calm","duels","mixed"],"max_concurrent":1000}`)
		case r.Method == http.MethodGet:
			a.health(conn)
			return
		case a.task != nil:
			a.task(f, conn, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		case a.name == "": // honest
			var task struct {
				MatchID string `json:"match_id"`
			}
			if json.Unmarshal(body, &task) == nil {
				f.mu.Lock()
				if f.arrivals[task.MatchID] == 0 {
					f.arrivals[task.MatchID] = at
				}
				f.mu.Unlock()
			}
			fallthrough
		default:
			reply(conn, "", `{"answer":"`+benchAnswer+`"}`)
		}
	}
}

func reply(conn net.Conn, header, body string) {
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", len(body), header, body)
}

// hostileAttacks are every kind of hostile agent.
func hostileAttacks() []attack {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	say := func(text string, stay bool) func(*hostileFleet, net.Conn, string) {
		return func(_ *hostileFleet, conn net.Conn, _ string) {
			if _, err := io.WriteString(conn, text); err == nil && stay {
				_, _ = io.Copy(io.Discard, conn) // until the arena hangs up
			}
		}
	}
	again := func(first, more string, every time.Duration) func(*hostileFleet, net.Conn, string) {
		return func(_ *hostileFleet, conn net.Conn, _ string) { sayAgain(conn, first, more, every) }
	}
	sized := func(body string) string { return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body) }
	bomb := gzipOfZeros()
	chunk := "400\r\n" + strings.Repeat("x", 1024) + "\r\n"
	return []attack{
		{name: "endless body", task: again(head+"Transfer-Encoding: chunked\r\n\r\n", chunk, 0)},
		{name: "dripping body", task: again(head+"Content-Length: 9999\r\n\r\n", "{", 100*time.Millisecond)},
		{name: "silence", task: say("", true)},
		{name: "half a status line", task: say("HTTP/1", true)},
		{name: "endless head", task: again("HTTP/1.1 200 OK\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n", 0)},
		{name: "dripping head", task: again("HTTP/1.1 200 OK\r\n", "X-A: a\r\n", 100*time.Millisecond)},
		{name: "flood of 1xx", task: again("", "HTTP/1.1 102 Processing\r\n\r\n", 0)},
		{name: "101, then silence", task: say("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", true)},
		{name: "gzip bomb", task: say(head+"Content-Encoding: gzip\r\nContent-Length: "+fmt.Sprint(len(bomb))+"\r\n\r\n"+bomb, false)},
		{name: "body cut", task: say(head+"Content-Length: 100\r\n\r\n"+`{"answer":"42"}`, false)},
		{name: "bad chunk", task: say(head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n", false)},
		{name: "not HTTP", task: say("220 mail.example ESMTP\r\n", false)},
		{name: "dropped", task: say("", false)},
		{name: "redirect inwards", task: say("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/latest\r\nContent-Length: 0\r\n\r\n", false)},
		{name: "answer too large", task: say(sized(`{"answer":"`+strings.Repeat("x", 200<<10)+`"}`), false)},
		{name: "deep JSON", task: say(sized(`{"answer":`+strings.Repeat("[", 60_000)+`}`), false)},
		{name: "two answers", task: say(sized(`{"answer":"42","answer":"43"}`), false)},
		{name: "429", task: say("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n", false)},
		{name: "503", task: say("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", false)},
		{name: "500", task: say("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", false)},
		{name: "status 999", task: say("HTTP/1.1 999 Much\r\nContent-Length: 0\r\n\r\n", false)},
		{name: "flood of events", task: (*hostileFleet).floodEvents},
		{name: "forged events", task: (*hostileFleet).forgeEvents},
		{name: "endless health", health: func(conn net.Conn) { sayAgain(conn, head+"Transfer-Encoding: chunked\r\n\r\n", chunk, 0) }},
		{name: "dripping health", health: func(conn net.Conn) { sayAgain(conn, "HTTP/1.1 200 OK\r\n", "X-A: a\r\n", 100*time.Millisecond) }},
	}
}

// sayAgain writes until the arena hangs up.
func sayAgain(conn net.Conn, first, more string, every time.Duration) {
	_, err := io.WriteString(conn, first)
	for err == nil {
		if every > 0 {
			time.Sleep(every)
		}
		_, err = io.WriteString(conn, more)
	}
}

// gzipOfZeros is 16 MiB in a few KiB.
func gzipOfZeros() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 16 {
		_, _ = z.Write(make([]byte, 1<<20)) // a buffer takes everything
	}
	_ = z.Close()
	return b.String()
}

// floodEvents sends more events than allowed, as fast as possible, then answers.
func (f *hostileFleet) floodEvents(conn net.Conn, token string) {
	f.talk(token, `{"type":"thinking","message":"`+strings.Repeat("z", 900)+`"}`, 300)
	reply(conn, "", `{"answer":"`+benchAnswer+`"}`)
}

// forgeEvents sends events with the id of another agent, then answers.
func (f *hostileFleet) forgeEvents(conn net.Conn, token string) {
	f.talk(token, `{"type":"answer","agent_id":"ag_somebody","final":true,"value":"`+benchAnswer+`"}`, 10)
	reply(conn, "", `{"answer":"`+benchAnswer+`"}`)
}

// talk sends messages as the holder of the token until it is shut out.
func (f *hostileFleet) talk(token, message string, times int) {
	socket, _, err := dialSocket(f.ctx, f.stream, token)
	if err != nil {
		return
	}
	defer socket.Close()                                                                                           //nolint:errcheck // it has done its harm
	frame := append([]byte{0x81, 0x80 | 126, byte(len(message) >> 8), byte(len(message)), 0, 0, 0, 0}, message...) //nolint:gosec // G115: a header of 16 bits, masked with zeros
	for range times {
		if _, err := socket.Write(frame); err != nil {
			return
		}
	}
}
