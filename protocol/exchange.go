package protocol

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"sync"
	"time"
)

// Failure is the stable word for why an exchange brought no complete reply.
type Failure string

// The failures.
const (
	// FailCancelled means that the caller's context ended: the arena's own doing.
	FailCancelled Failure = "cancelled"

	// No connection was made and nothing was sent.
	FailBlocked     Failure = "blocked" // the guard refused the address
	FailDNS         Failure = "dns"
	FailRefused     Failure = "refused"
	FailUnreachable Failure = "unreachable"
	FailConnect     Failure = "connect_timeout"
	FailTLS         Failure = "tls_error"

	// FailDropped means that the connection was lost before any reply byte.
	FailDropped Failure = "dropped"

	// The limit ended the exchange, or a complete reply came just after it.
	FailTimeout Failure = "time_limit"
	FailLate    Failure = "late"

	// Something came back that is not a complete HTTP reply within the bounds.
	FailHTTP      Failure = "bad_http"
	FailHeaders   Failure = "headers_too_large"
	FailTruncated Failure = "truncated"
	FailTooLarge  Failure = "too_large"
)

// Exchange is all that a driver needs to know of one request and its reply.
type Exchange struct {
	Failure Failure // "" when a complete reply came in time
	Err     error   // the cause of a Failure, for logs; may be nil

	Status      int    // 0..999; when Failure is set, 0 means that no head came
	ContentType string // several values are joined with ", "
	Encoding    string // Content-Encoding as it came
	Body        []byte // at most the limit; nil for status 101, whose body is never read

	Connected bool // a connection was made, TLS included
	Written   bool // the request was written
	Replied   bool // at least one byte came back

	SentAt  time.Time     // when the request was written, zero if it was not
	Elapsed time.Duration // from SentAt to the last byte, or to the end of the exchange
}

var (
	errLimit = errors.New("the time limit is over")
	errSetup = errors.New("the request could not be written in time")
)

// overdue is the rule of the time limit: what ends with it is in time, what
// ends later is not (rulebook, section 3: 1 ms late is late).
func overdue(elapsed, limit time.Duration) bool { return elapsed > limit }

// watch follows one request through the transport and keeps its clock. The
// hooks of a trace run on the transport's goroutines, at times after the call
// has returned.
type watch struct {
	now    func() time.Time
	cancel context.CancelCauseFunc
	limit  time.Duration

	mu        sync.Mutex
	setup     *time.Timer // cuts the call while nothing is written
	cut       *time.Timer // cuts it after the limit
	began     time.Time   // when the limit's clock started
	sentAt    time.Time
	handshake bool
	connected bool
	written   bool
	replied   bool
	over      bool
}

func (w *watch) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		TLSHandshakeStart: func() { w.note(func() { w.handshake = true }) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			w.note(func() { w.handshake = err != nil })
		},
		GotConn: func(httptrace.GotConnInfo) { w.note(func() { w.connected = true }) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				w.sent(func() { w.written = true })
			}
		},
		// A reply may overtake the end of a long request: the clock runs then too.
		GotFirstResponseByte: func() { w.sent(func() { w.replied = true }) },
	}
}

func (w *watch) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// arm bounds everything that comes before the request is written.
func (w *watch) arm(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setup = time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.began.IsZero() {
			w.cancel(errSetup)
		}
	})
}

// start starts the clock of the limit at once.
func (w *watch) start() { w.note(w.startLocked) }

func (w *watch) startLocked() {
	if w.over || !w.began.IsZero() {
		return
	}
	w.began = w.now()
	if w.setup != nil {
		w.setup.Stop()
	}
	w.cut = time.AfterFunc(w.limit+grace, func() { w.cancel(errLimit) })
}

func (w *watch) sent(f func()) {
	w.note(func() {
		f()
		w.startLocked()
		if w.sentAt.IsZero() {
			w.sentAt = w.now()
		}
	})
}

// finish completes x with what was seen and applies the limit.
func (w *watch) finish(x *Exchange) {
	end := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	x.Connected, x.Written, x.Replied, x.SentAt = w.connected, w.written, w.replied, w.sentAt
	if !w.sentAt.IsZero() {
		x.Elapsed = end.Sub(w.sentAt)
	}
	if x.Failure == FailCancelled || !w.connected || w.began.IsZero() || !overdue(end.Sub(w.began), w.limit) {
		return
	}
	if x.Failure == "" {
		x.Failure = FailLate
	} else {
		x.Failure = FailTimeout
	}
}

// stop ends the timers. A hook that runs later starts none.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	for _, t := range []*time.Timer{w.setup, w.cut} {
		if t != nil {
			t.Stop()
		}
	}
}
