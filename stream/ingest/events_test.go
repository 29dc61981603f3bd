package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

func TestAgent_Refused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, message string
		code          arena.Code
	}{
		{"no_json", `thinking`, arena.CodeEventRefused},
		{"no_object", `[]`, arena.CodeEventRefused},
		{"null", `null`, arena.CodeEventRefused},
		{"two_objects", `{"type":"thinking"} {"type":"thinking"}`, arena.CodeEventRefused},
		{"double_member", `{"type":"thinking","message":"a","message":"b"}`, arena.CodeEventRefused},
		{"case_alias", `{"type":"thinking","Message":"a"}`, arena.CodeEventRefused},
		{"invalid_utf8", "{\"type\":\"thinking\",\"message\":\"\xff\"}", arena.CodeEventRefused}, // threat E4
		{"lone_surrogate", `{"type":"thinking","message":"\ud800"}`, arena.CodeEventRefused},
		{"deep", `{"type":"tool_call","args":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, arena.CodeEventRefused},
		{"no_type", `{"message":"a"}`, arena.CodeEventRefused},
		{"type_number", `{"type":5}`, arena.CodeEventRefused},
		{"arena_type", `{"type":"round_closed"}`, arena.CodeEventRefused},
		{"unknown_type", `{"type":"dance"}`, arena.CodeEventRefused},
		{"text_number", `{"type":"thinking","message":5}`, arena.CodeEventRefused},
		{"number_text", `{"type":"tool_response","duration_ms":"5"}`, arena.CodeEventRefused},
		{"number_endless", `{"type":"tool_response","duration_ms":1e400}`, arena.CodeEventRefused},
		{"flag_text", `{"type":"answer","final":"true"}`, arena.CodeEventRefused},
		{"same_name", `{"type":"tool_call","args":{"a":1,"a\u0000":2}}`, arena.CodeEventRefused},
		{"flag_number", `{"type":"error","fatal":1}`, arena.CodeEventRefused},
		{"other_match", `{"type":"thinking","match_id":"m_2"}`, arena.CodeForgedIdentity},
		{"other_agent", `{"type":"thinking","agent_id":"ag_2"}`, arena.CodeForgedIdentity},
		{"agent_number", `{"type":"thinking","agent_id":1}`, arena.CodeForgedIdentity},
	}
	b := start(t)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			match := fmt.Sprintf("m_%d", 10+i)
			b.log.AddMatch(match, arena.VisibilityLive, "ag_1")
			p := b.Agent(t, b.Token(match, "ag_1", 1, time.Hour))
			p.Send(tt.message)
			p.Send(`{"type":"thinking","message":"fine"}`)
			got := p.Next()
			if got.Type != "error" || got.Code != tt.code || got.No != 1 || got.Message == "" {
				t.Errorf("answer %s, want code %s", got.Raw, tt.code)
			}
			testwait.Until(t, "the good event", func() bool { return len(b.log.Rows(match)) == 1 })
			if row := b.log.Rows(match)[0]; string(row.Body) != `{"message":"fine"}` {
				t.Errorf("stored %s", row.Body)
			}
		})
	}
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		b.log.AddMatch("m_9", arena.VisibilityLive, "ag_1")
		p := b.Agent(t, b.Token("m_9", "ag_1", 1, time.Hour))
		p.SendBinary(`{"type":"thinking"}`)
		if got := p.Next(); got.Code != arena.CodeEventRefused {
			t.Errorf("answer %s", got.Raw)
		}
	})
}

// Threat E4.
func TestMessage_Clean(t *testing.T) {
	t.Parallel()
	tests := []struct{ raw, want string }{
		{`"plain \"text\" \\ \/ \n\t é 漢 😀"`, `"plain \"text\" \\ \/ \n\t é 漢 😀"`},
		{`"\u001b[31mred\u001b[0m"`, `"[31mred[0m"`},
		{`"a\u0000b\rc\bd\fe\u007ff` + "\x7f" + `g"`, `"abcdefg"`},
		{`"a\u0085b` + "\u009b" + `c"`, `"abc"`},
		{`"a\u202eb` + "\u202a\u202e\u2066\u2069" + `c\u2067"`, `"abc"`},
		{`"keep \u200d \u2028 \u00e9 <b>"`, `"keep ` + "\u200d" + ` \u2028 é <b>"`},
		{`{"k\u001bey":["\u0007",{"x":"\r"}],"n":1.50}`, `{"key":["",{"x":""}],"n":1.50}`},
	}
	for _, tt := range tests {
		got, err := cleanJSON(json.RawMessage(tt.raw))
		if err != nil || strings.TrimSpace(string(got)) != tt.want {
			t.Errorf("%s becomes %s, %v; want %s", tt.raw, got, err, tt.want)
		}
	}
}

// Threat E2: rate, total and size.
func TestAgent_Flood(t *testing.T) {
	t.Parallel()
	t.Run("rate", func(t *testing.T) {
		t.Parallel()
		b := start(t, func(s *settings) { s.limits.Rate, s.limits.Burst = 1e-9, 5 })
		token, _ := b.match(arena.VisibilityLive)
		p := b.Agent(t, token)
		for range 5 + 3*5 {
			p.Send(`{"type":"thinking"}`)
		}
		code, got := p.Rest()
		if code != ws.CloseTooMany || len(got) != 15 || got[0].Code != arena.CodeRateLimited || got[0].No != 6 {
			t.Errorf("closed with %d after %+v", code, got)
		}
		// The count is the seat's, not the socket's.
		again := b.Agent(t, token)
		again.Send(`{"type":"thinking"}`)
		if code, _ := again.Rest(); code != ws.CloseTooMany {
			t.Errorf("closed with %d", code)
		}
		if rows := b.log.Rows("m_1"); len(rows) != 5 {
			t.Errorf("%d events stored, want 5", len(rows))
		}
	})
	t.Run("total", func(t *testing.T) {
		t.Parallel()
		b := start(t, func(s *settings) { s.limits.Events = 3 })
		token, _ := b.match(arena.VisibilityLive)
		p := b.Agent(t, token)
		for range 4 {
			p.Send(`{"type":"thinking"}`)
		}
		if code, got := p.Rest(); code != ws.CloseTooMany || len(got) != 1 || got[0].No != 4 {
			t.Errorf("closed with %d after %+v", code, got)
		}
		_, resp, err := b.Try(t, "", http.Header{"Authorization": {"Bearer " + token}})
		if err == nil {
			t.Fatal("let in with nothing left to send")
		}
		streamtest.WantProblem(t, resp, 429, arena.CodeRateLimited)
		if rows := b.log.Rows("m_1"); len(rows) != 3 {
			t.Errorf("%d events stored, want 3", len(rows))
		}
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		b := start(t, func(s *settings) { s.limits.Burst = 1000 })
		token, _ := b.match(arena.VisibilityLive)
		p := b.Agent(t, token)
		big := `{"type":"thinking","message":"` + strings.Repeat("x", maxMessage-32) + `"}`
		for range maxSeatBytes/len(big) + 1 {
			p.Send(big)
		}
		if code, _ := p.Rest(); code != ws.CloseTooMany {
			t.Errorf("closed with %d", code)
		}
		if rows := b.log.Rows("m_1"); len(rows) != maxSeatBytes/len(big) {
			t.Errorf("%d events stored, want %d", len(rows), maxSeatBytes/len(big))
		}
	})
	for name, size := range map[string]int{"size": maxMessage + 1, "far_too_big": agentReadLimit / 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			token, _ := b.match(arena.VisibilityLive)
			p := b.Agent(t, token)
			p.Send(`{"type":"thinking","message":"` + strings.Repeat("x", size) + `"}`)
			if code, got := p.Rest(); code != ws.CloseTooBig || len(got) != 1 || got[0].Code != arena.CodeTooLarge {
				t.Errorf("closed with %d after %+v", code, got)
			}
		})
	}
}

func TestIngest_Post(t *testing.T) {
	t.Parallel()
	const ndjson = "application/x-ndjson; charset=utf-8"
	t.Run("lines", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		token, _ := b.match(arena.VisibilityLive)
		body := "{\"type\":\"thinking\",\"message\":\"a\"}\r\n\n{\"type\":\"dance\"}\n{\"type\":\"thinking\",\"message\":\"b\"}\n" +
			`{"type":"thinking","message":"` + strings.Repeat("x", maxMessage) + "\"}\n{\"type\":\"thinking\",\"message\":\"never read\"}"
		resp := b.Request(t, "POST", "", http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {ndjson}}, body)
		var got postReply
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || resp.StatusCode != 200 {
			t.Fatalf("status %d: %v", resp.StatusCode, err)
		}
		for i := range got.Errors {
			got.Errors[i].Message = ""
		}
		want := postReply{Accepted: 2, Errors: []lineError{{3, arena.CodeEventRefused, ""}, {5, arena.CodeTooLarge, ""}}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if rows := b.log.Rows("m_1"); len(rows) != 2 || string(rows[1].Body) != `{"message":"b"}` {
			t.Errorf("stored %v", rows)
		}
	})
	t.Run("round_closed", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		token, _ := b.match(arena.VisibilityLive)
		b.log.SetRoundOpen("m_1", false)
		resp := b.Request(t, "POST", "", http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {ndjson}}, "{\"type\":\"thinking\"}\n{\"type\":\"thinking\"}")
		var got postReply
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Accepted != 0 || len(got.Errors) != 2 || got.Errors[1].Code != arena.CodeRoundClosed {
			t.Errorf("answer %+v, %v", got, err)
		}
	})
	t.Run("shares_the_limits_of_the_socket", func(t *testing.T) {
		t.Parallel()
		b := start(t, func(s *settings) { s.limits.Events = 3 })
		token, _ := b.match(arena.VisibilityLive)
		p := b.Agent(t, token)
		p.Send(`{"type":"thinking"}`)
		testwait.Until(t, "the event", func() bool { return len(b.log.Rows("m_1")) == 1 })
		resp := b.Request(t, "POST", "", http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {ndjson}}, strings.Repeat("{\"type\":\"thinking\"}\n", 9))
		var got postReply
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Accepted != 2 || len(got.Errors) != 1 || got.Errors[0].Line != 3 {
			t.Errorf("answer %+v, %v", got, err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		b := start(t)
		token, _ := b.match(arena.VisibilityLive)
		good := "Bearer " + token
		tests := []struct {
			name, query, auth, kind, body string
			status                        int
			code                          arena.Code
		}{
			{"no_token", "", "", ndjson, "", 401, arena.CodeUnauthorized},
			{"bad_token", "", "Bearer x", ndjson, "", 401, arena.CodeUnauthorized},
			{"other_match", "?match=m_2", good, ndjson, "", 401, arena.CodeUnauthorized},
			{"other_type", "", good, "application/json", "{}", 415, arena.CodeUnsupported},
			{"too_large", "", good, ndjson, strings.Repeat("{\"type\":\"thinking\"}\n", maxPost/20+10000), 413, arena.CodeTooLarge},
		}
		for _, tt := range tests {
			header := http.Header{"Content-Type": {tt.kind}}
			if tt.auth != "" {
				header.Set("Authorization", tt.auth)
			}
			streamtest.WantProblem(t, b.Request(t, "POST", tt.query, header, tt.body), tt.status, tt.code)
		}
		if rows := b.log.Rows("m_1"); len(rows) != 0 {
			t.Errorf("stored %v", rows)
		}
	})
}

// Events of other protocols come under the same rules.
func TestIngest_Accept(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.limits.Events = 2 })
	b.match(arena.VisibilitySealed)
	accept := func(agent, event string) arena.Code {
		t.Helper()
		return arena.CodeOf(b.agents.Accept(t.Context(), "m_1", agent, []byte(event)))
	}
	thought := `{"type":"thinking","message":"a"}`
	for _, c := range []struct {
		agent, event string
		want         arena.Code
	}{
		{"ag_9", thought, arena.CodeUnauthorized},
		{"ag_1", `{"type":"dance"}`, arena.CodeEventRefused},
		{"ag_1", `{"type":"thinking","agent_id":"ag_2"}`, arena.CodeForgedIdentity},
		{"ag_1", `{"type":"thinking","message":"` + strings.Repeat("x", maxMessage) + `"}`, arena.CodeTooLarge},
	} {
		if got := accept(c.agent, c.event); got != c.want {
			t.Errorf("%s sends %.40s: %q, want %q", c.agent, c.event, got, c.want)
		}
	}
	for range 2 {
		if err := b.agents.Accept(t.Context(), "m_1", "ag_1", []byte(thought)); err != nil {
			t.Fatal(err)
		}
	}
	if got := accept("ag_1", thought); got != arena.CodeRateLimited {
		t.Errorf("the third of two events: %q", got)
	}
	if rows := b.log.Rows("m_1"); len(rows) != 2 || !strings.Contains(string(rows[0].Hidden), `"message":"a"`) || strings.Contains(string(rows[0].Body), "message") {
		t.Errorf("stored %v", rows)
	}
	b.log.AddMatch("m_2", arena.VisibilityLive, "ag_1")
	b.log.SetRoundOpen("m_2", false)
	if err := b.agents.Accept(t.Context(), "m_2", "ag_1", []byte(thought)); arena.CodeOf(err) != arena.CodeRoundClosed {
		t.Errorf("after the round: %v", err)
	}
}
