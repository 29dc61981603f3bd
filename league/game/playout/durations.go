package playout

import (
	"math/bits"
	"time"
)

// durationBits is how many bits of a duration are kept, beside its magnitude: two
// durations in one bucket differ by at most 1 in 32.
const durationBits = 5

// durations counts durations in buckets, so that a check of a million games keeps
// no more than one of a hundred. The zero value is ready.
type durations struct {
	buckets [64 << durationBits]int
	count   int
}

// bucket returns the bucket of a duration; shorter ones have lower buckets.
func bucket(d time.Duration) int {
	n := uint64(max(d, 0))
	shift := max(0, bits.Len64(n)-durationBits-1)
	return shift<<durationBits + int(n>>shift) //nolint:gosec // G115: at most 64 << durationBits
}

// least returns the shortest duration of a bucket.
func least(bucket int) time.Duration {
	shift := max(0, bucket>>durationBits-1)
	return time.Duration(bucket-shift<<durationBits) << shift
}

// add counts a duration n times.
func (d *durations) add(each time.Duration, n int) {
	d.buckets[bucket(each)] += n
	d.count += n
}

// median returns the duration that half of all reach: the shortest one of its
// bucket, 0 if there are none.
func (d *durations) median() time.Duration {
	seen := 0
	for i, n := range d.buckets {
		if seen += n; n > 0 && 2*seen >= d.count {
			return least(i)
		}
	}
	return 0
}
