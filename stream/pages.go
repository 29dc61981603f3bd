package stream

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// pageBytes bounds the pages that are kept. Spectators that read a log at the
// same time share its pages.
const pageBytes = 8 << 20

// pageKey identifies the logPage events after seq no*logPage in one form.
type pageKey struct {
	match string
	form  form
	no    int64
}

// page is a part of a log, read and encoded once for all its readers.
type page struct {
	done  chan struct{}
	first int64  // seq of the first event
	buf   []byte // the events
	ends  []int  // where each of them ends
	err   error
}

// pages holds the complete pages that were read last. They never change, since a
// log only grows. Incomplete ones are shared by the readers that wait for them.
type pages struct {
	mu    sync.Mutex
	known map[pageKey]*page
	order []pageKey // of the whole ones, the oldest first
	bytes int
}

// get returns a page and calls read if it is not known. fresh means that this
// call has read it.
func (p *pages) get(key pageKey, read func(*page)) (found *page, fresh bool) {
	p.mu.Lock()
	found = p.known[key]
	if found == nil {
		found = &page{done: make(chan struct{})}
		p.known[key] = found
		p.mu.Unlock()
		read(found)
		p.keep(key, found)
		close(found.done)
		return found, true
	}
	p.mu.Unlock()
	<-found.done
	return found, false
}

func (p *pages) keep(key pageKey, got *page) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if got.err != nil || len(got.ends) < logPage {
		delete(p.known, key)
		return
	}
	p.order = append(p.order, key)
	p.bytes += len(got.buf)
	for p.bytes > pageBytes {
		p.drop(0)
	}
}

func (p *pages) drop(i int) {
	key := p.order[i]
	p.bytes -= len(p.known[key].buf)
	delete(p.known, key)
	p.order = slices.Delete(p.order, i, i+1)
}

func (p *pages) size() (bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// forget drops the pages of a match without spectators.
func (p *pages) forget(match string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, key := range slices.Backward(p.order) {
		if key.match == match {
			p.drop(i)
		}
	}
}

// readPage reads a page of the log.
func (t *topic) readPage(key pageKey, p *page) {
	ctx, cancel := context.WithTimeout(t.hub.clients.Context(), t.hub.timing.read)
	defer cancel()
	since := key.no * logPage
	events, err := t.rows(ctx, since)
	if err != nil {
		p.err = fmt.Errorf("read events after %d: %w", since, err)
		return
	}
	p.first = since + 1
	p.ends = make([]int, 0, len(events))
	var text []byte
	for i := range events {
		e := &events[i]
		if e.Seq != p.first+int64(i) {
			break // the next read finds the gap
		}
		text = e.AppendJSON(text[:0])
		p.buf = key.form.append(p.buf, e.Seq, text)
		p.ends = append(p.ends, len(p.buf))
	}
}

// after returns the n events that follow seq: all, or as many as fit into
// limit bytes, at least one.
func (p *page) after(seq int64, limit int) (b []byte, n int) {
	at := int(seq + 1 - p.first)
	if at >= len(p.ends) {
		return nil, 0
	}
	from := 0
	if at > 0 {
		from = p.ends[at-1]
	}
	to, _ := slices.BinarySearch(p.ends, from+limit+1)
	to = max(to, at+1)
	return p.buf[from:p.ends[to-1]:p.ends[to-1]], to - at
}
