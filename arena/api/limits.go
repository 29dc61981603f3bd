package api

import (
	"context"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound what one caller may ask for (rulebook, section 3). Zero
// switches a limit off.
type Limits struct {
	AddressPerMinute  int // requests of one address without a good token
	TokenPerMinute    int // requests of one token
	SignUpsPerHour    int // new owners from one address
	ChecksPerMinute   int // endpoint checks that one token may cause (threat S7)
	RehearsalsPerHour int // of one owner
	PasswordsPerHour  int // of leagues, that one owner may try (threat A4)
	AgentsPerOwner    int // agents of one owner that are not retired (threat S7: each is called for ever)
	ChallengesPerDay  int // of one owner
	ChallengedPerDay  int // of one opponent, by all owners
}

// DefaultLimits are those of the rulebook.
func DefaultLimits() Limits {
	return Limits{
		AddressPerMinute: 60, TokenPerMinute: 600, SignUpsPerHour: 120, ChecksPerMinute: 240, RehearsalsPerHour: 12, PasswordsPerHour: 60,
		AgentsPerOwner: 200, ChallengesPerDay: 20, ChallengedPerDay: 60,
	}
}

const day = 24 * time.Hour

type limiters struct {
	address, token, signUp, check, rehearsal, password, challenge, challenged *limiter
}

func newLimiters(l Limits) limiters {
	return limiters{
		address:   newLimiter(l.AddressPerMinute, time.Minute),
		token:     newLimiter(l.TokenPerMinute, time.Minute),
		signUp:    newLimiter(l.SignUpsPerHour, time.Hour),
		check:     newLimiter(l.ChecksPerMinute, time.Minute),
		rehearsal: newLimiter(l.RehearsalsPerHour, time.Hour),
		password:  newLimiter(l.PasswordsPerHour, time.Hour),
		challenge: newLimiter(l.ChallengesPerDay, day), challenged: newLimiter(l.ChallengedPerDay, day),
	}
}

// TakeShared uses one of limit tokens of key, which come back over window, and
// counts over all nodes. Without one it gives the time to wait for it. An
// error means that nobody counts over all nodes now.
type TakeShared func(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, ok bool, err error)

// takeShared asks the limit over all nodes, after this node's own has let the
// caller through: when the nodes cannot count together, that one holds.
func (a *API) takeShared(ctx context.Context, what, key string, limit int, window time.Duration) (wait int, ok bool) {
	if a.TakeShared == nil || limit <= 0 {
		return 0, true
	}
	d, ok, err := a.TakeShared(ctx, what+":"+key, limit, window)
	if err != nil {
		a.Logger.DebugContext(ctx, "limit was not counted over all nodes", "limit", what, "error", err)
		return 0, true
	}
	return int(math.Ceil(d.Seconds())), ok
}

// quota is what a caller, the key, may do at most in a time.
type quota struct {
	what, key string
	here      *limiter
	most      int
	per       time.Duration
	text      string // of the refusal
}

// hold keeps a caller to a quota, on this node and on all.
func (a *API) hold(ctx context.Context, q quota) error {
	wait, ok := q.here.take(q.key, a.Now())
	if ok {
		wait, ok = a.takeShared(ctx, q.what, q.key, q.most, q.per)
	}
	if !ok {
		return tooMany(wait, q.text)
	}
	return nil
}

// limiterKeys is how many callers one generation of a limiter remembers.
const limiterKeys = 20_000

// limiter keeps one token bucket per caller. It holds at most two generations
// of limiterKeys callers: when the young one is full, the old one is dropped.
// A caller that is seen again moves to the young one, so who is forgotten has
// been quiet for long, and its bucket had filled up anyway.
type limiter struct {
	rate  rate.Limit
	burst int

	mu    sync.Mutex
	young map[string]*rate.Limiter
	old   map[string]*rate.Limiter
}

// newLimiter allows n in each per, n at once; nil (no limit) for n <= 0.
func newLimiter(n int, per time.Duration) *limiter {
	if n <= 0 {
		return nil
	}
	return &limiter{rate: rate.Every(per / time.Duration(n)), burst: n, young: map[string]*rate.Limiter{}}
}

// take uses one of the caller's tokens. When there is none it gives the whole
// seconds to wait.
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

// addressKey is the caller behind an address: the address itself for IPv4,
// the /64 for IPv6, which one host may use whole.
func addressKey(ip string) string {
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
