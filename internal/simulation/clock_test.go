package simulation

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// clock is the clock of one node: right, or ahead, or behind. Steps change what it
// shows and not the time that passes, as with the clock of a real computer.
type clock struct{ ahead atomic.Int64 }

// step sets by how much the clock is wrong.
func (c *clock) step(by time.Duration) { c.ahead.Store(int64(by)) }

// offset returns by how much the clock is ahead.
func (c *clock) offset() time.Duration { return time.Duration(c.ahead.Load()) }

// Parts of the first word of a time.Time: a flag, 33 bits of seconds since 1885, and 30 bits
// of nanoseconds. The second word is the monotonic reading.
const (
	hasMonotonic = 1 << 63
	secondsShift = 30
)

// now returns a time with a monotonic reading, as time.Now does outside bubbles and not inside.
func (c *clock) now() time.Time {
	type parts struct {
		wall uint64
		ext  int64
		loc  *time.Location
	}
	right := time.Now()
	shown := right.Add(c.offset())
	seconds := shown.Unix() - time.Date(1885, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	made := parts{hasMonotonic | uint64(seconds)<<secondsShift | uint64(shown.Nanosecond()), right.UnixNano(), time.Local}
	return *(*time.Time)(unsafe.Pointer(&made))
}

func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &clock{}
		before := c.now()
		if !before.Equal(time.Now()) || until(before) != 0 {
			t.Errorf("%v for %v, %v ago", before, time.Now(), until(before))
		}
		time.Sleep(time.Second)
		c.step(-time.Hour)
		after := c.now()
		if d := after.Sub(before); d != time.Second {
			t.Errorf("%v passed, want 1s", d)
		}
		if d := after.Round(0).Sub(before.Round(0)); d != time.Second-time.Hour {
			t.Errorf("shows %v later, want an hour and a second less", d)
		}
		if d := until(after.Add(time.Minute)); d != time.Minute {
			t.Errorf("a minute from now is in %v", d)
		}
	})
}
