package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/testwait"
	"github.com/agora-arena/arena/stream/streamtest"
	"github.com/agora-arena/arena/stream/ws"
)

// patient keeps peers that read slowly, as they do on a busy machine.
func patient(s *settings) { s.clients.Timing.Ping, s.timing.write = time.Hour, time.Hour }

// Peers that read irregularly fill their sockets repeatedly, so the pool and
// slow-path writers take turns; their pings are answered in between. No frame is
// cut or lost. Threat V1, invariant 12.
func TestSocket_Takes_turns(t *testing.T) {
	t.Parallel()
	b := start(t, patient)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	const last, size = 1500, 2 << 10
	fat := json.RawMessage(`{"message":"` + strings.Repeat("x", size) + `"}`)
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	var reading, pinging sync.WaitGroup
	var pongs atomic.Int64
	for i := range 6 {
		p := b.Dial(t, fmt.Sprintf("?match=m_1&batch=%d", i%2), nil)
		p.Next()
		pinging.Go(func() {
			for p.Ping(ctx) == nil {
				pongs.Add(1)
			}
		})
		reading.Go(func() { streamtest.WantSeqs(t, p.Until(last), 1, last) })
	}
	pace := b.Dial(t, "?match=m_1", nil)
	for seq := int64(0); seq < last; {
		for range 100 {
			e := b.log.Commit(arena.Event{Body: fat})
			b.hub.Publish(streamtest.League, e)
			seq = e.Seq
		}
		pace.Until(seq) // the tail is bounded
	}
	reading.Wait()
	enough()
	pinging.Wait()
	if pongs.Load() == 0 {
		t.Error("no ping was answered")
	}
}

// Late joiners of one match share what is read and encoded for them.
func TestSpectator_Late_joiners_share(t *testing.T) {
	t.Parallel()
	b := start(t, patient)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	const last = 10 * logPage
	b.publish(last)
	b.Dial(t, "?match=m_1", nil).Next() // from here on the tail has it
	const joiners = 14
	var wg sync.WaitGroup
	for i := range joiners {
		wg.Go(func() {
			since := int64(i % 7 * 123)
			p := b.Dial(t, fmt.Sprintf("?match=m_1&since=%d", since), nil)
			streamtest.WantSeqs(t, p.Until(last), since+1, last)
		})
	}
	wg.Wait()
	if reads := b.log.Reads(); reads != last/logPage {
		t.Errorf("%d spectators cost %d reads of the log, want one for each of its %d pages", joiners, reads, last/logPage)
	}
}

// A page that was read before the log had filled it is not kept.
func TestSpectator_Unfinished_page(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.bounds.events = 1 })
	b.log.AddMatch("m_1", arena.VisibilityLive)
	b.publish(10)
	first := b.Dial(t, "?match=m_1&since=0", nil)
	streamtest.WantSeqs(t, first.Until(10), 1, 10)
	fat := json.RawMessage(`{"message":"` + strings.Repeat("x", firstSegment) + `"}`) // a segment each: the tail forgets
	for seq := int64(11); seq <= 40; seq++ {
		b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Body: fat}))
		first.Until(seq)
	}
	streamtest.WantSeqs(t, b.Dial(t, "?match=m_1&since=0", nil).Until(40), 1, 40)
}

// An event that comes between the last look of a goroutine and the moment it
// hands its socket back to the workers is not forgotten.
func TestSpectator_Hand_back(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.timing.sweep = time.Hour }) // viewers would wake it
	b.log.AddMatch("m_1", arena.VisibilityLive)
	driven := b.Dial(t, "?match=m_1", nil)
	driven.Next()
	s := b.topic("m_1").readers[0]
	other := b.Dial(t, "?match=m_1", nil)
	b.publish(1) // nothing calls the workers after this
	other.Until(1)
	driven.Until(1)
	s.socket.writeMu.Lock()
	s.socket.blocked = true
	s.socket.writeMu.Unlock()
	b.publish(1)
	other.Until(2) // comes after the first one in a pass
	s.endSlow()
	streamtest.WantSeqs(t, driven.Until(2), 2, 2)
}

// A peer that leaves while its page is read from the log is dismissed when no
// writer uses it.
func TestSpectator_Leaves_while_the_log_is_read(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.log.AddMatch("m_1", arena.VisibilityLive)
	b.publish(10)
	b.log.ReadGate = make(chan struct{})
	p := b.Dial(t, "?match=m_1&since=0", nil)
	p.Next()
	s := b.topic("m_1").readers[0]
	is := func(state *bool) func() bool {
		return func() bool {
			s.socket.writeMu.Lock()
			defer s.socket.writeMu.Unlock()
			return *state
		}
	}
	testwait.Until(t, "the log to be read", is(&s.socket.blocked))
	_ = p.CloseNow()
	testwait.Until(t, "the socket to be left", is(&s.socket.left))
	if got := b.hub.Stats(); got.Open["spectator"] != 1 || got.Topics != 1 {
		t.Errorf("it is gone too early: %+v", got)
	}
	close(b.log.ReadGate)
	testwait.Until(t, "its end", func() bool { return b.hub.Stats().Open["spectator"] == 0 })
}

// topic returns the topic of a match with spectators.
func (b *bundle) topic(match string) *topic {
	b.hub.mu.RLock()
	defer b.hub.mu.RUnlock()
	return b.hub.topics[topicKey{topicMatch, match}]
}

// The workers share the frame of a range, and of no other one.
func TestWorker_Frames(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := &spectator{form: formBatch, socket: &socket{batch: true}}
	first, second := []byte("{1}\n{2}\n"), []byte("{3}\n{4}\n")
	for range 2 {
		for _, b := range [][]byte{first, first, second} {
			want := "\x81\x07" + string(b[:len(b)-1])
			if got := w.frames(s, b); string(got) != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
}

// A hub with a peer that takes nothing closes in time, and the peer's place
// is free.
func TestHub_Close_with_a_frozen_peer(t *testing.T) {
	t.Parallel()
	b := start(t, func(s *settings) { s.clients.Timing.Grace, s.timing.write = 10*time.Millisecond, 10*time.Millisecond })
	b.log.AddMatch("m_1", arena.VisibilityLive)
	frozen := b.Dial(t, "?match=m_1", nil)
	frozen.Next()
	fat := json.RawMessage(`{"message":"` + strings.Repeat("x", 8<<10) + `"}`)
	for b.hub.Stats().Closes[ws.CloseSlow] == 0 {
		b.hub.Publish(streamtest.League, b.log.Commit(arena.Event{Body: fat}))
	}
	b.hub.Close()
	if got := b.hub.Stats().Open["spectator"]; got != 0 {
		t.Errorf("%d spectators are left", got)
	}
}

func TestPage_After(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := &page{first: rapid.Int64Range(1, 1000).Draw(t, "first")}
		var texts []string
		for i := range rapid.IntRange(0, 20).Draw(t, "events") {
			texts = append(texts, fmt.Sprintf("%d%s|", i, strings.Repeat("x", rapid.IntRange(0, 30).Draw(t, "size"))))
			p.buf = append(p.buf, texts[i]...)
			p.ends = append(p.ends, len(p.buf))
		}
		at := rapid.IntRange(0, len(texts)).Draw(t, "at")
		limit := rapid.IntRange(0, 100).Draw(t, "limit")
		for at < len(texts) {
			b, n := p.after(p.first-1+int64(at), limit)
			if n == 0 || string(b) != strings.Join(texts[at:at+n], "") {
				t.Fatalf("after %d: %d events %q", at, n, b)
			}
			if n > 1 && len(b) > limit {
				t.Fatalf("%d bytes are over the limit of %d", len(b), limit)
			}
			if at+n < len(texts) && len(b)+len(texts[at+n]) <= limit {
				t.Fatalf("%d bytes, and the next event would have fit into %d", len(b), limit)
			}
			at += n
		}
		if _, n := p.after(p.first-1+int64(at), limit); n != 0 {
			t.Fatalf("%d events behind the last", n)
		}
	})
}
