package playout

import (
	"math"
	"testing"
	"time"
)

// The median of durations matches the median of the sorted list to one part in 32.
func TestDurations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all  []time.Duration
		want time.Duration
	}{
		"none":     {nil, 0},
		"one":      {[]time.Duration{1234}, 1234},
		"short":    {[]time.Duration{0, 1, 2, 3, 63}, 2},
		"even":     {[]time.Duration{10, 20, 30, 40}, 20},
		"outlier":  {[]time.Duration{100 * time.Microsecond, 120 * time.Microsecond, time.Hour}, 120 * time.Microsecond},
		"negative": {[]time.Duration{-time.Second}, 0}, // the clock was set back
		"longest":  {[]time.Duration{math.MaxInt64}, math.MaxInt64},
	} {
		var d durations
		for _, each := range c.all {
			d.add(each, 1)
		}
		if got := d.median(); got > c.want || got < c.want-c.want/32 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	for d := time.Duration(1); d < 1<<40; d += d/64 + 1 {
		if got := least(bucket(d)); got > d || got < d-d/32 || bucket(d) < bucket(d-1) {
			t.Fatalf("%v is in bucket %d from %v", d, bucket(d), got)
		}
	}
	var d durations
	d.add(5, 3)
	d.add(9, 4)
	if got := d.median(); got != 9 {
		t.Errorf("counted three and four times: %v", got)
	}
}
