package e2e

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/protocol/protocoltest"
)

// lockedText collects output and reports when a text is in it.
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

// watching runs `arena watch` beside the test and returns its exit code at the end.
func watching(t *testing.T, url string, args ...string) (out *lockedText, code chan int) {
	t.Helper()
	out, code = &lockedText{}, make(chan int, 1)
	program := buildArena(t)
	go func() {
		code <- execArena(t.Context(), program, append([]string{"watch"}, args...), []string{"ARENA_URL=" + url}, nil, out, io.MultiWriter(out, t.Output()))
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
	testwait.Until(t, "the second round is on screen", func() bool { return match.has("round 2:") && league.has("round 2:") })
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
	testwait.Until(t, "the match is announced", func() bool { return out.has("Ada · Bob") })
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
