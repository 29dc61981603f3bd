package server

import (
	"os"
	"runtime"
	"runtime/debug"
	rtmetrics "runtime/metrics"
)

// spareGarbage is how many bytes of garbage may gather before they are
// collected, when the runtime's own rule (as much as there is live data) would
// collect earlier. A node with little to remember would collect after every
// few dozen answers, which takes a tenth of its time.
const spareGarbage = 32 << 20

// startPercent is GOGC while a node starts. The garbage of a start lies between what
// stays and keeps its pages from the system: with 100 an idle node holds 3 MB more.
const startPercent = 20

// TuneStart lets little garbage gather until TuneCollector is called, unless the
// operator has set GOGC.
func TuneStart() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startPercent)
	}
}

// TuneCollector applies spareGarbage from the next collection on, unless the
// operator has set GOGC. It is for when a node has started.
func TuneCollector() {
	if os.Getenv("GOGC") == "" {
		afterCollection(0)
	}
}

// afterCollection sets how much garbage may gather, by what is live, and does
// so again after each collection. percent is what is set now.
func afterCollection(percent int) {
	if now := garbagePercent(liveBytes()); now > percent+percent/8 || now < percent-percent/8 {
		debug.SetGCPercent(now) // stops everything for a moment: only when it matters
		percent = now
	}
	// The object is unreachable, so the next collection frees it. The runtime calls
	// this function on a goroutine of its own.
	runtime.AddCleanup(new(*byte), afterCollection, percent)
}

// garbagePercent returns GOGC for so many live bytes: spareGarbage, at least as much
// as is live, at most 16 times.
func garbagePercent(live uint64) int {
	const most = 1600
	return int(min(most, max(100, 100*spareGarbage/max(live, 1))))
}

// liveBytes is what the last collection left.
func liveBytes() uint64 { return runtimeBytes("/gc/heap/live:bytes") }

// allocatedBytes is what was allocated since the process began.
func allocatedBytes() uint64 { return runtimeBytes("/gc/heap/allocs:bytes") }

// runtimeBytes reads a metric of the run-time that counts bytes.
func runtimeBytes(name string) uint64 {
	s := []rtmetrics.Sample{{Name: name}}
	rtmetrics.Read(s)
	return s[0].Value.Uint64()
}

// spareMemory returns the memory that the run-time keeps for later allocations to
// the system. The run-time itself keeps as much as spareGarbage allows, and
// collects garbage only two minutes after the last collection.
type spareMemory struct{ allocated uint64 } // bytes until the last call

// newSpareMemory returns a spareMemory that counts from now on: what starting a
// node took is given back at the first call.
func newSpareMemory() *spareMemory { return &spareMemory{allocatedBytes()} }

// giveBack collects garbage and returns memory to the system, unless so much was
// allocated since the last call that it is needed again at once. It is for every
// half minute.
func (m *spareMemory) giveBack() {
	now := allocatedBytes()
	if now-m.allocated < spareGarbage {
		debug.FreeOSMemory()
	}
	m.allocated = now
}
