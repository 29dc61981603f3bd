package quota

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/agora-arena/arena/arena"
)

// limiterKeys is how many callers one generation of a limiter remembers.
const limiterKeys = 20_000

// slotWait is when to try again for a slot, in seconds: a guess, since slots
// become free at any time.
const slotWait = 5

// limiter keeps one token bucket per caller. It holds at most two generations
// of limiterKeys callers: when the young one is full, the old one is dropped.
// A caller that returns moves to the young one, so a forgotten caller has been
// quiet for long, and its bucket had filled up anyway.
type limiter struct {
	rate  rate.Limit
	burst int

	mu    sync.Mutex
	young map[string]*rate.Limiter
	old   map[string]*rate.Limiter
}

// newLimiter allows n in each per, n at once. It returns nil, which limits
// nothing, for n <= 0.
func newLimiter(n int, per time.Duration) *limiter {
	if n <= 0 {
		return nil
	}
	return &limiter{rate: rate.Every(per / time.Duration(n)), burst: n, young: map[string]*rate.Limiter{}}
}

// share is one of the buckets that count a caller: its own, or its site's.
type share struct {
	key    string
	factor int // how many times the allowance of one caller
}

// shares returns the buckets of a caller.
func shares(caller string) []share { return []share{{caller, 1}} }

// addressShares returns the buckets of an IP address (arena.AddressKeys).
func addressShares(ip string) []share {
	network, site := arena.AddressKeys(ip)
	if site == "" {
		return shares(network)
	}
	return []share{{network, 1}, {site, arena.SiteFactor}}
}

// addressedShares returns the buckets of a text that begins with an IP address and a
// space: those of the address, for the rest of the text alone.
func addressedShares(caller string) []share {
	ip, rest, _ := strings.Cut(caller, " ")
	of := addressShares(ip)
	for i := range of {
		of[i].key += " " + rest
	}
	return of
}

// wait returns the whole seconds until each bucket of a caller has a token.
func (l *limiter) wait(of []share, now time.Time) (seconds int) {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest(of, now)
}

// take uses one token of each bucket of a caller. When one has none, take uses
// none and returns the whole seconds to wait.
func (l *limiter) take(of []share, now time.Time) (seconds int, ok bool) {
	if l == nil {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if seconds = l.longest(of, now); seconds > 0 {
		return seconds, false
	}
	for _, s := range of {
		l.bucket(s).AllowN(now, 1)
	}
	return 0, true
}

// charge uses n tokens of each bucket of a caller, also those that it has not
// got yet.
func (l *limiter) charge(of []share, n int, now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range of {
		b := l.bucket(s)
		b.ReserveN(now, min(n, b.Burst()))
	}
}

// giveBack adds one token to each bucket of a caller.
func (l *limiter) giveBack(of []share, now time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range of {
		l.bucket(s).ReserveN(now, -1)
	}
}

func (l *limiter) longest(of []share, now time.Time) (seconds int) {
	for _, s := range of {
		b := l.bucket(s)
		if missing := 1 - b.TokensAt(now); missing > 0 {
			seconds = max(seconds, int(math.Ceil(missing/float64(b.Limit()))))
		}
	}
	return seconds
}

func (l *limiter) bucket(of share) *rate.Limiter {
	if b, ok := l.young[of.key]; ok {
		return b
	}
	b, ok := l.old[of.key]
	if !ok {
		b = rate.NewLimiter(l.rate*rate.Limit(of.factor), l.burst*of.factor)
	}
	if len(l.young) >= limiterKeys {
		l.old, l.young = l.young, make(map[string]*rate.Limiter, limiterKeys)
	}
	l.young[of.key] = b
	return b
}

// Slots bound how many things of one kind the clients of an address have open
// at once. They are safe for concurrent use.
type Slots struct {
	most    int
	refusal string

	mu   sync.Mutex
	open map[string]int
}

// NewSlots returns Slots that allow an address most at a time, or any number for
// most <= 0. The error of a refusal is refusal, followed by the number.
func NewSlots(most int, refusal string) *Slots {
	return &Slots{most: most, refusal: refusal, open: map[string]int{}}
}

// Acquire returns a slot of the address, or an error with the code rate_limited.
// release returns it; calling it again does nothing.
func (s *Slots) Acquire(address string) (release func(), err error) {
	of := addressShares(address)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, share := range of {
		if most := s.most * share.factor; most > 0 && s.open[share.key] >= most {
			return nil, Exceeded(slotWait, s.refusal+", "+strconv.Itoa(most))
		}
	}
	for _, share := range of {
		s.open[share.key]++
	}
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, share := range of {
			if s.open[share.key]--; s.open[share.key] == 0 {
				delete(s.open, share.key)
			}
		}
	}), nil
}
