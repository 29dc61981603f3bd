package stream

import (
	"sync"
	"sync/atomic"
)

// chunk is how many spectators a worker takes at once. A pass over no more
// needs one worker.
const chunk = 32

// crew are the workers of a hub and what they look after in one pass.
type crew struct {
	work    []*spectator
	taken   atomic.Int64 // of work
	running sync.WaitGroup
	workers []*worker
}

func newCrew(h *Hub, workers int) *crew {
	c := &crew{}
	for range workers {
		w := &worker{hub: h, crew: c, nb: newNonblock()}
		w.shift = w.run
		c.workers = append(c.workers, w)
	}
	return c
}

// do looks after everybody in c.work and returns when that is done. Nobody is
// waited for: a pass takes as long as its writes.
func (c *crew) do() {
	c.taken.Store(0)
	help := min(len(c.workers), (len(c.work)+chunk-1)/chunk)
	c.running.Add(help)
	for _, w := range c.workers[1:max(help, 1)] {
		go w.shift()
	}
	if help > 0 {
		c.workers[0].run()
	}
	c.running.Wait()
	clear(c.work)
	c.work = c.work[:0]
}

// worker writes what is ready to spectators, one after another.
type worker struct {
	hub       *Hub
	crew      *crew
	nb        *nonblock
	shift     func() // run
	delivered uint64

	// The last range in the batched form and its frame: spectators at the same
	// place share it.
	lines, framed []byte
}

func (w *worker) run() {
	defer w.crew.running.Done()
	work := w.crew.work
	for {
		to := int(w.crew.taken.Add(chunk))
		from := to - chunk
		if from >= len(work) {
			break
		}
		for _, s := range work[from:min(to, len(work))] {
			if s.socket == nil {
				s.poke()
			} else {
				w.look(s)
			}
		}
	}
	w.hub.counters.delivered.Add(w.delivered)
	w.delivered, w.lines = 0, nil
}

// look writes to a socket what is there for it. What would have to wait is
// left to a goroutine.
func (w *worker) look(s *spectator) {
	k := s.socket
	k.turn.Lock()
	defer k.turn.Unlock()
	if !k.open || k.left || k.driven || w.write(s) {
		return // it calls when that changes
	}
	k.driven = true
	k.drives.Go(func() { w.hub.drive(s) })
}

// write reports false when somebody has to go on who can wait.
func (w *worker) write(s *spectator) bool {
	if s.ended.Load() != nil || s.socket.late.Swap(false) {
		return false
	}
	if s.ping.Swap(false) {
		if all, _ := s.socket.try(w.nb, pingFrame(), true); !all {
			return false
		}
	}
	for {
		b, n, do := s.topic.next(s)
		if do == stepWait {
			return true
		}
		if do != stepSend {
			return false
		}
		w.delivered += uint64(n) //nolint:gosec // G115: a count
		all, _ := s.socket.try(w.nb, w.frames(s, b), s.form == formMessage)
		if !all {
			return false // whoever goes on finds the error again
		}
	}
}

// frames gives a range of the tail as frames.
func (w *worker) frames(s *spectator, b []byte) []byte {
	if s.form != formBatch {
		return b
	}
	if len(w.lines) != len(b) || &w.lines[0] != &b[0] { // a range that is held is not written over
		w.lines, w.framed = b, s.socket.frames(w.framed[:0], b)
	}
	return w.framed
}
