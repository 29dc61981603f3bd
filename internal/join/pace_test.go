package join

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		sent := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(events)
		}
		p := newPace(func(text string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, text)
		})
		p.add("first ")
		p.add("second ")
		p.add("third")
		synctest.Wait()
		if got := sent(); !slices.Equal(got, []string{"first"}) {
			t.Errorf("at once: %q", got)
		}
		time.Sleep(paceEvery)
		synctest.Wait()
		if got := sent(); !slices.Equal(got, []string{"first", "second third"}) {
			t.Errorf("after the pause: %q", got)
		}
		time.Sleep(paceEvery)
		synctest.Wait()
		p.add(strings.Repeat("x", 3*paceBytes)) // one event, cut
		p.add("rest")
		p.close()
		p.add("late")
		time.Sleep(paceEvery)
		if got := sent(); len(got) != 4 || len(got[2]) != paceBytes || got[3] != "rest" {
			t.Errorf("%d events: %.60q", len(got), got)
		}
	})
}

// A program that writes without end costs a bounded number of events.
func TestPace_bounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var count atomic.Int32
		p := newPace(func(string) { count.Add(1) })
		for range 3 * paceMost {
			p.add("text ")
			time.Sleep(paceEvery + time.Millisecond)
		}
		p.close()
		if count.Load() != paceMost {
			t.Errorf("%d events, want %d", count.Load(), paceMost)
		}
	})
}
