package testwait

import (
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test whose end is recorded.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(string, ...any) {
	f.failed = true
	panic(f)
}

func TestUntil(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Until(t, "a second is over", func() bool { return time.Since(start) >= time.Second })
		if took := time.Since(start); took != time.Second {
			t.Errorf("looked after %v", took)
		}
		f := &failing{TB: t}
		defer func() {
			if recover() != f || !f.failed || time.Since(start) != time.Second+limit {
				t.Errorf("failed %t after %v", f.failed, time.Since(start))
			}
		}()
		Every(f, time.Second, "nothing", func() bool { return false })
	})
}
