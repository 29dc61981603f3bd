package stream

import (
	"sync"
	"sync/atomic"

	"github.com/agora-arena/arena/stream/ws"
)

// writerChunk is how many spectators a writer claims at once. A flush cycle of
// no more needs one writer.
const writerChunk = 32

// writerPool holds the writers of a hub and their work in one flush cycle.
type writerPool struct {
	work    []*spectator
	taken   atomic.Int64 // of work
	running sync.WaitGroup
	writers []*writer
}

func newWriterPool(h *Hub, writers int) *writerPool {
	c := &writerPool{}
	for range writers {
		w := &writer{hub: h, pool: c, nb: ws.NewNonblock()}
		w.runFunc = w.run
		c.writers = append(c.writers, w)
	}
	return c
}

// flush serves all spectators in c.work. No write blocks.
func (c *writerPool) flush() {
	c.taken.Store(0)
	help := min(len(c.writers), (len(c.work)+writerChunk-1)/writerChunk)
	c.running.Add(help)
	for _, w := range c.writers[1:max(help, 1)] {
		go w.runFunc()
	}
	if help > 0 {
		c.writers[0].run()
	}
	c.running.Wait()
	clear(c.work)
	c.work = c.work[:0]
}

// writer writes what is ready to spectators, one after another.
type writer struct {
	hub       *Hub
	pool      *writerPool
	nb        *ws.Nonblock
	runFunc   func() // run
	delivered uint64

	// The last range in the batched form and its frame, which spectators at the
	// same position share.
	lines, framed []byte
}

func (w *writer) run() {
	defer w.pool.running.Done()
	work := w.pool.work
	for {
		to := int(w.pool.taken.Add(writerChunk))
		from := to - writerChunk
		if from >= len(work) {
			break
		}
		for _, s := range work[from:min(to, len(work))] {
			if s.socket == nil {
				s.Wake()
			} else {
				w.flush(s)
			}
		}
	}
	w.hub.counters.delivered.Add(w.delivered)
	w.delivered, w.lines = 0, nil
}

// flush writes to a socket without blocking, and starts a slow-path writer if
// more is to be done.
func (w *writer) flush(s *spectator) {
	k := s.socket
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	if !k.open || k.left || k.blocked || w.write(s) {
		return // it wakes the pool when that changes
	}
	k.blocked = true
	k.slowWriters.Go(func() { w.hub.writeSlow(s) })
}

// write reports false if a slow-path writer has to continue.
func (w *writer) write(s *spectator) bool {
	if s.Ended() != nil {
		return false
	}
	if s.socket.pending.Swap(false) {
		if all, _ := s.socket.conn.TrySend(w.nb, nil, true); !all { // Flush returns the error
			return false
		}
	}
	if s.PingDue() && !s.socket.conn.TryPing(w.nb) {
		return false
	}
	for {
		b, n, do := s.topic.next(s)
		if do == actionWait {
			return true
		}
		if do != actionSend {
			return false
		}
		w.delivered += uint64(n) //nolint:gosec // G115: a count
		if all, _ := s.socket.conn.TrySend(w.nb, w.frames(s, b), s.form == formMessage); !all {
			return false // Flush returns the error
		}
	}
}

// frames returns a range of the tail as frames.
func (w *writer) frames(s *spectator, b []byte) []byte {
	if s.form != formBatch {
		return b
	}
	if len(w.lines) != len(b) || &w.lines[0] != &b[0] { // the bytes of a range that is held do not change
		w.lines, w.framed = b, s.socket.frames(w.framed[:0], b)
	}
	return w.framed
}
