package main

import (
	"runtime"
	rtmetrics "runtime/metrics"
	"testing"
)

func TestGarbagePercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{
		0: 1600, 1 << 20: 1600, 4 << 20: 800, 16 << 20: 200, 31 << 20: 103, 32 << 20: 100, 1 << 40: 100,
	} {
		if got := garbagePercent(live); got != want {
			t.Errorf("with %d live bytes %d, want %d", live, got, want)
		}
	}
}

// TestSpareMemory_giveBack: a process that does little gives back what it
// does not need, one that works does not. Not parallel: others allocate too.
func TestSpareMemory_giveBack(t *testing.T) { //nolint:tparallel // see above
	var m spareMemory
	m.giveBack() // counts what was allocated so far
	crowd := make([]byte, 2*spareGarbage)
	for i := range crowd {
		crowd[i] = 1
	}
	before, forced := memoryAndCollections()
	runtime.KeepAlive(crowd)
	m.giveBack()
	if _, n := memoryAndCollections(); n != forced {
		t.Errorf("busy: collected %d times", n-forced)
	}
	m.giveBack()
	if bytes, n := memoryAndCollections(); n == forced || before-bytes < spareGarbage {
		t.Errorf("quiet: collected %d times, %d bytes given back", n-forced, before-bytes)
	}
}

// memoryAndCollections gives the bytes that this process holds and how often
// somebody asked for a collection.
func memoryAndCollections() (bytes int64, forced uint64) {
	s := []rtmetrics.Sample{{Name: "/gc/cycles/forced:gc-cycles"}}
	rtmetrics.Read(s)
	bytes, _ = heldMemory()
	return bytes, s[0].Value.Uint64()
}
