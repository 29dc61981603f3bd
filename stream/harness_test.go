package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	arenaquota "github.com/agora-arena/arena/arena/quota"
	"github.com/agora-arena/arena/arena/visibility"
	"github.com/agora-arena/arena/arena/visibility/mode"
)

// The pool of go-redis tries to dial once per second, and looks only then
// whether it was closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// memoryLog is the other side: matches, leagues and an append-only log.
type memoryLog struct {
	visibility.Store // what the stream does not read

	mu      sync.Mutex
	matches map[string]*arena.Match
	events  map[string][]arena.Event
	shut    map[string]bool // no round is open
	fail    int             // reads that still fail
	visible int64           // of a delayed match: the last visible event
	early   int             // reads of events that were not visible
	away    error           // what appends fail with
	limit   int             // of events, unless 0; then the storage is full
	reads   int
	gate    chan struct{} // when set, an append waits for it
	slow    chan struct{} // when set, a read waits for it
	waiting atomic.Int64  // appends that wait or waited
}

func newMemoryLog() *memoryLog {
	return &memoryLog{matches: map[string]*arena.Match{}, events: map[string][]arena.Event{}, shut: map[string]bool{}}
}

const league = "trivia"

func (l *memoryLog) match(id string, v arena.Visibility, agents ...string) {
	m := &arena.Match{ID: id, League: league, Status: arena.MatchRunning, Settings: arena.Settings{Visibility: v}}
	for i, a := range agents {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: a, State: arena.SeatActive})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.matches[id] = m
}

// commit appends one event of m_1 as the store would: the row first.
func (l *memoryLog) commit(e arena.Event) arena.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.add("m_1", e)
}

func (l *memoryLog) add(id string, e arena.Event) arena.Event {
	m := l.matches[id]
	m.Seq++
	e.MatchID, e.Seq = id, m.Seq
	if e.At.IsZero() {
		e.At = time.UnixMilli(1_790_000_000_000)
	}
	switch e.Type {
	case "":
		e.Type = arena.EventThinking
	case arena.EventMatchFinished:
		m.Status = arena.MatchFinished
	case arena.EventMatchVoid:
		m.Status = arena.MatchVoid
	default:
	}
	l.events[id] = append(l.events[id], e)
	return e
}

func (l *memoryLog) EventsAfter(ctx context.Context, id string, since int64, limit int) ([]arena.Event, error) {
	if l.slow != nil {
		<-l.slow
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if m := l.matches[id]; m != nil && mode.Of(*m).Delay > 0 && since+int64(limit) > l.visible {
		l.early++
	}
	if l.fail > 0 {
		l.fail--
		return nil, arena.Errorf(arena.CodeUnavailable, "the log is away")
	}
	all := l.events[id]
	since = min(since, int64(len(all)))
	page := append([]arena.Event(nil), all[since:min(int(since)+limit, len(all))]...)
	for i := range page {
		page[i].Hidden = nil
	}
	return page, ctx.Err()
}

// show makes the events of a delayed match visible, up to one.
func (l *memoryLog) show(seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.visible = seq
}

func (l *memoryLog) FirstEventSince(context.Context, string, time.Time, int) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.visible + 1, nil
}

// EventsOfTypes returns nothing: the stream does not look at rounds.
func (*memoryLog) EventsOfTypes(context.Context, string, int64, ...arena.EventType) ([]arena.Event, error) {
	return nil, nil
}

func (l *memoryLog) Match(_ context.Context, id string) (arena.Match, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.matches[id]; m != nil {
		return *m, nil
	}
	return arena.Match{}, arena.Errorf(arena.CodeNotFound, "there is no match %s", id)
}

func (l *memoryLog) League(_ context.Context, slug string) (arena.League, error) {
	if slug == league {
		return arena.League{Slug: slug}, nil
	}
	return arena.League{}, arena.Errorf(arena.CodeNotFound, "there is no league %s", slug)
}

func (l *memoryLog) AppendEvents(_ context.Context, id, agent string, events []arena.Event) ([]arena.Event, error) {
	if l.gate != nil {
		l.waiting.Add(1)
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away != nil {
		return nil, l.away
	}
	if l.limit > 0 && len(l.events[id])+len(events) > l.limit {
		return nil, arena.Errorf(arena.CodeUnavailable, "the disk is full")
	}
	if l.shut[id] {
		return nil, arena.Errorf(arena.CodeRoundClosed, "no round is open")
	}
	out := make([]arena.Event, 0, len(events))
	for _, e := range events {
		e.Round, e.AgentID = 1, agent
		out = append(out, l.add(id, e))
	}
	return out, nil
}

func (l *memoryLog) rows(id string) []arena.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]arena.Event(nil), l.events[id]...)
}

// bundle is a running server with the memory log behind it.
type bundle struct {
	log     *memoryLog
	hub     *Hub
	handler *Handler
	server  *httptest.Server

	mu     sync.Mutex
	tokens map[string]arena.TaskClaims
}

// settings lets a test change the parts before they run.
type settings struct {
	options Options
	parts   Parts
	timing  *timing
	bounds  *bounds
}

// free reports whether n slots of an address are free.
func free(slots *arenaquota.Slots, n int, address string) bool {
	for range n {
		release, err := slots.Acquire(address)
		if err != nil {
			return false
		}
		defer release()
	}
	return true
}

// visible returns the reader of a log that the stream is given.
func visible(t testing.TB, log visibility.Store) *visibility.Reader {
	t.Helper()
	r, err := visibility.NewReader(log, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func start(t testing.TB, change ...func(*settings)) *bundle {
	t.Helper()
	b := &bundle{log: newMemoryLog(), tokens: map[string]arena.TaskClaims{}}
	reader := visible(t, b.log)
	tm, bd := defaultTiming(), bounds{tailEvents, tailBytes}
	s := settings{
		options: Options{Source: reader, Now: time.Now, Logger: slog.New(slog.DiscardHandler)},
		parts: Parts{
			Matches: reader, Leagues: b.log, Log: b.log, Authenticate: b.authenticate,
			ClientIP:  func(r *http.Request) string { return r.Header.Get("X-Test-Address") },
			Addresses: arenaquota.NewSlots(1000, "too many"),
		},
		timing: &tm, bounds: &bd,
	}
	tm.grace = 30 * time.Second // a goodbye must never be lost to a slow machine
	tm.write = 30 * time.Second
	tm.ping = time.Hour // who reads slowly is not gone
	for _, f := range change {
		f(&s)
	}
	var err error
	if b.hub, err = NewHub(s.options); err != nil {
		t.Fatal(err)
	}
	b.hub.timing, b.hub.bounds = tm, bd
	if b.handler, err = NewHandler(b.hub, s.parts); err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- b.hub.Run(context.WithoutCancel(t.Context())) }()
	b.server = httptest.NewUnstartedServer(b.handler)
	// Small send buffers: writes break off as they do in the world, and a
	// frozen reader is seen soon.
	b.server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(16 << 10)
		}
	}
	b.server.Start()
	for !b.hub.running.Load() { // a test that is over before would close it first
		runtime.Gosched()
	}
	t.Cleanup(func() {
		b.hub.Close()
		b.server.Close()
		if err := <-ran; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return b
}

func (b *bundle) authenticate(_ context.Context, token string) (arena.TaskClaims, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.tokens[token]; ok {
		return c, nil
	}
	return arena.TaskClaims{}, arena.Errorf(arena.CodeUnauthorized, "unknown token")
}

func (b *bundle) token(match, agent string, round int, life time.Duration) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	token := fmt.Sprintf("token-%d", len(b.tokens))
	b.tokens[token] = arena.TaskClaims{MatchID: match, AgentID: agent, Round: round, ExpiresAt: time.Now().Add(life)}
	return token
}

// publish commits n plain events of m_1 and publishes each.
func (b *bundle) publish(n int) {
	for range n {
		b.hub.Publish(league, b.log.commit(arena.Event{Body: json.RawMessage(`{"message":"hm"}`)}))
	}
}

// peer is one WebSocket of a test.
type peer struct {
	t *testing.T
	*websocket.Conn
}

func (b *bundle) try(t *testing.T, query string, header http.Header) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	return websocket.Dial(t.Context(), b.server.URL+"/v1/stream"+query,
		&websocket.DialOptions{HTTPHeader: header, HTTPClient: b.server.Client()})
}

func (b *bundle) dial(t *testing.T, query string, header http.Header) *peer {
	t.Helper()
	c, _, err := b.try(t, query, header)
	if err != nil {
		t.Fatalf("dial %s: %v", query, err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return &peer{t, c}
}

// agent dials with a token in the header and reads the greeting.
func (b *bundle) agent(t *testing.T, token string) *peer {
	t.Helper()
	p := b.dial(t, "", http.Header{"Authorization": {"Bearer " + token}})
	if got := p.next(); got.Type != "ready" {
		t.Fatalf("first message %+v, want ready", got)
	}
	return p
}

// received is the common part of everything that the server writes.
type received struct {
	Type    string     `json:"type"`
	Topic   string     `json:"topic"`
	Seq     int64      `json:"seq"`
	Epoch   string     `json:"epoch"`
	Resync  bool       `json:"resync"`
	Count   int        `json:"count"`
	Code    arena.Code `json:"code"`
	No      int        `json:"no"`
	Round   int        `json:"round"`
	MatchID string     `json:"match_id"`
	Message string     `json:"message"`
	raw     string
}

func parse(t *testing.T, line string) received {
	t.Helper()
	r := received{raw: line}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("not JSON: %q: %v", line, err)
	}
	return r
}

func (p *peer) next() received {
	p.t.Helper()
	_, data, err := p.Read(p.t.Context())
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return parse(p.t, string(data))
}

func (p *peer) say(text string) {
	p.t.Helper()
	if err := p.Write(p.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

// until reads events with a seq up to the one given; viewers and hello are
// left out.
func (p *peer) until(seq int64) []received {
	p.t.Helper()
	var out []received
	for {
		_, data, err := p.Read(p.t.Context())
		if err != nil {
			p.t.Fatalf("read after %d events: %v", len(out), err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if r := parse(p.t, line); r.Type != "hello" && r.Type != "viewers" {
				if out = append(out, r); r.Seq == seq {
					return out
				}
			}
		}
	}
}

// rest reads to the close frame and gives its code and what came before.
func (p *peer) rest() (code int, out []received) {
	p.t.Helper()
	for {
		_, data, err := p.Read(p.t.Context())
		if err != nil {
			return int(websocket.CloseStatus(err)), out
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			out = append(out, parse(p.t, line))
		}
	}
}

// slice fails unless got is exactly the events first..last.
func slice(t *testing.T, got []received, first, last int64) {
	t.Helper()
	want := first
	for _, r := range got {
		if r.Seq != want {
			t.Fatalf("event %d where %d should stand", r.Seq, want)
		}
		want++
	}
	if want != last+1 {
		t.Fatalf("events end at %d, want %d", want-1, last)
	}
}

// eventually waits for a state that another goroutine brings about.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("waiting for %s: %v", what, t.Context().Err())
		}
	}
}

// sse is one event stream of a test.
type sse struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Scanner
	id   string
}

func (b *bundle) events(t *testing.T, query, lastID string) *sse {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.server.URL+"/v1/stream"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := b.server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &sse{t: t, resp: resp, in: bufio.NewScanner(resp.Body)}
}

// next returns the next event, or false at the end of the stream. Its id stays
// in s.id as in an EventSource.
func (s *sse) next() (received, bool) {
	s.t.Helper()
	for s.in.Scan() {
		if id, ok := strings.CutPrefix(s.in.Text(), "id: "); ok {
			s.id = id
		}
		if data, ok := strings.CutPrefix(s.in.Text(), "data: "); ok {
			return parse(s.t, data), true
		}
	}
	return received{}, false
}

func (s *sse) until(seq int64) []received {
	s.t.Helper()
	var out []received
	for {
		r, ok := s.next()
		if !ok {
			s.t.Fatalf("stream ended after %d events: %v", len(out), s.in.Err())
		}
		if r.Type != "hello" && r.Type != "viewers" {
			if out = append(out, r); r.Seq == seq {
				return out
			}
		}
	}
}
