package server

import (
	"runtime"
	rtmetrics "runtime/metrics"
	"slices"
	"testing"
	"time"
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
func TestSpareMemory_giveBack(t *testing.T) {
	m := newSpareMemory()
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

// TestJobs_memory: the timetable of a server that nobody uses lets go of
// SQLite's pages and of garbage. Not parallel: see above.
func TestJobs_memory(t *testing.T) {
	node := newTestServer(t)
	jobs := node.jobs()
	memory := jobs[slices.IndexFunc(jobs, func(j job) bool { return j.name == "memory" })]
	if !memory.each || memory.every > time.Minute {
		t.Errorf("runs on each node: %t, every %s", memory.each, memory.every)
	}
	_, err := node.store.Leagues.Leagues(t.Context())
	must(t, err)
	pages, err := node.store.PageBytes(t.Context())
	must(t, err)
	_, forced := memoryAndCollections()
	must(t, memory.run(t.Context()))
	if _, n := memoryAndCollections(); n == forced {
		t.Error("garbage stays")
	}
	if left, err := node.store.PageBytes(t.Context()); err != nil || left >= pages {
		t.Errorf("%d bytes of SQLite's pages, %d before, %v", left, pages, err)
	}
}

// memoryAndCollections returns the bytes that this process holds and how often
// somebody asked for a collection.
func memoryAndCollections() (bytes int64, forced uint64) {
	s := []rtmetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/cycles/forced:gc-cycles"}}
	rtmetrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64()), s[2].Value.Uint64()
}
