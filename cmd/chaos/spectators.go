package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// seenEvent is one event as a spectator saw it: its number and its bytes'
// SHA-256.
type seenEvent struct {
	seq int64
	sum [sha256.Size]byte
}

// watched is what one spectator saw of one match, over all its connections.
type watched struct {
	spectator int
	match     string
	after     int64 // the first event must be the one after this
	events    []seenEvent
	ended     bool // the arena said that the match is over
	lost      int  // connections that broke off
}

// audience is all spectators.
type audience struct {
	cluster  *cluster
	load     *load
	problems *problems
	chance   *chance
	http     *http.Client
	dialing  chan struct{} // bounds the storm after a restart
	wg       sync.WaitGroup

	watching   atomic.Int64
	reconnects atomic.Int64
	events     atomic.Int64

	mu      sync.Mutex
	journal []*watched
	closes  map[string]int // why connections ended
}

func newAudience(c *cluster, l *load, p *problems, seed uint64) *audience {
	return &audience{
		cluster: c, load: l, problems: p, chance: newChance(seed, 3), closes: map[string]int{}, dialing: make(chan struct{}, 50),
		http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// start lets n spectators watch. They take no new match once watching ends;
// they stop at once when ctx does.
func (a *audience) start(ctx, watching context.Context, n int) {
	for i := range n {
		a.wg.Go(func() {
			for watching.Err() == nil && ctx.Err() == nil {
				if id, ok := a.load.recent(); ok {
					a.watching.Add(1)
					a.watch(ctx, i, id)
					a.watching.Add(-1)
				}
				if !wait(watching, a.chance.between(20*time.Millisecond, 400*time.Millisecond)) {
					return
				}
			}
		})
	}
}

// unknown is the position of a spectator that asks for what comes from now on.
const unknown = -1

// watch follows one match to its end, through however many connections.
func (a *audience) watch(ctx context.Context, spectator int, match string) {
	w := &watched{spectator: spectator, match: match}
	switch a.chance.intn(10) {
	case 0:
		w.after = unknown
	case 1:
		w.after = int64(a.chance.intn(12)) // perhaps ahead of the log
	}
	a.mu.Lock()
	a.journal = append(a.journal, w)
	a.mu.Unlock()
	batch := a.chance.oneIn(5)
	for ctx.Err() == nil {
		why := a.connect(ctx, w, batch)
		if ctx.Err() != nil {
			return
		}
		a.mu.Lock()
		a.closes[why]++
		a.mu.Unlock()
		if w.ended {
			return
		}
		w.lost++
		if !wait(ctx, a.chance.between(50*time.Millisecond, 400*time.Millisecond)) {
			return
		}
	}
}

// position is the last event that the spectator has, or may pass over.
func (w *watched) position() int64 {
	if n := len(w.events); n > 0 {
		return w.events[n-1].seq
	}
	return w.after
}

// connect opens one connection where the last one ended and reads until it
// breaks off or the match is over. It returns why it ended.
func (a *audience) connect(ctx context.Context, w *watched, batch bool) string {
	url := a.chance.url(a.cluster)
	if url == "" {
		return "no node"
	}
	url = strings.Replace(url, "http", "ws", 1) + "/v1/stream?match=" + w.match
	if at := w.position(); at != unknown {
		url += fmt.Sprintf("&since=%d", at)
	}
	if batch {
		url += "&batch=1"
	}
	a.dialing <- struct{}{}
	dial, cancel := context.WithTimeout(ctx, 10*time.Second)
	conn, resp, err := websocket.Dial(dial, url, &websocket.DialOptions{HTTPClient: a.http}) //nolint:bodyclose // the library closes it
	cancel()
	<-a.dialing
	if err != nil {
		if resp == nil {
			return "dial"
		}
		if resp.StatusCode == http.StatusNotFound {
			a.problems.add("1", "spectator %d: match %s was promised and is not found", w.spectator, w.match)
		}
		if resp.StatusCode == http.StatusInternalServerError {
			a.problems.add("C5", "spectator %d of match %s: a fault of the storage is no fault of ours, yet status 500", w.spectator, w.match)
		}
		return fmt.Sprintf("status %d", resp.StatusCode)
	}
	defer func() { _ = conn.CloseNow() }()
	if w.lost > 0 {
		a.reconnects.Add(1)
	}
	conn.SetReadLimit(32 << 20)
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			code := websocket.CloseStatus(err)
			w.ended = code == websocket.StatusNormalClosure
			if code < 0 {
				return "lost"
			}
			return fmt.Sprintf("%d", int(code))
		}
		at := time.Now()
		for line := range strings.Lines(string(data)) {
			if err := a.take(w, strings.TrimSuffix(line, "\n"), at); err != nil {
				a.problems.add("12", "spectator %d of match %s: %v", w.spectator, w.match, err)
				w.ended = true // its journal is worthless from here on
				return "violation"
			}
		}
	}
}

// take writes down one message.
func (a *audience) take(w *watched, text string, at time.Time) error {
	var m struct {
		Type   string `json:"type"`
		Seq    int64  `json:"seq"`
		Resync bool   `json:"resync"`
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return fmt.Errorf("not JSON: %.200s", text)
	}
	switch {
	case m.Type == "hello":
		if m.Resync && len(w.events) > 0 {
			return fmt.Errorf("a resync at %d after event %d: a log has grown shorter", m.Seq, w.position())
		}
		if m.Resync || w.after == unknown {
			w.after = m.Seq
		}
		return nil
	case m.Seq == 0: // viewers
		return nil
	case w.after == unknown:
		return errors.New("an event before hello")
	case m.Seq != w.position()+1:
		return fmt.Errorf("event %d (%s) after event %d", m.Seq, m.Type, w.position())
	}
	w.events = append(w.events, seenEvent{m.Seq, sha256.Sum256([]byte(text))})
	a.events.Add(1)
	a.load.sighted(text, at)
	return nil
}

// finish waits until all spectators have seen the ends of their matches, at
// most for limit.
func (a *audience) finish(ctx context.Context, limit time.Duration) {
	done := make(chan struct{})
	go func() { a.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	case <-ctx.Done():
	}
}

// all returns the journals once all spectators have stopped.
func (a *audience) all() ([]*watched, map[string]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]*watched(nil), a.journal...), maps.Clone(a.closes)
}
