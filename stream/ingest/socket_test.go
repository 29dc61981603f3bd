package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/quota"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
	"github.com/agora-arena/arena/visibility/seal"
)

// match makes a match of two agents and a token for each.
func (b *bundle) match(v arena.Visibility) (first, second string) {
	b.log.AddMatch("m_1", v, "ag_1", "ag_2")
	return b.Token("m_1", "ag_1", 1, time.Hour), b.Token("m_1", "ag_2", 1, time.Hour)
}

func TestAgent_Events(t *testing.T) {
	t.Parallel()
	b := start(t)
	token, _ := b.match(arena.VisibilityLive)
	watcher := b.Dial(t, "?match=m_1", nil)
	watcher.Next()
	p := b.Agent(t, token)
	sent := []struct{ message, body string }{
		{`{"type":"thinking","message":"Analyzing <b>problem</b>"}`, `{"message":"Analyzing <b>problem</b>"}`},
		{`{"type":"spawn_subagent","name":"Analyzer","role":"analysis","seq":7,"ts":"now"}`, `{"name":"Analyzer","role":"analysis"}`},
		{"{\"type\":\"tool_call\",\"tool\":\"python\",\"args\":{\"a\" :\n[1, 2.50, null]}}", `{"tool":"python","args":{"a":[1,2.50,null]}}`},
		{`{"type":"tool_response","result":null,"duration_ms":800.5}`, `{"result":null,"duration_ms":800.5}`},
		{`{"type":"subagent_done","name":"Analyzer","duration_ms":1200,"match_id":"m_1","agent_id":"ag_1"}`, `{"name":"Analyzer","duration_ms":1200}`},
		{`{"type":"intermediate_result","data":[true]}`, `{"data":[true]}`},
		{`{"type":"answer","final":true,"value":"Canberra","message":5}`, `{"final":true,"value":"Canberra"}`},
		{`{"type":"answer","value":42.5}`, `{"value":42.5}`},
		{`{"type":"answer","value":{"a":[1, true]}}`, `{"value":{"a":[1,true]}}`},
		{`{"type":"answer","value":false,"final":false}`, `{"final":false,"value":false}`},
		{`{"type":"error","message":null,"fatal":false}`, `{"fatal":false}`},
		{`{"type":"thinking"}`, `{}`},
	}
	for _, s := range sent {
		p.Send(s.message)
	}
	got := watcher.Until(int64(len(sent)))
	for i, row := range b.log.Rows("m_1") {
		if row.AgentID != "ag_1" || string(row.Body) != sent[i].body || row.Hidden != nil {
			t.Errorf("%s is stored as %s %s", sent[i].message, row.AgentID, row.Body)
		}
		if got[i].Raw != string(row.AppendJSON(nil)) {
			t.Errorf("a spectator reads %s, the log says %s", got[i].Raw, row.AppendJSON(nil))
		}
	}
}

// Threat F1: no byte of a hidden part reaches anyone before the reveal.
func TestAgent_Sealed(t *testing.T) {
	t.Parallel()
	b := start(t)
	token, _ := b.match(arena.VisibilitySealed)
	p := b.Agent(t, token)
	p.Send(`{"type":"thinking","message":"SECRET"}`)
	p.Send(`{"type":"tool_call","tool":"python","args":{"SECRET":"SECRET"}}`)
	p.Send(`{"type":"answer","final":true,"value":"SECRET"}`)
	live := b.Dial(t, "?match=m_1&since=0", nil)
	live.Next()
	batch := b.Dial(t, "?match=m_1&since=0&batch=1", nil)
	events := b.Events(t, "?match=m_1&since=0", "")
	got := append(append(live.Until(3), batch.Until(3)...), events.Until(3)...)
	for _, r := range got {
		if strings.Contains(r.Raw, "SECRET") || !strings.Contains(r.Raw, `"commitment":"`) {
			t.Errorf("a spectator reads %s", r.Raw)
		}
	}
	for _, row := range b.log.Rows("m_1") {
		var body struct{ Commitment string }
		if err := json.Unmarshal(row.Body, &body); err != nil {
			t.Fatal(err)
		}
		if err := seal.Verify(row.Hidden, body.Commitment); err != nil || !strings.Contains(string(row.Hidden), "SECRET") {
			t.Errorf("hidden part %s: %v", row.Hidden, err)
		}
	}
}

// Threat E6.
func TestAgent_Token(t *testing.T) {
	t.Parallel()
	b := start(t)
	token, _ := b.match(arena.VisibilityLive)
	seatless := b.Token("m_1", "ag_3", 1, time.Hour)
	nowhere := b.Token("m_2", "ag_1", 1, time.Hour)
	old := b.Token("m_1", "ag_1", 1, -time.Second)
	tests := []struct{ name, query, header string }{
		{"unknown", "", "Bearer nonsense"},
		{"no_bearer", "", "Basic abc"},
		{"empty", "", "Bearer "},
		{"another_scheme", "", "Basic " + token},
		{"no_scheme", "", token},
		{"unknown_with_match", "?match=m_1", "Bearer non.sen.se"},
		{"other_match", "?match=m_7", "Bearer " + token},
		{"no_seat", "", "Bearer " + seatless},
		{"no_match", "", "Bearer " + nowhere},
		{"expired", "", "Bearer " + old},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, resp, err := b.Try(t, tt.query, http.Header{"Authorization": {tt.header}})
			if err == nil {
				t.Fatal("let in")
			}
			streamtest.WantProblem(t, resp, 401, arena.CodeUnauthorized)
		})
	}
	messages := []struct {
		name, message string
		code          int
	}{
		{"message_unknown", `{"type":"auth","token":"nonsense"}`, ws.CloseToken},
		{"message_expired", `{"type":"auth","token":"` + old + `"}`, ws.CloseToken},
		{"message_no_seat", `{"type":"auth","token":"` + seatless + `"}`, ws.CloseToken},
		{"message_none", `{"type":"auth"}`, ws.CloseToken},
		{"message_event", `{"type":"thinking"}`, ws.CloseToken},
		{"message_number", `{"type":"auth","token":1}`, ws.CloseBadRequest},
		{"message_no_json", `auth`, ws.CloseBadRequest},
	}
	for _, tt := range messages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := b.Dial(t, "", nil)
			p.Send(tt.message)
			code, got := p.Rest()
			if code != tt.code || len(got) != 1 || got[0].Type != "error" {
				t.Errorf("closed with %d after %+v, want %d", code, got, tt.code)
			}
		})
	}
	t.Run("message_good", func(t *testing.T) {
		t.Parallel()
		p := b.Dial(t, "", nil)
		p.Send(`{"type":"auth","token":"` + token + `"}`)
		if got := p.Next(); got.Type != "ready" || got.MatchID != "m_1" || got.Round != 1 {
			t.Errorf("answer %s", got.Raw)
		}
		p.Send(`{"type":"thinking","message":"here"}`)
		testwait.Until(t, "the event", func() bool { return len(b.log.Rows("m_1")) == 1 })
	})
	t.Run("with_its_own_match", func(t *testing.T) {
		t.Parallel()
		other := b.Token("m_1", "ag_2", 4, time.Hour)
		p := b.Dial(t, "?match=m_1", http.Header{"Authorization": {"bearer " + other}})
		if got := p.Next(); got.Type != "ready" || got.Round != 4 {
			t.Errorf("answer %s", got.Raw)
		}
	})
	t.Run("of_the_whole_match", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		b.match(arena.VisibilityLive)
		p := b.Dial(t, "", http.Header{"Authorization": {"Bearer " + b.Token("m_1", "ag_1", 0, time.Hour)}})
		if got := p.Next(); got.Type != "ready" || !strings.Contains(got.Raw, `"agent_id":"ag_1"`) || strings.Contains(got.Raw, "round") {
			t.Errorf("answer %s", got.Raw)
		}
		p.Send(`{"type":"thinking","message":"here"}`)
		testwait.Until(t, "the event", func() bool { return len(b.log.Rows("m_1")) == 1 })
	})
}

func TestAgent_No_auth_in_time(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.auth = time.Hour })
	p := b.Dial(t, "", nil)
	b.clients.Check(time.Now().Add(59 * time.Minute)) // does not end it
	if n := b.clients.Open()["agent"]; n != 1 {
		t.Errorf("%d agents are connected, want 1", n)
	}
	b.clients.Check(time.Now().Add(time.Hour))
	if code, _ := p.Rest(); code != ws.CloseToken {
		t.Errorf("closed with %d, want %d", code, ws.CloseToken)
	}
}

// clock is the wall clock and an offset that the test moves.
type clock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now runs with the wall clock, as socket deadlines need it.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.offset)
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}

// Threat E8: the token runs out on an open socket; a newer one extends it.
func TestAgent_Expiry(t *testing.T) {
	t.Parallel()
	var c clock
	b := start(t, func(s *settings) { s.now = c.Now })
	b.match(arena.VisibilityLive)
	p := b.Agent(t, b.Token("m_1", "ag_1", 1, time.Hour))
	q := b.Agent(t, b.Token("m_1", "ag_2", 1, time.Hour))
	p.Send(`{"type":"auth","token":"nonsense"}`)
	if got := p.Next(); got.Code != arena.CodeUnauthorized {
		t.Errorf("a bad newer token is answered with %s", got.Raw)
	}
	p.Send(`{"type":"auth","token":"` + b.Token("m_1", "ag_1", 2, 3*time.Hour) + `"}`)
	if got := p.Next(); got.Type != "ready" || got.Round != 2 {
		t.Errorf("a newer token is answered with %s", got.Raw)
	}
	p.Send(`{"type":"auth","token":"` + b.Token("m_1", "ag_1", 1, 2*time.Hour) + `"}`)
	p.Next() // an older one takes nothing away
	c.move(150 * time.Minute)
	b.clients.Check(c.Now())
	if code, _ := q.Rest(); code != ws.CloseToken {
		t.Errorf("closed with %d, want %d", code, ws.CloseToken)
	}
	p.Send(`{"type":"thinking","message":"still here"}`)
	testwait.Until(t, "the event", func() bool { return len(b.log.Rows("m_1")) == 1 })
	c.move(time.Hour)
	b.clients.Check(c.Now())
	if code, _ := p.Rest(); code != ws.CloseToken {
		t.Errorf("closed with %d, want %d", code, ws.CloseToken)
	}
}

// Threat E1.
func TestAgent_Forged(t *testing.T) {
	t.Parallel()
	b := start(t)
	token, other := b.match(arena.VisibilityLive)
	p := b.Agent(t, token)
	p.Send(`{"type":"thinking","agent_id":"ag_2"}`)
	p.Send(`{"type":"auth","token":"` + other + `"}`) // the same thing
	p.Send(`{"type":"thinking","message":"mine"}`)
	p.Send(`{"type":"thinking","match_id":"m_2"}`)
	p.Send(`{"type":"thinking","message":"too late"}`)
	code, got := p.Rest()
	var codes []arena.Code
	for _, r := range got {
		codes = append(codes, r.Code)
	}
	want := []arena.Code{arena.CodeForgedIdentity, arena.CodeForgedIdentity, arena.CodeForgedIdentity}
	if diff := cmp.Diff(want, codes); diff != "" || code != ws.CloseForged {
		t.Errorf("closed with %d after (-want +got):\n%s", code, diff)
	}
	if rows := b.log.Rows("m_1"); len(rows) != 1 || string(rows[0].Body) != `{"message":"mine"}` {
		t.Errorf("stored %v", rows)
	}
}

// Threat E9.
func TestAgent_Newest_wins(t *testing.T) {
	t.Parallel()
	b := start(t)
	token, _ := b.match(arena.VisibilityLive)
	old := b.Agent(t, token)
	for range connectBurst - 1 {
		next := b.Agent(t, token)
		if code, _ := old.Rest(); code != ws.CloseReplaced {
			t.Fatalf("closed with %d, want %d", code, ws.CloseReplaced)
		}
		old = next
	}
	for range 200 {
		p, resp, err := b.Try(t, "", http.Header{"Authorization": {"Bearer " + token}})
		if err != nil {
			streamtest.WantProblem(t, resp, 429, arena.CodeRateLimited)
			return
		}
		_ = p.CloseNow()
	}
	t.Error("a storm of connections was let in")
}

// Threat E5: the log decides what is open; the socket stays.
func TestAgent_Round_closed(t *testing.T) {
	t.Parallel()
	b := start(t)
	token, _ := b.match(arena.VisibilityLive)
	b.log.SetRoundOpen("m_1", false)
	p := b.Agent(t, token)
	p.Send(`{"type":"thinking"}`)
	if got := p.Next(); got.Code != arena.CodeRoundClosed || got.No != 1 {
		t.Errorf("answer %s", got.Raw)
	}
	b.log.SetRoundOpen("m_1", true)
	p.Send(`{"type":"thinking"}`)
	testwait.Until(t, "the event", func() bool { return len(b.log.Rows("m_1")) == 1 })
	if got := b.seats.Stats(); got.Accepted != 1 || got.Refused[arena.CodeRoundClosed] != 1 {
		t.Errorf("stats %+v", got)
	}
}

// Events that were read before the close frame are appended, even if the log is
// busy when it arrives.
func TestAgent_Close_appends(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AppendGate = make(chan struct{})
	const sockets, each = 10, 20
	for i := range sockets { // which of two things a goroutine sees first is chance
		match := fmt.Sprintf("m_%d", i)
		b.log.AddMatch(match, arena.VisibilityLive, "ag_1")
		p := b.Agent(t, b.Token(match, "ag_1", 1, time.Hour))
		p.Send(`{"type":"thinking"}`)
		testwait.Until(t, "the first append", func() bool { return b.log.Appends() == int64(i+1) })
		for range each - 1 {
			p.Send(`{"type":"thinking"}`)
		}
		if err := p.Close(1000, ""); err != nil { // the other side has read everything
			t.Fatal(err)
		}
	}
	close(b.log.AppendGate)
	testwait.Until(t, "the end", func() bool { return b.hub.Stats().Open["agent"] == 0 })
	for i := range sockets {
		if rows := b.log.Rows(fmt.Sprintf("m_%d", i)); len(rows) != each {
			t.Errorf("socket %d: %d rows, want %d", i, len(rows), each)
		}
	}
}

// Events of one socket keep their order.
func TestAgent_Order(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.limits.Burst = 2000 })
	token, _ := b.match(arena.VisibilityLive)
	p := b.Agent(t, token)
	const n = 1000
	for i := range n {
		p.Send(fmt.Sprintf(`{"type":"intermediate_result","data":%d}`, i))
	}
	_ = p.Close(1000, "")
	testwait.Until(t, "the end", func() bool { return b.hub.Stats().Open["agent"] == 0 })
	rows := b.log.Rows("m_1")
	for i, row := range rows {
		if string(row.Body) != fmt.Sprintf(`{"data":%d}`, i) {
			t.Fatalf("row %d is %s", i, row.Body)
		}
	}
	if len(rows) != n {
		t.Errorf("%d rows, want %d", len(rows), n)
	}
}

// One limit holds for all that an address opens: sockets, event streams, and
// sockets of agents that have not authenticated. Closing one frees its slot.
// Threat V2.
func TestAgent_Caps_together(t *testing.T) {
	t.Parallel()
	slots := quota.NewSlots(2, "too many")
	b := start(t, func(s *settings) { s.addresses, s.timing.auth = slots, time.Hour })
	header := http.Header{"X-Test-Address": {"a"}}
	var open []func() error
	enter := func(kind string) (refused *http.Response) {
		t.Helper()
		if kind == "events" {
			resp := b.Request(t, "GET", "?lobby=1", http.Header{"X-Test-Address": {"a"}, "Accept": {"text/event-stream"}}, "")
			if resp.StatusCode != http.StatusOK {
				return resp
			}
			open = append(open, resp.Body.Close)
			return nil
		}
		query := map[string]string{"spectator": "?lobby=1", "agent": ""}[kind]
		c, resp, err := b.Try(t, query, header)
		if err != nil {
			return resp
		}
		open = append(open, c.CloseNow)
		return nil
	}
	for _, kinds := range [][2]string{{"spectator", "events"}, {"events", "agent"}, {"agent", "spectator"}} {
		for _, kind := range kinds {
			if resp := enter(kind); resp != nil {
				t.Fatalf("%v: %s is refused with %d", kinds, kind, resp.StatusCode)
			}
		}
		for _, kind := range []string{"spectator", "events", "agent"} {
			resp := enter(kind)
			if resp == nil {
				t.Fatalf("%v are open, and a third, %s, was let in", kinds, kind)
			}
			streamtest.WantProblem(t, resp, 429, arena.CodeRateLimited)
		}
		for _, leave := range open {
			_ = leave()
		}
		open = nil
		testwait.Until(t, "free slots", func() bool { return streamtest.Free(slots, 2, "a") })
	}
}
