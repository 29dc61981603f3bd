package quota

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func TestLimiter_take(t *testing.T) {
	t.Parallel()
	l := newLimiter(60, time.Minute)
	now := start
	for i := range 60 {
		if wait, ok := l.take(shares("a"), now); !ok {
			t.Fatalf("request %d must wait %d s", i+1, wait)
		}
	}
	if wait, ok := l.take(shares("a"), now); ok || wait != 1 {
		t.Errorf("the 61st: ok %v, wait %d; want to wait 1 s", ok, wait)
	}
	if _, ok := l.take(shares("b"), now); !ok {
		t.Error("another caller has to wait")
	}
	if _, ok := l.take(shares("a"), now.Add(time.Second)); !ok {
		t.Error("after a second still no token")
	}
	if _, ok := l.take(shares("a"), now.Add(time.Second)); ok {
		t.Error("a refused request must not have used a token, and a second gives one only")
	}
}

func TestLimiter_off(t *testing.T) {
	t.Parallel()
	l := newLimiter(0, time.Minute)
	for range 1000 {
		if _, ok := l.take(shares("a"), start); !ok {
			t.Fatal("a limit of zero is none")
		}
	}
}

// Many callers do not fill the memory, and a busy one is not forgotten. Threat V2.
func TestLimiter_bounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(1, time.Hour)
	l.take(shares("busy"), start)
	for i := range 5 * limiterKeys {
		l.take(shares(fmt.Sprint(i)), start)
		if i%1000 == 0 {
			if _, ok := l.take(shares("busy"), start); ok {
				t.Fatalf("after %d others the busy caller was forgotten", i)
			}
		}
	}
	if n := len(l.young) + len(l.old); n > 2*limiterKeys {
		t.Errorf("%d callers in memory, want at most %d", n, 2*limiterKeys)
	}
}

// A site has SiteFactor times the allowance of one network, however many
// networks it uses; a refused request uses nothing of either. Threat V5.
func TestLimiter_take_site(t *testing.T) {
	t.Parallel()
	const each = 3
	l := newLimiter(each, time.Minute)
	network := func(i int) []share { return addressShares(fmt.Sprintf("2001:db8:1:%x::%x", i%0x10000, 1+i/0x10000)) }
	passed := 0
	for i := range 100_000 { // more networks than there are in a /48
		if wait, ok := l.take(network(i), start); ok {
			passed++
		} else if wait != 3 { // 24 a minute
			t.Fatalf("network %d must wait %d s, want 3", i, wait)
		}
	}
	if passed != each*arena.SiteFactor {
		t.Errorf("a /48 sent %d requests, want %d", passed, each*arena.SiteFactor)
	}
	if _, ok := l.take(addressShares("2001:db8:2::1"), start); !ok {
		t.Error("another site has to wait")
	}
	if wait := l.wait(network(70_000), start.Add(3*time.Second)); wait != 0 {
		t.Errorf("refused requests have used tokens: wait %d s", wait)
	}
	one := addressShares("2001:db8:3:1::1")
	for range each {
		if _, ok := l.take(one, start); !ok {
			t.Fatal("a network has to wait before its allowance is used")
		}
	}
	if _, ok := l.take(addressShares("2001:db8:3:1:ffff::2"), start); ok {
		t.Error("two addresses of one /64 have two allowances")
	}
	if _, ok := l.take(addressShares("2001:db8:3:2::1"), start); !ok {
		t.Error("another network of a site that is within its allowance has to wait")
	}
}

// Threat V5: a refusal names the limit.
func TestSlots_Acquire(t *testing.T) {
	t.Parallel()
	s := NewSlots(2, "too many")
	var open []func()
	acquire := func(ip string) bool {
		release, err := s.Acquire(ip)
		if err != nil {
			if e, ok := errors.AsType[*arena.Error](err); !ok || e.Code != arena.CodeRateLimited || e.RetryAfter <= 0 || !strings.HasPrefix(e.Message, "too many, ") {
				t.Errorf("%s: %+v", ip, err)
			}
			return false
		}
		open = append(open, release)
		return true
	}
	if !acquire("192.0.2.1") || !acquire("::ffff:192.0.2.1") || acquire("192.0.2.1") || !acquire("192.0.2.2") {
		t.Error("an IPv4 address has not two slots")
	}
	passed := 0
	for i := range 0x10000 {
		if acquire(fmt.Sprintf("2001:db8:1:%x::1", i)) {
			passed++
		}
	}
	if passed != 2*arena.SiteFactor {
		t.Errorf("a /48 has %d slots, want %d", passed, 2*arena.SiteFactor)
	}
	for _, release := range open {
		release()
		release()
	}
	if len(s.open) != 0 {
		t.Errorf("after all was released: %v", s.open)
	}
	for range 100 {
		if release, err := NewSlots(0, "").Acquire("192.0.2.1"); err != nil {
			t.Fatal("a limit of zero is none")
		} else {
			release()
		}
	}
}
