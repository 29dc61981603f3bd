package quota

import (
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC)

func TestLimiter_take(t *testing.T) {
	t.Parallel()
	l := newLimiter(60, time.Minute)
	now := start
	for i := range 60 {
		if wait, ok := l.take("a", now); !ok {
			t.Fatalf("request %d must wait %d s", i+1, wait)
		}
	}
	if wait, ok := l.take("a", now); ok || wait != 1 {
		t.Errorf("the 61st: ok %v, wait %d; want to wait 1 s", ok, wait)
	}
	if _, ok := l.take("b", now); !ok {
		t.Error("another caller has to wait")
	}
	if _, ok := l.take("a", now.Add(time.Second)); !ok {
		t.Error("after a second still no token")
	}
	if _, ok := l.take("a", now.Add(time.Second)); ok {
		t.Error("a refused request must not have used a token, and a second gives one only")
	}
}

func TestLimiter_off(t *testing.T) {
	t.Parallel()
	l := newLimiter(0, time.Minute)
	for range 1000 {
		if _, ok := l.take("a", start); !ok {
			t.Fatal("a limit of zero is none")
		}
	}
}

// Many callers do not fill the memory, and a busy one is not forgotten. Threat V2.
func TestLimiter_bounded(t *testing.T) {
	t.Parallel()
	l := newLimiter(1, time.Hour)
	l.take("busy", start)
	for i := range 5 * limiterKeys {
		l.take(fmt.Sprint(i), start)
		if i%1000 == 0 {
			if _, ok := l.take("busy", start); ok {
				t.Fatalf("after %d others the busy caller was forgotten", i)
			}
		}
	}
	if n := len(l.young) + len(l.old); n > 2*limiterKeys {
		t.Errorf("%d callers in memory, want at most %d", n, 2*limiterKeys)
	}
}

func TestAddressKey(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.0.2.7":           "192.0.2.7",
		"::ffff:192.0.2.7":    "192.0.2.7",
		"2001:db8:1:2:3::4":   "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::": "2001:db8:1:2::/64",
		"fe80::1%eth0":        "fe80::/64",
		"unknown":             "unknown",
	} {
		if got := AddressKey(in); got != want {
			t.Errorf("AddressKey(%q) = %q, want %q", in, got, want)
		}
	}
}
