package streamtest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/agora-arena/arena/arena"
)

// Received has the common fields of all messages of the server.
type Received struct {
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
	Raw     string     `json:"-"`
}

// Parse decodes one message.
func Parse(t *testing.T, line string) Received {
	t.Helper()
	r := Received{Raw: line}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("not JSON: %q: %v", line, err)
	}
	return r
}

// WantSeqs fails the test unless got is exactly the events first to last.
func WantSeqs(t *testing.T, got []Received, first, last int64) {
	t.Helper()
	want := first
	for _, r := range got {
		if r.Seq != want {
			t.Fatalf("event %d, want %d", r.Seq, want)
		}
		want++
	}
	if want != last+1 {
		t.Fatalf("events end at %d, want %d", want-1, last)
	}
}

// Peer is one WebSocket of a test.
type Peer struct {
	t *testing.T
	*websocket.Conn
}

// Next reads one message.
func (p *Peer) Next() Received {
	p.t.Helper()
	_, data, err := p.Read(p.t.Context())
	if err != nil {
		p.t.Fatalf("read: %v", err)
	}
	return Parse(p.t, string(data))
}

// Send sends a text message.
func (p *Peer) Send(text string) { p.t.Helper(); p.send(websocket.MessageText, text) }

// SendBinary sends a binary message.
func (p *Peer) SendBinary(data string) { p.t.Helper(); p.send(websocket.MessageBinary, data) }

func (p *Peer) send(kind websocket.MessageType, data string) {
	p.t.Helper()
	if err := p.Write(p.t.Context(), kind, []byte(data)); err != nil {
		p.t.Fatalf("write: %v", err)
	}
}

// Until reads events up to the one with a seq. It leaves out viewers and hello.
func (p *Peer) Until(seq int64) []Received {
	p.t.Helper()
	var out []Received
	for {
		_, data, err := p.Read(p.t.Context())
		if err != nil {
			p.t.Fatalf("read after %d events: %v", len(out), err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if r := Parse(p.t, line); r.Type != "hello" && r.Type != "viewers" {
				if out = append(out, r); r.Seq == seq {
					return out
				}
			}
		}
	}
}

// UntilHead reads hello and the events up to the position that it names.
func (p *Peer) UntilHead() []Received {
	p.t.Helper()
	return p.Until(p.Next().Seq)
}

// Rest reads to the close frame. It returns its code and all messages before it.
func (p *Peer) Rest() (code int, out []Received) {
	p.t.Helper()
	for {
		_, data, err := p.Read(p.t.Context())
		if err != nil {
			return int(websocket.CloseStatus(err)), out
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			out = append(out, Parse(p.t, line))
		}
	}
}

// EventStream is one stream of server-sent events of a test.
type EventStream struct {
	Response *http.Response
	Lines    *bufio.Scanner
	ID       string // of the last event that had one

	t *testing.T
}

// Events requests server-sent events.
func (s *Server) Events(t *testing.T, query, lastID string) *EventStream {
	t.Helper()
	header := http.Header{"Accept": {"text/event-stream"}}
	if lastID != "" {
		header.Set("Last-Event-ID", lastID)
	}
	resp := s.Request(t, http.MethodGet, query, header, "") //nolint:bodyclose // Request closes it at the end of the test
	return &EventStream{t: t, Response: resp, Lines: bufio.NewScanner(resp.Body)}
}

// Next returns the next event, or false at the end of the stream.
func (s *EventStream) Next() (Received, bool) {
	s.t.Helper()
	for s.Lines.Scan() {
		if id, ok := strings.CutPrefix(s.Lines.Text(), "id: "); ok {
			s.ID = id
		}
		if data, ok := strings.CutPrefix(s.Lines.Text(), "data: "); ok {
			return Parse(s.t, data), true
		}
	}
	return Received{}, false
}

// Until reads events up to the one with a seq. It leaves out viewers and hello.
func (s *EventStream) Until(seq int64) []Received {
	s.t.Helper()
	var out []Received
	for {
		r, ok := s.Next()
		if !ok {
			s.t.Fatalf("the stream ended after %d events: %v", len(out), s.Lines.Err())
		}
		if r.Type != "hello" && r.Type != "viewers" {
			if out = append(out, r); r.Seq == seq {
				return out
			}
		}
	}
}
