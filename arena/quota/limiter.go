package quota

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiterKeys is how many callers one generation of a limiter remembers.
const limiterKeys = 20_000

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

// take uses one of the caller's tokens. When there is none it returns the
// whole seconds to wait.
func (l *limiter) take(key string, now time.Time) (wait int, ok bool) {
	if l == nil {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket := l.bucket(key)
	r := bucket.ReserveN(now, 1)
	d := r.DelayFrom(now)
	if d <= 0 {
		return 0, true
	}
	r.CancelAt(now)
	return int(math.Ceil(d.Seconds())), false
}

func (l *limiter) bucket(key string) *rate.Limiter {
	if b, ok := l.young[key]; ok {
		return b
	}
	b, ok := l.old[key]
	if !ok {
		b = rate.NewLimiter(l.rate, l.burst)
	}
	if len(l.young) >= limiterKeys {
		l.old, l.young = l.young, make(map[string]*rate.Limiter, limiterKeys)
	}
	l.young[key] = b
	return b
}

// AddressKey returns the caller behind an IP address: the address itself for
// IPv4, the /64 for IPv6, all of which one host may use. Any other text is its
// own key.
func AddressKey(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return ip
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return ip
	}
	return prefix.String()
}
