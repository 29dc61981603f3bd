package stream

import (
	"slices"
	"strconv"

	"github.com/agora-arena/arena/stream/ws"
)

// form is how an event is written to a spectator.
type form uint8

const (
	formMessage form = iota // a complete WebSocket frame per event
	formBatch               // a line per event; the writer puts one frame header before a range
	formSSE                 // a server-sent event
	forms
)

// maxSize is an upper bound of what append adds for an event of n bytes.
func (f form) maxSize(n int) int {
	if f == formSSE {
		return n + len("id: \ndata: \n\n") + 20
	}
	return n + ws.MaxHeader
}

// append writes one event. id is its seq in the log, noID when it has none.
func (f form) append(b []byte, id int64, text []byte) []byte {
	switch f {
	case formBatch:
		return append(append(b, text...), '\n')
	case formSSE:
		if id >= 0 {
			b = strconv.AppendInt(append(b, "id: "...), id, 10)
			b = append(b, '\n')
		}
		b = append(append(b, "data: "...), text...)
		return append(b, "\n\n"...)
	default:
		return ws.AppendText(b, text)
	}
}

// noID marks an event without a position in the log.
const noID = -1

// bounds limit what a tail keeps. A reader further behind is slow.
type bounds struct{ events, bytes int }

// Segments double from the first size to the last, so that a quiet topic
// stays small.
const (
	firstSegment = 4 << 10
	lastSegment  = 64 << 10
)

// segment is a piece of a tail. Its bytes are appended up to the capacity and
// never move or change, so a reader writes from it without a lock.
type segment struct {
	no      int // they are numbered as they come
	buf     []byte
	entries []entry
	next    *segment
	dropped bool // out of bounds: a cursor can no longer read it here
}

// entry is one event: the position of the topic after it, and where it ends
// in the segment.
type entry struct {
	seq int64
	end int
}

// tail is the shared recent past of a topic in one form. The topic's lock
// guards it.
type tail struct {
	form           form
	limit          bounds
	base           int64 // holds everything after this position
	oldest, newest *segment
	lastDropped    *segment
	events, bytes  int
	readers        int
}

// cursor is a place in a tail: the next entry to read.
type cursor struct {
	seg *segment
	at  int
}

func newTail(f form, base int64, limit bounds) *tail {
	s := &segment{buf: make([]byte, 0, firstSegment)}
	return &tail{form: f, limit: limit, base: base, oldest: s, newest: s}
}

// append adds an event. seq is the topic's position after it.
func (t *tail) append(seq, id int64, text []byte) {
	s := t.newest
	if need := t.form.maxSize(len(text)); cap(s.buf)-len(s.buf) < need {
		next := &segment{no: s.no + 1, buf: make([]byte, 0, max(need, min(2*cap(s.buf), lastSegment)))}
		s.next, t.newest, s = next, next, next
	}
	before := len(s.buf)
	s.buf = t.form.append(s.buf, id, text)
	s.entries = append(s.entries, entry{seq: seq, end: len(s.buf)})
	t.events++
	t.bytes += len(s.buf) - before
	t.trim()
}

func (t *tail) trim() {
	for t.oldest != t.newest {
		s := t.oldest
		if t.events-len(s.entries) < t.limit.events && t.bytes-len(s.buf) < t.limit.bytes {
			return
		}
		t.drop(s)
	}
}

// dropBefore drops the segments before number no, which no reader needs.
func (t *tail) dropBefore(no int) {
	for t.oldest.no < no {
		t.drop(t.oldest)
	}
	if t.lastDropped != nil {
		t.lastDropped.next, t.lastDropped = nil, nil
	}
}

// drop drops the oldest segment, which is s.
func (t *tail) drop(s *segment) {
	if n := len(s.entries); n > 0 {
		t.base = s.entries[n-1].seq
	}
	t.events -= len(s.entries)
	t.bytes -= len(s.buf)
	t.oldest, s.dropped = s.next, true
	// A stuck reader of an old segment must not keep all later ones alive.
	if t.lastDropped != nil {
		t.lastDropped.next = nil
	}
	t.lastDropped = s
}

// seek returns the cursor after the position seq, which must not be before
// t.base.
func (t *tail) seek(seq int64) cursor {
	for s := t.oldest; ; s = s.next {
		at, _ := slices.BinarySearchFunc(s.entries, seq, func(e entry, seq int64) int {
			if e.seq <= seq {
				return -1
			}
			return 1
		})
		if at < len(s.entries) || s.next == nil {
			return cursor{seg: s, at: at}
		}
	}
}

// end returns the cursor after all events.
func (t *tail) end() cursor { return cursor{seg: t.newest, at: len(t.newest.entries)} }

// next returns the n events that are ready at c as one range of bytes and moves
// c behind them. It reports false when c fell off the tail.
func (t *tail) next(c *cursor) (b []byte, n int, ok bool) {
	for c.at == len(c.seg.entries) {
		if c.seg.next == nil {
			return nil, 0, !c.seg.dropped
		}
		c.seg, c.at = c.seg.next, 0
	}
	s := c.seg
	if s.dropped {
		return nil, 0, false
	}
	from := 0
	if c.at > 0 {
		from = s.entries[c.at-1].end
	}
	n = len(s.entries) - c.at
	c.at = len(s.entries)
	return s.buf[from:len(s.buf):len(s.buf)], n, true
}
