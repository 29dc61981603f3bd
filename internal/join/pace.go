package join

import (
	"strings"
	"sync"
	"time"
)

// The limits of the events that one task reports from a stream of text.
const (
	paceEvery = 500 * time.Millisecond // between two events
	paceBytes = 2 << 10                // of one event
	paceMost  = 100                    // events; later text is dropped
)

// pace turns a stream of text into events: the first text at once, later text
// collected so that spectators get at most two events a second.
type pace struct {
	emit func(text string)

	mu     sync.Mutex
	text   strings.Builder
	sent   int
	timer  *time.Timer // runs after an event; nil while the next text may go out
	closed bool
}

func newPace(emit func(string)) *pace { return &pace{emit: emit} }

// add reports text, now or with the text that follows.
func (p *pace) add(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.sent == paceMost {
		return
	}
	if free := paceBytes - p.text.Len(); len(text) > free {
		text = strings.ToValidUTF8(text[:max(free, 0)], "")
	}
	p.text.WriteString(text)
	if p.timer == nil {
		p.flush()
	}
}

// flush emits the collected text and starts the pause. It needs p.mu.
func (p *pace) flush() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	text := strings.TrimSpace(p.text.String())
	if text == "" || p.sent == paceMost {
		return
	}
	p.text.Reset()
	p.sent++
	p.emit(text)
	if !p.closed {
		p.timer = time.AfterFunc(paceEvery, p.next)
	}
}

// next emits what was collected during the pause.
func (p *pace) next() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.flush()
	}
}

// close emits the rest. Nothing is emitted later.
func (p *pace) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.flush()
}
