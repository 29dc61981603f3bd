package arenaagent

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	queueSize   = 256 // events that wait; the oldest is dropped for the next
	batchSize   = 16  // events handed over at once
	flushTime   = 100 * time.Millisecond
	sendTime    = 3 * time.Second // for one batch, the dial included
	linkIdle    = 90 * time.Second
	firstPause  = 100 * time.Millisecond // after a failure; doubles
	longestWait = 3 * time.Second
	eventRate   = 20 // a second; the arena refuses more
	eventBurst  = 40
)

// errFinal ends a link's sending until a new token comes; wrapped by a sink.
var errFinal = errors.New("the arena takes no more events")

// sink sends events to the arena.
type sink interface {
	// send sends a batch in order and returns how many of it were sent. The
	// rest of a failed batch is sent again unless the error is errFinal.
	send(ctx context.Context, token string, batch [][]byte) (int, error)
	close()
}

// link carries the events of one match, whatever their round, from the
// handlers to the arena. It has one goroutine, run, which ends when
// no handler has been at work for a while.
type link struct {
	sink    sink
	limit   *rate.Limiter
	dropped *atomic.Int64
	log     *slog.Logger
	wake    chan struct{} // holds one

	mu     sync.Mutex
	token  string // of the queued events
	queue  [][]byte
	idle   chan struct{} // closed while nothing waits to be sent, or nothing can be
	quiet  bool          // idle is closed
	broken bool          // errFinal: nothing is sent under this token
	users  int           // handlers at work on the match
	ended  bool          // run has returned: a new link is needed
}

func newLink(s sink, dropped *atomic.Int64, log *slog.Logger) *link {
	l := &link{
		sink: s, limit: rate.NewLimiter(eventRate, eventBurst), dropped: dropped, log: log,
		wake: make(chan struct{}, 1), idle: make(chan struct{}), quiet: true,
	}
	close(l.idle)
	return l
}

// push queues an event reported under token. Events of an earlier token are
// of a round that is over: the arena would take them for the new one's.
func (l *link) push(token string, event []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if token != l.token {
		l.drop(len(l.queue))
		l.token, l.broken = token, false
	}
	if l.broken || l.ended {
		l.dropped.Add(1)
		return
	}
	if len(l.queue) == queueSize {
		l.drop(1)
	}
	l.queue = append(l.queue, event)
	if l.quiet {
		l.idle, l.quiet = make(chan struct{}), false
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// drop forgets the oldest n events. It needs l.mu.
func (l *link) drop(n int) {
	l.dropped.Add(int64(n))
	l.queue = append(l.queue[:0], l.queue[n:]...)
}

// flush waits until the arena has all pushed events, 100 ms have passed, or the
// connection has failed.
func (l *link) flush(ctx context.Context) {
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	timer := time.NewTimer(flushTime)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// acquire counts a handler that will push. It returns false when run has
// ended: a new link is needed.
func (l *link) acquire() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.users++
	}
	return !l.ended
}

// done releases an acquire.
func (l *link) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
}

// run sends pushed events until ctx ends or the link was idle for linkIdle.
func (l *link) run(ctx context.Context) {
	defer l.sink.close()
	timer := time.NewTimer(linkIdle)
	defer timer.Stop()
	pause := firstPause
	for {
		token, batch := l.take()
		if len(batch) == 0 {
			timer.Reset(linkIdle)
			select {
			case <-l.wake:
				continue
			case <-timer.C:
			case <-ctx.Done():
			}
			if l.end(ctx.Err() != nil) {
				return
			}
			continue
		}
		n, err := l.send(ctx, token, batch)
		batch = batch[n:]
		switch {
		case err == nil:
			pause = firstPause
			l.sent()
		case errors.Is(err, errFinal):
			l.log.DebugContext(ctx, "events refused", slog.Any("error", err))
			l.giveUp(token, len(batch))
		default:
			l.log.DebugContext(ctx, "events not sent", slog.Any("error", err))
			l.putBack(token, batch)
			if !sleep(ctx, pause+rand.N(pause)) { //nolint:gosec // jitter, not a secret
				l.end(true)
				return
			}
			pause = min(2*pause, longestWait)
		}
	}
}

func (l *link) send(ctx context.Context, token string, batch [][]byte) (int, error) {
	if err := l.limit.WaitN(ctx, len(batch)); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	return l.sink.send(ctx, token, batch)
}

func (l *link) take() (token string, batch [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), batchSize)
	batch = append(batch, l.queue[:n]...)
	l.queue = append(l.queue[:0], l.queue[n:]...)
	return l.token, batch
}

// sent marks the link idle when nothing is left to send.
func (l *link) sent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.release()
	}
}

// putBack makes a failed batch the next one again, and ends all waits for it.
func (l *link) putBack(token string, batch [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
	if token != l.token {
		l.dropped.Add(int64(len(batch)))
		return
	}
	l.queue = append(batch, l.queue...)
	l.drop(max(len(l.queue)-queueSize, 0))
}

func (l *link) giveUp(token string, lost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped.Add(int64(lost))
	if token == l.token {
		l.broken = true
		l.drop(len(l.queue))
		l.release()
	}
}

// release lets flush go. It needs l.mu.
func (l *link) release() {
	if !l.quiet {
		close(l.idle)
		l.quiet = true
	}
}

// end marks the link as over, unless it is in use and now is false. It
// reports whether it did.
func (l *link) end(now bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (len(l.queue) > 0 || l.users > 0) && !now {
		return false
	}
	l.drop(len(l.queue))
	l.ended = true
	l.release()
	return true
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
