//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// follower is a spectator that reconnects to any node.
type follower struct {
	c     *cluster
	match string
	at    int // index of the node it is on

	seen  []event
	codes []int // with which its streams ended
	err   error
}

func (f *follower) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for ; ctx.Err() == nil; f.at++ {
		over, err := f.sit(ctx)
		if over {
			return
		}
		f.err = err
		pause := time.NewTimer(20 * time.Millisecond) // a node may be on its way up
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// sit watches on one node until the match is over or the stream ends.
func (f *follower) sit(ctx context.Context) (over bool, err error) {
	url := strings.Replace(f.c.node(f.at).url, "http", "ws", 1) + fmt.Sprintf("/v1/stream?match=%s&since=%d", f.match, len(f.seen))
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return false, err
	}
	defer conn.CloseNow() //nolint:errcheck // it has ended
	conn.SetReadLimit(32 << 20)
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			f.codes = append(f.codes, int(websocket.CloseStatus(err)))
			return false, err
		}
		e := event{Raw: data}
		if err := json.Unmarshal(data, &e); err != nil {
			return false, err
		}
		if e.Seq > 0 && e.Type != "hello" {
			f.seen = append(f.seen, e)
		}
		if e.Type == "match_finished" || e.Type == "match_void" {
			return true, nil
		}
	}
}

// check checks that what was seen is the whole log, and returns how often a
// restarting node sent the follower away.
func (f *follower) check(t *testing.T) (restarts int) {
	t.Helper()
	if n := len(f.seen); n == 0 || f.seen[n-1].Type != "match_finished" {
		t.Fatalf("match %s was followed for %d events, then: %v", f.match, n, f.err)
	}
	for i, e := range f.seen {
		if e.Seq != int64(i+1) {
			t.Fatalf("match %s: event %d has seq %d: %s", f.match, i+1, e.Seq, strings.TrimSpace(string(e.Raw)))
		}
	}
	for _, code := range f.codes {
		if code == 1012 {
			restarts++
		}
	}
	return restarts
}
