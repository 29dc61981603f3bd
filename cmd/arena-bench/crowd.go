package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agora-arena/arena/stream/ws"
)

// BenchCrowdCmd is `arena bench crowd`: the spectators and talking agents of
// the stream's benchmarks. It executes commands from standard input, one per line,
// and answers each with a line.
type BenchCrowdCmd struct{}

// crowdOrder is one line of the input.
type crowdOrder struct {
	Do      string        `json:"do"`    // watch, frozen, await, report, talk, poll or leave
	Group   string        `json:"group"` // of spectators
	URL     string        `json:"url,omitempty"`
	Count   int           `json:"count,omitempty"`
	Seq     int64         `json:"seq,omitempty"`     // await: until all clients have seen it
	Tokens  []string      `json:"tokens,omitempty"`  // talk: one agent each
	Message string        `json:"message,omitempty"` // talk: what they say, "" a timestamp
	Every   time.Duration `json:"every,omitempty"`   // talk: between two messages of one agent, 0 without pause; poll: between the first polls
	Total   int           `json:"total,omitempty"`   // talk: messages of each agent
	Polls   []crowdPoll   `json:"polls,omitempty"`   // poll: one agent each
}

// crowdReport is the answer to an order.
type crowdReport struct {
	Error  string `json:"error,omitempty"`
	Events int64  `json:"events"` // that came since the last report
	Wrong  int64  `json:"wrong"`  // events that did not follow the one before
	Closed int64  `json:"closed"` // sockets that the other side closed before their match was over
	Delay  spread `json:"delay_ms"`
}

// Run answers orders until standard input ends.
func (c *BenchCrowdCmd) Run(app *App) error {
	crowd := crowd{groups: map[string]*audience{}}
	in, out := json.NewDecoder(app.Stdin), json.NewEncoder(app.Stdout)
	for {
		var o crowdOrder
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		report, err := crowd.do(app.Ctx, o)
		if err != nil {
			report.Error = err.Error()
		}
		if err := out.Encode(report); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

type crowd struct{ groups map[string]*audience }

func (c *crowd) do(ctx context.Context, o crowdOrder) (crowdReport, error) {
	a := c.groups[o.Group]
	if a == nil {
		a = &audience{}
		c.groups[o.Group] = a
	}
	switch o.Do {
	case "watch", "frozen":
		return crowdReport{}, a.join(ctx, o.URL, o.Count, o.Do == "frozen")
	case "await":
		return crowdReport{}, a.await(ctx, o.Seq)
	case "report":
		return a.report(), nil
	case "talk":
		return crowdReport{}, talk(ctx, o)
	case "poll":
		return crowdReport{}, a.poll(ctx, o)
	case "leave":
		for _, v := range a.viewers {
			_ = v.conn.Close()
		}
		a.reading.Wait()
		delete(c.groups, o.Group)
		return a.report(), nil
	}
	return crowdReport{}, fmt.Errorf("unknown order %q", o.Do)
}

// audience is a group of spectators with the events that they have seen.
type audience struct {
	viewers []*viewer
	reading sync.WaitGroup
	events  atomic.Int64
	wrong   atomic.Int64
	closed  atomic.Int64
	delays  histogram
	buffers sync.Pool
}

// viewer is one socket. It reads on the file descriptor, so that its own cost does
// not hide the server's speed.
type viewer struct {
	audience *audience
	conn     net.Conn
	left     []byte // a frame that has begun
	ended    bool   // the other side has said that the match is over
	seq      atomic.Int64
}

func (a *audience) join(ctx context.Context, address string, n int, frozen bool) error {
	a.buffers.New = func() any { return new([256 << 10]byte) }
	const dialers = 16
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for d := range dialers {
		wg.Go(func() {
			for i := d; i < n; i += dialers {
				conn, early, err := dialSocket(ctx, address, "")
				mu.Lock()
				if err != nil {
					failed = err
					mu.Unlock()
					return
				}
				v := &viewer{audience: a, conn: conn, left: early}
				a.viewers = append(a.viewers, v)
				mu.Unlock()
				if frozen {
					_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10) // the kernels keep megabytes before anybody notices
				} else {
					a.reading.Go(v.read)
				}
			}
		})
	}
	wg.Wait()
	return failed
}

// dialSocket opens a WebSocket and returns the bytes that followed the handshake.
func dialSocket(ctx context.Context, address, token string) (net.Conn, []byte, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, nil, fmt.Errorf("address: %w", err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, nil, fmt.Errorf("dial: %w", err)
	}
	request := "GET " + u.RequestURI() + " HTTP/1.1\r\nHost: " + u.Host + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	if token != "" {
		request += "Authorization: Bearer " + token + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("handshake: %w", err), conn.Close())
	}
	r := bufio.NewReaderSize(conn, 1024)
	first := ""
	for no := 0; ; no++ {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("handshake: %w", err), conn.Close())
		}
		if no == 0 {
			first = line
		}
		if line == "\r\n" {
			break
		}
	}
	if len(first) < 12 || first[9:12] != "101" {
		return nil, nil, errors.Join(fmt.Errorf("handshake: %q", first), conn.Close())
	}
	early, _ := r.Peek(r.Buffered())
	return conn, bytes.Clone(early), nil
}

func (v *viewer) read() {
	raw, err := v.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	v.take(nil)
	over := false
	for err == nil && !over {
		err = raw.Read(func(fd uintptr) bool {
			buf := v.audience.buffers.Get().(*[256 << 10]byte)
			defer v.audience.buffers.Put(buf)
			n, err := syscall.Read(int(fd), buf[:])
			if errors.Is(err, syscall.EAGAIN) {
				return false
			}
			if over = n <= 0 && !errors.Is(err, syscall.EINTR); n > 0 {
				v.take(buf[:n])
			}
			return true
		})
	}
	if over && !v.ended {
		v.audience.closed.Add(1)
	}
}

// take reads frames. Of events that arrive together it times only the oldest.
func (v *viewer) take(b []byte) {
	if len(v.left) > 0 {
		b = append(v.left, b...)
	}
	n, wrong, sent := int64(0), int64(0), int64(0)
	seq := v.seq.Load()
	for {
		head, size := frameSize(b)
		if head == 0 || len(b) < head+size {
			break
		}
		switch b[0] {
		case 0x81:
			for line := range bytes.SplitSeq(b[head:head+size], []byte{'\n'}) {
				next, ok := seqOf(line)
				if !ok {
					continue
				}
				if seq != 0 && next != seq+1 {
					wrong++
				}
				seq = next
				if n++; n == 1 {
					sent = sentAt(line)
				}
			}
		case 0x88:
			v.ended = size >= 2 && binary.BigEndian.Uint16(b[head:]) == ws.CloseOver
		case 0x89:
			_, _ = v.conn.Write([]byte{0x8a, 0x80, 0, 0, 0, 0}) // the reading shows what is wrong
		}
		b = b[head+size:]
	}
	v.left = append(v.left[:0], b...)
	if n == 0 {
		return
	}
	v.seq.Store(seq)
	a := v.audience
	a.events.Add(n)
	a.wrong.Add(wrong)
	if sent > 0 {
		a.delays.add(time.Now().UnixNano()-sent, n)
	}
}

// frameSize returns the lengths of a frame's header and payload; 0 when the
// header is not there yet.
func frameSize(b []byte) (head, size int) {
	switch {
	case len(b) >= 2 && b[1] < 126:
		return 2, int(b[1])
	case len(b) >= 4 && b[1] == 126:
		return 4, int(binary.BigEndian.Uint16(b[2:]))
	case len(b) >= 10 && b[1] == 127:
		return 10, int(binary.BigEndian.Uint64(b[2:])) //nolint:gosec // G115: the server's own frame
	}
	return 0, 0
}

// seqOf returns the number of an event; hello and viewers have none.
func seqOf(line []byte) (int64, bool) {
	digits, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int64(c-'0')
	}
	return n, ok
}

// sentAt returns the unix nanoseconds at the end of an event.
func sentAt(line []byte) int64 {
	line = bytes.TrimRight(line, `"}`)
	n, err := strconv.ParseInt(string(line[max(0, len(line)-19):]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// await waits until all clients have seen the event seq.
func (a *audience) await(ctx context.Context, seq int64) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for _, v := range a.viewers {
		for v.seq.Load() < seq {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			if a.closed.Load() > 0 {
				return fmt.Errorf("a spectator was closed at event %d, before %d", v.seq.Load(), seq)
			}
		}
	}
	return nil
}

func (a *audience) report() crowdReport {
	return crowdReport{Events: a.events.Swap(0), Wrong: a.wrong.Swap(0), Closed: a.closed.Load(), Delay: a.delays.take()}
}

// histogram counts durations with a precision of 3 %.
type histogram struct{ counts [64 * 32]atomic.Int64 }

func (h *histogram) add(ns, weight int64) {
	v := uint64(max(ns, 32))
	e := bits.Len64(v) - 6
	h.counts[max(0, e)*32+int(v>>max(0, e))&31].Add(weight) //nolint:gosec // G115: at most 63
}

// take returns the shares in milliseconds and forgets them.
func (h *histogram) take() spread {
	var counts [len(h.counts)]int64
	total := int64(0)
	for i := range h.counts {
		counts[i] = h.counts[i].Swap(0)
		total += counts[i]
	}
	at := func(share float64) float64 {
		left := int64(math.Ceil(share * float64(total)))
		for i, n := range counts {
			if left -= n; left <= 0 && n > 0 {
				return math.Ldexp(float64(32+i%32), i/32) / 1e6
			}
		}
		return 0
	}
	return spread{P50: at(0.5), P99: at(0.99), Worst: at(1)}
}

// talk makes agents send their events, each on a socket of its own.
func talk(ctx context.Context, o crowdOrder) error {
	var wg sync.WaitGroup
	failed := make(chan error, len(o.Tokens))
	for i, token := range o.Tokens {
		wg.Go(func() {
			if err := talkAlone(ctx, o, token); err != nil {
				failed <- fmt.Errorf("agent %d: %w", i, err)
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

func talkAlone(ctx context.Context, o crowdOrder, token string) error {
	conn, _, err := dialSocket(ctx, o.URL, token)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // everything was said
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, conn) // ends with the connection
	}()
	var b []byte
	for n := range o.Total {
		message := o.Message
		if message == "" {
			message = strconv.FormatInt(time.Now().UnixNano(), 10)
		}
		text := `{"type":"thinking","message":"` + message + `"}`
		b = append(b, 0x81, 0x80|126, byte(len(text)>>8), byte(len(text)), 0, 0, 0, 0) //nolint:gosec // G115: a header of 16 bits, masked with zeros
		b = append(b, text...)
		if o.Every == 0 && len(b) < 8<<10 && n < o.Total-1 {
			continue
		}
		if _, err := conn.Write(b); err != nil {
			return fmt.Errorf("say: %w", err)
		}
		b = b[:0]
		if o.Every > 0 {
			time.Sleep(o.Every)
		}
	}
	if _, err := conn.Write([]byte{0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8}); err != nil {
		return fmt.Errorf("say goodbye: %w", err)
	}
	<-gone // closing earlier could discard bytes that the server has not read yet
	return nil
}

// crowdPoll is an agent of the crowd that polls for tasks.
type crowdPoll struct {
	Path  string `json:"path"`
	Token string `json:"token"`
}

// poll lets agents poll until the process ends, and returns when all have begun.
func (a *audience) poll(ctx context.Context, o crowdOrder) error {
	u, err := url.Parse(o.URL)
	if err != nil {
		return fmt.Errorf("address: %w", err)
	}
	for _, p := range o.Polls {
		request := "GET /" + p.Path + " HTTP/1.1\r\nHost: " + u.Host + "\r\nAuthorization: Bearer " + p.Token + "\r\n\r\n"
		conn, err := beginPoll(ctx, u.Host, request)
		if err != nil {
			return err
		}
		go func() {
			for err == nil {
				a.endPoll(conn)
				conn, err = beginPoll(ctx, u.Host, request)
			}
			a.wrong.Add(1)
		}()
		time.Sleep(o.Every) // those of an arena are spread
	}
	return nil
}

func beginPoll(ctx context.Context, host, request string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return nil, errors.Join(fmt.Errorf("poll: %w", err), conn.Close())
	}
	return conn, nil
}

// endPoll waits for the answer to a poll and counts it.
func (a *audience) endPoll(conn net.Conn) {
	var status [len("HTTP/1.1 204")]byte
	_, err := io.ReadFull(bufio.NewReaderSize(conn, 512), status[:])
	count := &a.events
	if err != nil || string(status[:]) != "HTTP/1.1 204" {
		count = &a.wrong
	}
	count.Add(1)
	_ = conn.Close() // the answer has no body
}

// crowdProcess is the crowd as the bench sees it.
type crowdProcess struct {
	app   *App
	cmd   *exec.Cmd
	stdin io.Closer
	in    *json.Encoder
	out   *json.Decoder
}

func startCrowd(app *App) (*crowdProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(app.Ctx, self, "crowd") //nolint:gosec // this very program
	cmd.Stderr = app.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the crowd: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the crowd: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the crowd: %w", err)
	}
	return &crowdProcess{app: app, cmd: cmd, stdin: stdin, in: json.NewEncoder(stdin), out: json.NewDecoder(stdout)}, nil
}

// another starts a second crowd.
func (c *crowdProcess) another() (*crowdProcess, error) { return startCrowd(c.app) }

func (c *crowdProcess) stop() error { return errors.Join(c.stdin.Close(), c.cmd.Wait()) }

// do returns an order and waits for the answer.
func (c *crowdProcess) do(o crowdOrder) (crowdReport, error) {
	var r crowdReport
	if err := c.in.Encode(o); err != nil {
		return r, fmt.Errorf("%s: %w", o.Do, err)
	}
	if err := c.out.Decode(&r); err != nil {
		return r, fmt.Errorf("%s: %w", o.Do, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("%s: %s", o.Do, r.Error)
	}
	return r, nil
}
