package protocol

import (
	"time"

	"github.com/agora-arena/arena/arena"
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
	FailBusy        Failure = arena.ReasonHostBusy // the limit of requests to the address is reached

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
	Streamed    bool   // the body was an event stream and went to Request.Stream

	Connected bool // a connection was made, TLS included
	Reused    bool // the connection had carried a request before
	Written   bool // the request was written
	Replied   bool // at least one byte came back

	SentAt  time.Time     // when the request was written, zero if it was not
	Elapsed time.Duration // from SentAt to the last byte, or to the end of the exchange
}

// overdue is the rule of the time limit: what ends with it is in time, what
// ends later is not (docs/rules.md, section 3: 1 ms late is late).
func overdue(elapsed, limit time.Duration) bool { return elapsed > limit }

// watch keeps the clock of one request.
type watch struct {
	now   func() time.Time
	limit time.Duration
	whole bool      // the limit covers connecting too
	began time.Time // when the limit's clock started; of a whole call the start of all
}

// sent notes in x that the request was written and returns the deadline of the
// exchange. Only its first call counts.
func (w *watch) sent(x *Exchange) (until time.Time) {
	if x.SentAt.IsZero() {
		x.SentAt = w.now()
		if !w.whole {
			w.began = x.SentAt
		}
	}
	return w.began.Add(w.limit + grace)
}

// finish completes x, whose connection was made, and applies the limit.
func (w *watch) finish(x *Exchange) {
	end := w.now()
	if !x.SentAt.IsZero() {
		x.Elapsed = end.Sub(x.SentAt)
	}
	if x.Failure == FailCancelled || x.SentAt.IsZero() && !w.whole || !overdue(end.Sub(w.began), w.limit) {
		return
	}
	if x.Failure == "" {
		x.Failure = FailLate
	} else {
		x.Failure = FailTimeout
	}
}
