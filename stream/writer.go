package stream

import (
	"sync"
	"sync/atomic"
)

// writerChunk is how many spectators a worker takes at once. A pass over no more
// needs one worker.
const writerChunk = 32

// writerPool holds the writers of a hub and their work in one flush cycle.
type writerPool struct {
	work    []*spectator
	taken   atomic.Int64 // of work
	running sync.WaitGroup
	writers []*writer
}

func newWriterPool(h *Hub, workers int) *writerPool {
	c := &writerPool{}
	for range workers {
		w := &writer{hub: h, pool: c, nb: newNonblock()}
		w.runFunc = w.run
		c.writers = append(c.writers, w)
	}
	return c
}

// flush looks after everybody in c.work and returns when that is done. Nobody is
// waited for: a pass takes as long as its writes.
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
	nb        *nonblock
	runFunc   func() // run
	delivered uint64

	// The last range in the batched form and its frame: spectators at the same
	// place share it.
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
				s.wakeUp()
			} else {
				w.flush(s)
			}
		}
	}
	w.hub.counters.delivered.Add(w.delivered)
	w.delivered, w.lines = 0, nil
}

// flush writes to a socket what is there for it. What would have to wait is
// left to a goroutine.
func (w *writer) flush(s *spectator) {
	k := s.socket
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	if !k.open || k.left || k.blocked || w.write(s) {
		return // it calls when that changes
	}
	k.blocked = true
	k.slowWriters.Go(func() { w.hub.writeSlow(s) })
}

// write reports false when somebody has to go on who can wait.
func (w *writer) write(s *spectator) bool {
	if s.ended.Load() != nil || s.socket.pending.Swap(false) {
		return false
	}
	if s.ping.Swap(false) {
		if all, _ := s.socket.try(w.nb, pingFrame(), true); !all {
			return false
		}
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
		all, _ := s.socket.try(w.nb, w.frames(s, b), s.form == formMessage)
		if !all {
			return false // whoever goes on finds the error again
		}
	}
}

// frames returns a range of the tail as frames.
func (w *writer) frames(s *spectator, b []byte) []byte {
	if s.form != formBatch {
		return b
	}
	if len(w.lines) != len(b) || &w.lines[0] != &b[0] { // a range that is held is not written over
		w.lines, w.framed = b, s.socket.frames(w.framed[:0], b)
	}
	return w.framed
}
