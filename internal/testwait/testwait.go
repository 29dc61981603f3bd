package testwait

import (
	"testing"
	"time"
)

// limit is how long a state may take to come about, on a busy machine too.
const limit = 4 * time.Minute

// Until returns when cond holds. It fails the test after four minutes; what names the
// state then.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	Every(t, 20*time.Millisecond, what, cond)
}

// Every is Until with a longer interval, for states that are expensive to read.
func Every(t testing.TB, pause time.Duration, what string, cond func() bool) {
	t.Helper()
	late := time.NewTimer(limit)
	defer late.Stop()
	again := time.NewTicker(pause)
	defer again.Stop()
	for !cond() {
		select {
		case <-again.C:
		case <-late.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}
