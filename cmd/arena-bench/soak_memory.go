package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	rtmetrics "runtime/metrics"
	"strings"
	"time"
)

// soakState is the resource usage of the server's process. It does not count the
// agents' connections that are idle until the next health check.
type soakState struct {
	Resident   int64 `json:"resident_bytes"` // 0 if unknown
	Outside    int64 `json:"outside_bytes"`  // of it not Go's: nearly all is SQLite's
	Bytes      int64 `json:"go_bytes"`       // that Go has from the system
	Live       int64 `json:"live_bytes"`     // of these in objects, when garbage was last collected
	Runtime    int64 `json:"runtime_bytes"`  // of Go's, stacks and the run-time's own records
	Streams    int64 `json:"stream_bytes"`   // of the objects, events for spectators
	Archives   int64 `json:"archive_bytes"`  // of the objects, decoded logs
	Seats      int   `json:"seats"`          // that are remembered, half a kilobyte each
	Goroutines int   `json:"goroutines"`
	Files      int   `json:"files"`
}

// most keeps the larger of the figures of two states.
func (s *soakState) most(o soakState) {
	s.Resident, s.Outside = max(s.Resident, o.Resident), max(s.Outside, o.Outside)
	s.Bytes, s.Live, s.Runtime = max(s.Bytes, o.Bytes), max(s.Live, o.Live), max(s.Runtime, o.Runtime)
	s.Streams, s.Archives, s.Seats = max(s.Streams, o.Streams), max(s.Archives, o.Archives), max(s.Seats, o.Seats)
	s.Goroutines, s.Files = max(s.Goroutines, o.Goroutines), max(s.Files, o.Files)
}

// fewest returns the state with the goroutines and files of another that has
// fewer.
func (s soakState) fewest(o soakState) soakState {
	s.Goroutines, s.Files = min(s.Goroutines, o.Goroutines), min(s.Files, o.Files)
	return s
}

// soakMemory are the rows of the table that are memory, in MiB.
var soakMemory = []struct {
	name  string
	bytes func(soakState) int64
}{
	{"the process", func(s soakState) int64 { return s.Resident }},
	{"outside Go: SQLite", func(s soakState) int64 { return s.Outside }},
	{"Go's memory", func(s soakState) int64 { return s.Bytes }},
	{"of it live objects", func(s soakState) int64 { return s.Live }},
	{"of it the run-time's", func(s soakState) int64 { return s.Runtime }},
	{"of objects streams", func(s soakState) int64 { return s.Streams }},
	{"of objects old logs", func(s soakState) int64 { return s.Archives }},
}

// soakSpare is the growth in bytes that is accepted although all memory was
// released: garbage comes and goes, and the runtime keeps a record for each
// goroutine that ever ran.
const soakSpare = 8 << 20

// left names the figures that are still above their value before the load, for
// memory by more than a tenth and soakSpare.
func (s soakState) left(before soakState, memory bool) []string {
	var left []string
	if s.Goroutines > before.Goroutines {
		left = append(left, "goroutines")
	}
	if s.Files > before.Files {
		left = append(left, "files")
	}
	for _, row := range soakMemory {
		if memory && row.bytes(s) > row.bytes(before)*11/10+soakSpare {
			left = append(left, row.name)
		}
	}
	return left
}

func (f soakFigures) memoryTable() string {
	var b strings.Builder
	b.WriteString("\n  memory in MiB              before     most    after\n")
	for _, row := range soakMemory {
		fmt.Fprintf(&b, "  %-23s", row.name)
		for _, s := range []soakState{f.Before, f.Most, f.After} {
			fmt.Fprintf(&b, " %8.1f", float64(row.bytes(s))/(1<<20))
		}
		b.WriteString("\n")
	}
	for _, row := range []struct {
		name  string
		count func(soakState) int
	}{
		{"seats remembered", func(s soakState) int { return s.Seats }},
		{"goroutines", func(s soakState) int { return s.Goroutines }},
		{"files", func(s soakState) int { return s.Files }},
	} {
		fmt.Fprintf(&b, "  %-23s", row.name)
		for _, s := range []soakState{f.Before, f.Most, f.After} {
			fmt.Fprintf(&b, " %8d", row.count(s))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "  SQLite keeps %.1f MiB of pages, before it was %.1f\n", float64(f.PagesAfter)/(1<<20), float64(f.PagesBefore)/(1<<20))
	if len(f.Left) > 0 {
		fmt.Fprintf(&b, "  %.0f s after all had left still more than before: %s\n", f.Settled, strings.Join(f.Left, ", "))
	} else {
		fmt.Fprintf(&b, "  back %.0f s after all had left\n", f.Settled)
	}
	return b.String()
}

// state is the memory that the process holds now. It is read without a garbage
// collection, so it includes what the server does not release on its own.
func (s *soak) state() soakState {
	streams := s.server.Hub.Stats()
	held := soakState{
		Resident: residentMemory(), Live: int64(liveMemory()), Streams: int64(streams.Tails + streams.Pages), //nolint:gosec // G115: far below 2^63
		Archives: int64(s.server.Store.Matches.ArchiveCache()), Seats: s.server.Seats.Stats().Seats, Goroutines: runtime.NumGoroutine(), Files: openFiles(),
	}
	held.Bytes = heldMemory()
	held.Runtime = runtimeMemory()
	held.Outside = max(0, held.Resident-held.Bytes)
	return held
}

// sample notes the most that the process holds.
func (s *soak) sample(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		s.figures.Most.most(s.state())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// rest leaves the server idle and then records what it holds. For goroutines and
// files it takes the minimum, because a sweep of health checks has its own.
func (s *soak) rest(ctx context.Context) error {
	s.say(fmt.Sprintf("%v of rest …", s.cmd.Settle))
	f := &s.figures
	f.Before = s.state()
	if err := s.watch(ctx, s.cmd.Settle, func(now soakState, _ time.Duration) bool {
		f.Before = now.fewest(f.Before)
		return false
	}); err != nil {
		return err
	}
	return s.pages(ctx, &f.PagesBefore)
}

// calm waits until the memory that the crowd used has been released, or the time
// for that is over.
func (s *soak) calm(ctx context.Context) error {
	s.say("waiting for the release of memory …")
	f, memory, limit := &s.figures, s.cmd.Settle > 0, max(s.cmd.Settle, 90*time.Second)
	f.After = s.state()
	if err := s.watch(ctx, limit, func(now soakState, after time.Duration) bool {
		f.After, f.Settled = now.fewest(f.After), after.Seconds()
		f.Left = f.After.left(f.Before, memory)
		return len(f.Left) == 0
	}); err != nil {
		return err
	}
	return s.pages(ctx, &f.PagesAfter)
}

// pages reads the page counts of SQLite. Not while the server is watched: it
// uses every connection.
func (s *soak) pages(ctx context.Context, bytes *int64) error {
	n, err := s.server.Store.PageBytes(ctx)
	*bytes = int64(n)
	return err
}

// watch samples the memory of the process every second, until back reports true or
// the time is over, and prints it now and then.
func (s *soak) watch(ctx context.Context, limit time.Duration, back func(now soakState, after time.Duration) bool) error {
	began := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for second := 0; ; second++ {
		s.server.Client.CloseIdle() // the next health checks make them again
		now, after := s.state(), time.Since(began)
		if second > 0 && second%15 == 0 {
			s.say(fmt.Sprintf("  %3.0f s: %4d MiB, of it outside Go %4d, Go's %4d, live %4d", after.Seconds(),
				now.Resident>>20, now.Outside>>20, now.Bytes>>20, now.Live>>20))
		}
		if back(now, after) || after >= limit {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// runtimeMemory is what stacks and the run-time's records take of Go's memory,
// in bytes.
func runtimeMemory() int64 {
	heap := []rtmetrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	rtmetrics.Read(heap)
	rest := heap[0].Value.Uint64()
	for _, s := range heap[1:] {
		rest -= s.Value.Uint64()
	}
	return int64(rest) //nolint:gosec // G115: far below 2^63
}

// residentMemory returns the resident memory of the process in bytes, without its
// files.
func residentMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "\nRssAnon:")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}

// openFiles returns the number of open files of this process, or 0 if it is
// unknown.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries) - 1 // the one that read the list
}
