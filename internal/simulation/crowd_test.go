package simulation

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// watched is what one spectator has seen of one match.
type watched struct {
	match string
	after int64 // the event that it asked to start behind
	sums  [][sha256.Size]byte
	ended bool // it has seen the last event
}

// spectate watches one match after the other until ctx ends. It returns what it saw.
func (w *world) spectate(ctx context.Context, no int) (journal []*watched) {
	from := netip.AddrFrom4([4]byte{10, 3, 0, byte(no)})
	for pause(ctx, time.Duration(1+w.intn(60))*time.Second) {
		var list struct {
			Items []struct {
				ID string `json:"match_id"`
			} `json:"items"`
		}
		if err := w.api("").Call(ctx, http.MethodGet, "/v1/matches?status=running&limit=20", nil, &list); err != nil || len(list.Items) == 0 {
			continue
		}
		one := &watched{match: list.Items[w.intn(len(list.Items))].ID, after: int64(w.intn(3))}
		journal = append(journal, one)
		for !one.ended && w.connect(ctx, from, one) && pause(ctx, time.Duration(1+w.intn(5))*time.Second) {
		}
	}
	return journal
}

// connect follows a match over one connection. It returns false when there is no
// more to come.
func (w *world) connect(ctx context.Context, from netip.Addr, seen *watched) bool {
	at := seen.after + int64(len(seen.sums))
	url := fmt.Sprintf("http://%s/v1/stream?match=%s&since=%d", w.nodes[w.intn(len(w.nodes))].addr, seen.match, at)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	r.Header.Set("Accept", "text/event-stream")
	client := *w.client(from)
	client.Timeout = 0
	resp, err := client.Do(r)
	if err != nil {
		return true
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if resp.StatusCode == http.StatusNoContent {
		return false
	}
	if w.intn(4) == 0 { // goes away in between
		stop := time.AfterFunc(time.Duration(w.intn(20))*time.Second, func() { _ = resp.Body.Close() })
		defer stop.Stop()
	}
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return true
		}
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type   string `json:"type"`
			Seq    int64  `json:"seq"`
			Resync bool   `json:"resync"`
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			w.broken("12", "match %s: an event that is no JSON: %.200s", seen.match, text)
			return false
		}
		w.sight(text)
		next := seen.after + int64(len(seen.sums)) + 1
		switch {
		case e.Type == "hello" && e.Resync && len(seen.sums) == 0:
			seen.after = e.Seq
		case e.Type == "hello" || e.Seq == 0:
		case e.Seq != next:
			w.broken("12", "match %s: a spectator got event %d, not %d", seen.match, e.Seq, next)
			return false
		default:
			seen.sums = append(seen.sums, sha256.Sum256([]byte(text)))
			seen.ended = e.Type == "match_finished" || e.Type == "match_void"
		}
		if seen.ended {
			return false
		}
	}
}

// place is a round of a match.
type place struct {
	match string
	round int
}

// sight notes when a secret is seen for the first time.
func (w *world) sight(text string) {
	for {
		_, rest, ok := strings.Cut(text, "secret-")
		if !ok {
			return
		}
		secret, rest, _ := strings.Cut(rest, ".")
		match, round, _ := strings.Cut(secret, "-")
		no, _ := strconv.Atoi(round)
		w.mu.Lock()
		if _, known := w.sightings[place{match, no}]; !known {
			w.sightings[place{match, no}] = time.Now()
		}
		w.mu.Unlock()
		text = rest
	}
}

// own does what owners do to their agents at bad times, until ctx ends.
func (w *world) own(ctx context.Context) {
	for pause(ctx, time.Duration(10+w.intn(120))*time.Second) {
		a, b := w.agents[w.intn(len(w.agents))], w.agents[w.intn(len(w.agents))]
		api := w.api(a.token)
		switch w.intn(5) {
		case 0:
			_ = api.Call(ctx, http.MethodPost, "/v1/agents/"+a.id+"/pause", nil, nil) // of the owner's own accord; every outcome is fine
			if pause(ctx, time.Duration(1+w.intn(300))*time.Second) {
				_ = w.api(a.token).Call(ctx, http.MethodPost, "/v1/agents/"+a.id+"/resume", nil, nil)
			}
		case 1:
			_ = api.Call(ctx, http.MethodPost, "/v1/challenges", map[string]any{"league": duel, "agent_id": a.id, "opponent_id": b.id}, nil)
		case 2:
			_ = api.Call(ctx, http.MethodPost, "/v1/agents/"+a.id+"/resume", nil, nil)
		case 3:
			_ = w.api(adminToken).Call(ctx, http.MethodPost, "/v1/matches", map[string]any{
				"league": duel, "agents": []string{a.id, b.id}, "starts_at": time.Now().Add(time.Duration(w.intn(120)) * time.Second).UTC().Format(time.RFC3339),
			}, nil)
		case 4:
			w.dodge(ctx, a, b)
		}
	}
}

// withdrawal is the pause of an agent by its owner between the pairing and the start of
// a match.
type withdrawal struct {
	match, agent string
	at           time.Time
}

// dodge schedules a match of two agents, pauses the first, which is well, shortly before
// the start, and resumes it once the match is over. Half of the owners think better of it
// in time.
func (w *world) dodge(ctx context.Context, a, b *agent) {
	var made struct {
		ID string `json:"match_id"`
	}
	if err := w.api(adminToken).Call(ctx, http.MethodPost, "/v1/matches", map[string]any{
		"league": duel, "agents": []string{a.id, b.id}, "starts_at": time.Now().Add(2 * arena.ClockSlack).UTC().Format(time.RFC3339),
	}, &made); err != nil || !pause(ctx, arena.ClockSlack+arena.ClockSlack/2) {
		return
	}
	var before struct {
		Status string
		Health struct{ OK bool }
	}
	path := "/v1/agents/" + a.id
	if err := w.api(a.token).Call(ctx, http.MethodGet, path, nil, &before); err != nil || before.Status != string(arena.AgentActive) || !before.Health.OK {
		return
	}
	at := time.Now()
	if err := w.api(a.token).Call(ctx, http.MethodPost, path+"/pause", nil, nil); err != nil {
		return
	}
	defer func() { _ = w.api(a.token).Call(ctx, http.MethodPost, path+"/resume", nil, nil) }()
	if a.oneIn(2) {
		return
	}
	for range 30 {
		var m struct{ Status arena.MatchStatus }
		pause(ctx, 10*time.Second)
		if err := w.api("").Call(ctx, http.MethodGet, "/v1/matches/"+made.ID, nil, &m); err == nil && m.Status.Over() {
			w.withdrawals = append(w.withdrawals, withdrawal{made.ID, a.id, at})
			return
		}
	}
}

// pause waits and reports whether ctx lasted that long.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
