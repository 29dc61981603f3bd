package main

import (
	"math"
	"slices"
)

// scaleQueue is one node of a tier in the model: jobs wait in the order in
// which they come for the first free of its servers. Times are seconds.
type scaleQueue struct {
	free  []float64 // when each server is free, smallest first as in a heap
	work  float64   // service of all jobs
	jobs  int
	waits *scaleDelays // of the tier
}

func newScaleQueue(servers int, waits *scaleDelays) *scaleQueue {
	return &scaleQueue{free: make([]float64, max(1, servers)), waits: waits}
}

// serve takes a job that comes at a moment, not before the last one, and gives
// the moment in which it is done. weight is how much its wait counts.
func (q *scaleQueue) serve(at, service float64, weight int) (done float64) {
	begin := max(at, q.free[0])
	done = begin + service
	q.work += service
	q.jobs++
	q.waits.add(begin-at, weight)
	q.free[0] = done
	for i := 0; ; { // the root sinks to its place
		next := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(q.free) && q.free[child] < q.free[next] {
				next = child
			}
		}
		if next == i {
			return done
		}
		q.free[i], q.free[next] = q.free[next], q.free[i]
		i = next
	}
}

// scaleDelays counts delays in classes that are a sixteenth of a doubling
// wide, from a microsecond on.
type scaleDelays struct {
	classes [16 * 40]int64
	total   int64
}

const shortestDelay = 1e-6

func (d *scaleDelays) add(seconds float64, weight int) {
	class := 0
	if seconds > shortestDelay {
		class = min(1+int(16*math.Log2(seconds/shortestDelay)), len(d.classes)-1)
	}
	d.classes[class] += int64(weight)
	d.total += int64(weight)
}

// quantile gives the delay, in seconds, that a share of all does not exceed;
// 0 when it is shorter than a microsecond, or nothing was counted.
func (d *scaleDelays) quantile(share float64) float64 {
	rest := int64(math.Ceil(share * float64(d.total)))
	for class, n := range d.classes {
		if rest -= n; rest <= 0 && class > 0 {
			return shortestDelay * math.Exp2(float64(class)/16)
		} else if rest <= 0 {
			break
		}
	}
	return 0
}

// scaleTier is what the model found for one kind of node.
type scaleTier struct {
	Name    string  `json:"tier"`
	Nodes   int     `json:"nodes"`
	Servers int     `json:"servers_per_node"` // processors, or workers
	Rate    float64 `json:"jobs_per_second"`  // per node
	Use     float64 `json:"utilisation"`      // work that comes, by what the tier can do; above 1 it piles up
	Busiest float64 `json:"utilisation_of_busiest"`
	WaitP50 float64 `json:"wait_p50_ms"`
	WaitP99 float64 `json:"wait_p99_ms"`
	Needed  int     `json:"nodes_needed"` // to stay below scaleTarget
	Factor  float64 `json:"saturates_at"` // times this load, as the busiest node sees it
}

// scaleTarget is how busy a node should be: the rest is for the loss of
// others, and for waits that stay short.
const scaleTarget = 0.6

func tierOf(name string, queues []*scaleQueue, seconds float64) scaleTier {
	t := scaleTier{Name: name, Nodes: len(queues), Servers: len(queues[0].free)}
	capacity := seconds * float64(t.Servers)
	var work float64
	jobs := 0
	for _, q := range queues {
		work += q.work
		jobs += q.jobs
		t.Busiest = max(t.Busiest, q.work/capacity)
	}
	nodes := float64(t.Nodes)
	t.Rate, t.Use = float64(jobs)/seconds/nodes, work/capacity/nodes
	waits := queues[0].waits
	t.WaitP50, t.WaitP99 = 1e3*waits.quantile(0.5), 1e3*waits.quantile(0.99)
	t.Needed = max(1, int(math.Ceil(nodes*t.Use/scaleTarget)))
	if t.Busiest > 0 {
		t.Factor = 1 / t.Busiest
	}
	return t
}

// firstToSaturate gives the tier that a growing load breaks first.
func firstToSaturate(tiers []scaleTier) scaleTier {
	return slices.MaxFunc(tiers, func(a, b scaleTier) int {
		switch {
		case a.Busiest < b.Busiest:
			return -1
		case a.Busiest > b.Busiest:
			return 1
		}
		return 0
	})
}
