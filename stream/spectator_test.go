package stream

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	arenaquota "github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

// Threat V4.
func TestSpectator_Since(t *testing.T) {
	t.Parallel()
	const head = 1234 // several pages
	tests := []struct {
		name   string
		query  string
		first  int64 // first event that must come
		resync bool
	}{
		{"none", "", head + 1, false},
		{"zero", "&since=0", 1, false},
		{"middle", "&since=700", 701, false},
		{"before_head", "&since=1233", 1234, false},
		{"head", "&since=1234", 1235, false},
		{"ahead", "&since=1235", 1235, true},
		{"far_ahead", "&since=9223372036854775807", 1235, true},
	}
	for _, batch := range []string{"", "&batch=1"} {
		for _, tt := range tests {
			t.Run(tt.name+batch, func(t *testing.T) {
				t.Parallel()
				b := start(t)
				b.log.AddMatch("m_1", arena.VisibilityLive)
				b.publish(head)
				p := b.Dial(t, "?match=m_1"+tt.query+batch, nil)
				hello := p.Next()
				want := streamtest.Received{Type: "hello", Topic: "match:m_1", Seq: head, Epoch: b.hub.epoch, Resync: tt.resync, Raw: hello.Raw}
				if diff := cmp.Diff(want, hello, cmp.AllowUnexported(streamtest.Received{})); diff != "" {
					t.Errorf("hello (-want +got):\n%s", diff)
				}
				b.publish(10)
				streamtest.WantSeqs(t, p.Until(head+10), tt.first, head+10)
			})
		}
	}
}

func TestSpectator_Refused(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	socket := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	events := http.Header{"Accept": {"text/html;q=0.1, Text/Event-Stream"}}
	tests := []struct {
		name, method, query string
		header              http.Header
		status              int
		code                arena.Code
	}{
		{"two_topics", "GET", "?match=m_1&lobby=1", socket, 400, arena.CodeMalformed},
		{"one_topic_twice", "GET", "?match=m_1&match=m_2", socket, 400, arena.CodeMalformed},
		{"no_topic", "GET", "", events, 400, arena.CodeMalformed},
		{"since_negative", "GET", "?match=m_1&since=-1", socket, 400, arena.CodeMalformed},
		{"since_words", "GET", "?match=m_1&since=yesterday", socket, 400, arena.CodeMalformed},
		{"since_broken", "GET", "?match=m_1&since=%zz", events, 400, arena.CodeMalformed},
		{"since_twice", "GET", "?match=m_1&since=0&since=3", socket, 400, arena.CodeMalformed},
		{"since_empty", "GET", "?match=m_1&since=", events, 400, arena.CodeMalformed},
		{"since_too_big", "GET", "?match=m_1&since=9223372036854775808", socket, 400, arena.CodeMalformed},
		{"since_of_a_league", "GET", "?league=trivia&since=1", socket, 400, arena.CodeMalformed},
		{"batch_words", "GET", "?match=m_1&batch=yes", socket, 400, arena.CodeMalformed},
		{"lobby_words", "GET", "?lobby=yes", socket, 400, arena.CodeMalformed},
		{"unknown_match", "GET", "?match=m_2", socket, 404, arena.CodeNotFound},
		{"unknown_match_events", "GET", "?match=m_2", events, 404, arena.CodeNotFound},
		{"unknown_league", "GET", "?league=chess", socket, 404, arena.CodeNotFound},
		{"endless_match", "GET", "?match=" + strings.Repeat("m", 1000), socket, 404, arena.CodeNotFound},
		{"plain", "GET", "?match=m_1", nil, 426, arena.CodeMalformed},
		{"method", "PUT", "?match=m_1", nil, 405, arena.CodeNoMethod},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			streamtest.WantProblem(t, b.Request(t, tt.method, tt.query, tt.header, ""), tt.status, tt.code)
		})
	}
}

// A match that ends closes its spectators after the last event; so does one
// that is over when they come.
func TestSpectator_Match_over(t *testing.T) {
	t.Parallel()
	for _, typ := range []arena.EventType{arena.EventMatchFinished, arena.EventMatchVoid} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.log.AddMatch("m_1", arena.VisibilityLive)
			b.publish(3)
			live := b.Dial(t, "?match=m_1", nil)
			live.Next()
			stream := b.Events(t, "?match=m_1&since=0", "")
			stream.Next()
			b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Type: typ}))
			code, got := live.Rest()
			if code != 1000 || len(got) == 0 || got[len(got)-1].Type != string(typ) {
				t.Errorf("live: closed with %d after %+v", code, got)
			}
			streamtest.WantSeqs(t, stream.Until(4), 1, 4)
			if r, more := stream.Next(); more {
				t.Errorf("event stream continues with %s", r.Raw)
			}
			for query, first := range map[string]int64{"": 5, "&since=0": 1, "&since=3": 4, "&since=4": 5, "&since=9": 5} {
				code, got := b.Dial(t, "?match=m_1"+query, nil).Rest()
				if code != 1000 || got[0].Type != "hello" || got[0].Resync != (query == "&since=9") {
					t.Errorf("%s: closed with %d after %+v", query, code, got)
				}
				streamtest.WantSeqs(t, got[1:], first, 4)
			}
			// 204 stops an EventSource from reconnecting.
			if s := b.Events(t, "?match=m_1", stream.ID); s.Response.StatusCode != http.StatusNoContent {
				t.Errorf("coming back to an ended match: %d, want 204", s.Response.StatusCode)
			}
			if s := b.Events(t, "?match=m_1", "9"); s.Response.StatusCode != http.StatusOK {
				t.Errorf("coming back from the future: %d, want a resync", s.Response.StatusCode)
			}
		})
	}
}

func TestSpectator_SSE(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.sweep, s.clients.Timing.Comment = time.Millisecond, time.Millisecond })
	b.log.AddMatch("m_1", arena.VisibilityLive)
	b.publish(5)
	s := b.Events(t, "?match=m_1&since=2", "")
	if got := s.Response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	if hello, _ := s.Next(); hello.Type != "hello" || hello.Seq != 5 || s.ID != "2" {
		t.Errorf("first event %+v with id %s", hello, s.ID)
	}
	streamtest.WantSeqs(t, s.Until(5), 3, 5)
	if s.ID != "5" {
		t.Errorf("id %s, want 5", s.ID)
	}
	// A comment comes while nothing happens.
	for s.Lines.Scan() && s.Lines.Text() != ":" {
	}
	if s.Lines.Text() != ":" {
		t.Fatalf("no comment: %v", s.Lines.Err())
	}
	b.publish(3)
	// The header is newer than the since of the address.
	again := b.Events(t, "?match=m_1&since=2", "6")
	streamtest.WantSeqs(t, again.Until(8), 7, 8)
	// A topic without a log gives no ids that one could come back to.
	wide := b.Events(t, "?league=trivia", "")
	wide.Next()
	b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Type: arena.EventRoundClosed}))
	if r, _ := wide.Next(); r.Type != "round_closed" || wide.ID != "" {
		t.Errorf("league got %+v with id %q", r, wide.ID)
	}
}

// Threat V2.
func TestSpectator_Caps(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.parts.Addresses, s.clients.Max = arenaquota.NewSlots(2, "too many"), 5 })
	from := func(a string) http.Header { return http.Header{"X-Test-Address": {a}} }
	for _, a := range []string{"a", "a", "b", "b"} {
		b.Dial(t, "?lobby=1", from(a))
	}
	_, resp, err := b.Try(t, "?lobby=1", from("a"))
	if err == nil {
		t.Fatal("a third socket of one address was let in")
	}
	streamtest.WantProblem(t, resp, 429, arena.CodeRateLimited)
	fifth := b.Dial(t, "?lobby=1", from("c"))
	_, resp, err = b.Try(t, "?lobby=1", from("d"))
	if err == nil {
		t.Fatal("a sixth socket was let in")
	}
	streamtest.WantProblem(t, resp, 503, arena.CodeUnavailable)
	_ = fifth.Close(1000, "")
	testwait.Until(t, "a place", func() bool { return b.hub.Stats().Open["spectator"] == 4 })
	b.Dial(t, "?lobby=1", from("d"))
}

// The stream of a match is public, whatever credential a client sends with its
// requests, even an owner's or an admin's.
func TestSpectator_Credentials(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	for _, credential := range []string{"Bearer owner_secret", "Bearer wrong", "Bearer ", "Basic dXNlcjpwYXNz"} {
		if got := b.Dial(t, "?match=m_1", http.Header{"Authorization": {credential}}).Next(); got.Type != "hello" {
			t.Errorf("%s gets %s", credential, got.Raw)
		}
	}
}

// An agent that begins with auth at the stream of a match is a spectator there:
// it learns at once that its events would be dropped.
func TestSpectator_Auth(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	p := b.Dial(t, "?match=m_1", nil)
	p.Next()
	p.Send(`{"token":"` + strings.Repeat("x", 1000) + `.x.x","type":"auth"}`)
	var err error
	for err == nil { // a number of viewers may arrive first
		_, _, err = p.Read(t.Context())
	}
	if !strings.Contains(err.Error(), "4400") || !strings.Contains(err.Error(), "without match=") {
		t.Errorf("the socket ends with %v", err)
	}
}

// Messages of a spectator are ignored, and too many close its socket.
func TestSpectator_Talks(t *testing.T) {
	t.Parallel()
	b := start(t)
	p := b.Dial(t, "?lobby=1", nil)
	p.Next()
	for range spectatorBurst {
		p.Send("hello")
	}
	b.hub.PublishAgent(nil, arena.Event{AgentID: "ag_1", Type: arena.EventAgentPaused})
	if got := p.Next(); got.Type != "agent_paused" {
		t.Fatalf("got %s", got.Raw)
	}
	for b.hub.Stats().Closes[ws.CloseBadRequest] == 0 {
		if p.Write(t.Context(), 1, []byte("hello")) != nil {
			break
		}
	}
	if code, _ := p.Rest(); code != ws.CloseBadRequest {
		t.Errorf("closed with %d, want %d", code, ws.CloseBadRequest)
	}
	loud := b.Dial(t, "?lobby=1", nil)
	loud.Send(strings.Repeat("x", spectatorMessage+1))
	if code, _ := loud.Rest(); code != ws.CloseTooBig {
		t.Errorf("closed with %d, want %d", code, ws.CloseTooBig)
	}
}

// Threat E10: a peer that upgrades and is silent from then on: it never answers a ping.
func TestSpectator_Half_open(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) {
		s.timing.sweep, s.clients.Timing.Ping, s.clients.Timing.Pong = time.Millisecond, 20*time.Millisecond, 20*time.Millisecond
	})
	dial := func(text string) net.Conn {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", b.HTTP.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const request = "GET /v1/stream?lobby=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	c := dial(request + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", resp.StatusCode)
	}
	testwait.Until(t, "the silent peer to be let go", func() bool { return b.hub.Stats().Closes[ws.CloseSlow] == 1 })
	_ = c.Close()
	testwait.Until(t, "its place to be free", func() bool { return b.hub.Stats().Open["spectator"] == 0 })
}

// A peer that answers pings stays, and its first frame may come with the
// request itself.
func TestSpectator_Pings(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.sweep, s.clients.Timing.Ping = time.Millisecond, time.Millisecond })
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", b.HTTP.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	const ping = "\x89\x82\x00\x00\x00\x00hi" // masked with zeros
	_, err = io.WriteString(c, "GET /v1/stream?lobby=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"+ping)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(c)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	var pongs, pings int
	for pongs < 1 || pings < 3 {
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			t.Fatal(err)
		}
		body := make([]byte, head[1])
		if _, err := io.ReadFull(in, body); err != nil {
			t.Fatal(err)
		}
		switch head[0] {
		case 0x89:
			pings++
			if _, err := io.WriteString(c, "\x8a\x80\x00\x00\x00\x00"); err != nil {
				t.Fatal(err)
			}
		case 0x8a:
			if pongs++; string(body) != "hi" {
				t.Fatalf("pong %q", body)
			}
		}
	}
	_ = c.Close()
	testwait.Until(t, "its end", func() bool { return b.hub.Stats().Open["spectator"] == 0 })
}
