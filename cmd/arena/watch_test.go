package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/protocol/protocoltest"
)

var updateWatch = flag.Bool("update", false, "write the golden files anew")

// evil is what a text can do to a terminal.
const evil = `\u001b]0;owned\u0007\u001b[2J\u001b[31mred\u001b[0m \u202eesrever\u202c\u200b\r\nsecond line\u0000\u009b1mC1`

// watched is a match whose every text is hostile.
func watched(t *testing.T) []liveEvent {
	t.Helper()
	var events []liveEvent
	for i, body := range []string{
		`"type":"match_scheduled","league":"trivia","rated":true,"seats":[{"agent_id":"ag_1","name":"Ada"},{"agent_id":"ag_2","name":"` + evil + `"}]`,
		`"type":"match_started","league":"trivia","rated":true,"total_rounds":2,"seats":[{"agent_id":"ag_1","name":"Ada"},{"agent_id":"ag_2","name":"` + evil + `"}]`,
		`"type":"round_started","round":1,"time_limit_seconds":15,"task":{"description":"Which one? ` + evil + `","options":["Sydney","` + evil + `"]}`,
		`"type":"thinking","round":1,"agent_id":"ag_1","message":"` + evil + `"`,
		`"type":"thinking","round":1,"agent_id":"ag_2","commitment":"00ff"`,
		`"type":"spawn_subagent","round":1,"agent_id":"ag_1","name":"Librarian","role":"` + evil + `"`,
		`"type":"tool_call","round":1,"agent_id":"ag_1","tool":"search","args":{"q":"` + evil + `"}`,
		`"type":"tool_response","round":1,"agent_id":"ag_1","result":"` + evil + `","duration_ms":1200`,
		`"type":"subagent_done","round":1,"agent_id":"ag_1","name":"Librarian","duration_ms":1500`,
		`"type":"intermediate_result","round":1,"agent_id":"ag_1","data":["` + evil + `",1]`,
		`"type":"error","round":1,"agent_id":"ag_1","message":"` + evil + `","fatal":false`,
		`"type":"answer","round":1,"agent_id":"ag_1","final":true,"value":"` + evil + strings.Repeat("long ", 50) + `"`,
		`"type":"seat_outcome","round":1,"agent_id":"ag_1","outcome":"answered","elapsed_ms":2500,"answer":"` + evil + `"`,
		`"type":"agent_paused","round":1,"agent_id":"ag_2","name":"x","reason":"rate_limit"`,
		`"type":"seat_outcome","round":1,"agent_id":"ag_2","outcome":"rate_limited","reason":"status_429","elapsed_ms":10`,
		`"type":"reveal","round":1,"events":[]`,
		`"type":"round_closed","round":1,"correct":"` + evil + `","seats":[{"agent_id":"ag_1","answer":"` + evil + `","points":1,"outcome":"answered"},{"agent_id":"ag_2","answer":null,"points":0,"outcome":"rate_limited"}]`,
		`"type":"` + evil + `","agent_id":"` + evil + `"`,
		`"type":"agent_left","agent_id":"ag_2","reason":"status_503"`,
		`"type":"viewers","count":7`,
		`"type":"match_finished","league":"trivia","rated":true,"seats":[{"agent_id":"ag_2","name":"` + evil + `","points":0.5,"place":0,"state":"left"},{"agent_id":"ag_1","name":"Ada","points":1,"place":1,"state":"active"}],"rating_changes":[{"agent_id":"ag_1","rating_after":1520.25,"rating_delta":20.25}]`,
		`"type":"match_void","reason":"` + evil + `"`,
	} {
		raw := fmt.Sprintf(`{"seq":%d,"match_id":"m_1","ts":"2026-11-21T12:00:%02d.000Z",%s}`, i+1, i, body)
		e, err := parseLive([]byte(raw))
		must(t, err)
		events = append(events, e)
	}
	return events
}

// Threats E3 and E4, at the terminal.
func TestScreen_golden(t *testing.T) {
	t.Parallel()
	for _, color := range []bool{false, true} {
		var out bytes.Buffer
		s := &screen{out: &out, color: color, names: map[string]string{}}
		for _, e := range watched(t) {
			s.show(e)
		}
		must(t, s.err)
		text := out.String()
		if color { // what is left without our own colours is the same
			for _, paint := range []string{paintDim, paintBold, paintGood, paintBad, paintRound, "0"} {
				text = strings.ReplaceAll(text, "\x1b["+paint+"m", "")
			}
		}
		if i := strings.IndexFunc(text, func(r rune) bool {
			return r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r))
		}); i >= 0 {
			t.Errorf("colour %v: %q got through", color, text[i:min(len(text), i+20)])
		}
		golden := filepath.Join("testdata", "watch.txt")
		if *updateWatch {
			must(t, os.WriteFile(golden, []byte(text), 0o600))
		}
		want, err := os.ReadFile(golden)
		must(t, err)
		if diff := cmp.Diff(string(want), text); diff != "" {
			t.Errorf("colour %v: if it was meant to change, run the test with -update (-want +got):\n%s", color, diff)
		}
	}
}

// Threat E4.
func TestPlainText_anything(t *testing.T) {
	t.Parallel()
	alphabet := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\x1b[]0;\a\\mPX^_\u009b\u009d\u202e\u200b\n\r\t\u2028 a")))
	rapid.Check(t, func(t *rapid.T) {
		got := plainText(string(rapid.SliceOf(alphabet).Draw(t, "text")))
		for _, r := range got {
			if r != ' ' && (unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Fatalf("%q is left in %q", r, got)
			}
		}
		if plainText(got) != got {
			t.Fatalf("%q is not plain yet", got)
		}
	})
	for in, want := range map[string]string{
		"plain": "plain", "\x1b[1;31mred\x1b[0m": "red", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link", "a\r\n\tb": "a b",
		"👩‍🚀 ok": "👩‍🚀 ok", "caf\u00e9": "café", "bad\xff": "bad\ufffd",
	} {
		if got := plainText(in); got != want {
			t.Errorf("plainText(%q) = %q, want %q", in, got, want)
		}
	}
}

// lockedText collects output and tells when a text is in it.
type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) has(s string) bool { return strings.Contains(l.String(), s) }

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// watching runs `arena watch` beside the test and gives its exit code at the end.
func watching(t *testing.T, url string, args ...string) (out *lockedText, code chan int) {
	t.Helper()
	out, code = &lockedText{}, make(chan int, 1)
	go func() {
		code <- run(t.Context(), append([]string{"watch"}, args...), []string{"ARENA_URL=" + url}, strings.NewReader(""), out, io.MultiWriter(out, t.Output()))
	}()
	return out, code
}

// The next match of a league is followed through the death of the server, and
// every round is shown once.
func TestE2E_Watch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	p.league("trivia", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2, "visibility": "live"})
	stuck := make(chan struct{})
	ada := p.contestant("Ada", func(r protocoltest.Request) protocoltest.Behaviour {
		if r.Task.Round == 2 && r.Task.Attempt == 1 {
			return protocoltest.When(stuck, protocoltest.Answer("too late"))
		}
		return protocoltest.Answer(correct(r))
	}, "trivia")
	bob := p.contestant("Bob", answers("no"), "trivia")
	league, leagueCode := watching(t, p.url, "--league", "trivia")
	id := p.schedule("trivia", ada, bob)
	match, matchCode := watching(t, p.url, id)
	eventually(t, "the second round is on screen", func() bool { return match.has("round 2:") && league.has("round 2:") })
	p.kill()
	p = serve(t, dir, "ARENA_ADDR="+strings.TrimPrefix(p.url, "http://"))
	for _, w := range []struct {
		out  *lockedText
		code chan int
	}{{match, matchCode}, {league, leagueCode}} {
		if code := <-w.code; code != exitOK {
			t.Fatalf("exit code %d:\n%s", code, w.out)
		}
		text := w.out.String()
		for _, closed := range []string{"round 1 closed", "round 2 closed", "round 3 closed", "finished"} {
			if strings.Count(text, closed) != 1 {
				t.Errorf("%q is not there once:\n%s", closed, text)
			}
		}
		if !strings.Contains(text, "     1  Ada                      3  15") || strings.Contains(text, "\x1b") {
			t.Errorf("the table at the end:\n%s", text)
		}
	}
	// A match that is over is shown whole; another is not there.
	again, code := watching(t, p.url+"/", id)
	if c := <-code; c != exitOK || again.String() != match.String() {
		t.Errorf("exit code %d:\n%s", c, cmp.Diff(match.String(), again.String()))
	}
	missing, code := watching(t, p.url, "m_none")
	if c := <-code; c != exitFailure || !missing.has("404 not_found") {
		t.Errorf("exit code %d:\n%s", c, missing)
	}
	neither, code := watching(t, p.url)
	if c := <-code; c != exitFailure || !neither.has("name one") {
		t.Errorf("exit code %d:\n%s", c, neither)
	}
	// One that is void ends with 1.
	p.league("later", p.pack(9), map[string]any{"format": "ladder", "min_seats": 2, "max_seats": 2})
	for _, c := range []*contestant{ada, bob} {
		p.call(c.owner, "PUT", "/v1/leagues/later/entries/"+c.id, nil, nil)
	}
	void := p.lateMatch("later", ada, bob)
	out, code := watching(t, p.url, void)
	eventually(t, "the match is announced", func() bool { return out.has("Ada · Bob") })
	p.call(p.admin, "POST", "/v1/matches/"+void+"/cancel", map[string]any{"reason": "no lights"}, nil)
	if c := <-code; c != exitFailure || !out.has("the match is void: no lights") {
		t.Errorf("exit code %d:\n%s", c, out)
	}
}

// lateMatch schedules a match for tomorrow.
func (p *process) lateMatch(league string, seats ...*contestant) string {
	p.t.Helper()
	ids := make([]string, len(seats))
	for i, s := range seats {
		ids[i] = s.id
	}
	var m struct {
		ID string `json:"match_id"`
	}
	p.call(p.admin, "POST", "/v1/matches", map[string]any{"league": league, "agents": ids, "starts_at": time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)}, &m)
	return m.ID
}
