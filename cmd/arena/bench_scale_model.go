package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/agora-arena/arena/stream/bus"
)

// scalePlan is the cluster and the load of the model.
type scalePlan struct {
	Spectators  int     `default:"1000000" help:"People who watch, 0 to 5000000."`
	Agents      int     `default:"100000" help:"Agents; all of them play duels all the time. 2 to 500000."`
	StreamNodes int     `default:"20" help:"Nodes that carry spectators."`
	PlayNodes   int     `default:"12" help:"Nodes that play matches."`
	Shards      int     `default:"6" help:"Shards of the Redis Cluster, 1 to 64."`
	Databases   int     `default:"1" help:"PostgreSQL primaries; each league lives in one of them."`
	Replicas    int     `default:"2" help:"Read replicas for each primary; 0: the primaries answer reads too."`
	Processors  int     `default:"4" help:"Of a stream or play node."`
	DBProcs     int     `name:"db-processors" default:"16" help:"Of a PostgreSQL node."`
	Zipf        float64 `default:"1" help:"How the audience spreads over matches: the n-th gets 1/n to this power; 0: evenly."`
	Lobby       float64 `default:"0" help:"Share of the spectators who watch the lobby, which carries every match, 0 to 1."`
	FinalSeats  int     `default:"100" help:"Seats of the match that is watched most, 2 to 128."`
	RoundTime   float64 `default:"30" help:"Seconds from one round to the next."`
	Rounds      int     `default:"5" help:"Rounds of a match."`
	Talk        int     `default:"2" help:"Events that an agent sends in a round."`
	Stay        float64 `default:"600" help:"Seconds that a spectator stays; another then comes."`
	HealthEvery float64 `default:"30" help:"Seconds between two probes of an agent."`
	HealthNodes int     `default:"1" help:"Nodes among which the sweep is split; the program has one."`
	HealthJobs  int     `name:"health-workers" default:"2000" help:"Probes at a time on each of them, ARENA_HEALTH_WORKERS."`
	ProbeTime   float64 `default:"0.3" help:"Seconds that an agent takes to answer a probe."`
	Heartbeat   float64 `default:"1" help:"Seconds between two renewals of a lease."`
	Seconds     float64 `default:"30" help:"Simulated time."`
	Seed        uint64  `default:"1" help:"Of everything random."`
}

func (p *scalePlan) check() error {
	for _, b := range []struct {
		name           string
		value, low, to float64
	}{
		{"spectators", float64(p.Spectators), 0, 5e6},
		{"agents", float64(p.Agents), 2, 500_000},
		{"stream-nodes", float64(p.StreamNodes), 1, 1000},
		{"play-nodes", float64(p.PlayNodes), 1, 1000},
		{"shards", float64(p.Shards), 1, 64},
		{"databases", float64(p.Databases), 1, 100},
		{"replicas", float64(p.Replicas), 0, 100},
		{"processors", float64(p.Processors), 1, 256},
		{"db-processors", float64(p.DBProcs), 1, 256},
		{"zipf", p.Zipf, 0, 4},
		{"lobby", p.Lobby, 0, 1},
		{"final-seats", float64(p.FinalSeats), 2, 128},
		{"round-time", p.RoundTime, 1, 3600},
		{"rounds", float64(p.Rounds), 1, 1000},
		{"talk", float64(p.Talk), 0, 100},
		{"stay", p.Stay, 1, 1e6},
		{"health-every", p.HealthEvery, 1, 3600},
		{"health-nodes", float64(p.HealthNodes), 1, 1000},
		{"health-workers", float64(p.HealthJobs), 1, 10_000},
		{"probe-time", p.ProbeTime, 0.001, 30},
		{"heartbeat", p.Heartbeat, 0.1, 60},
		{"seconds", p.Seconds, 1, 300},
	} {
		if math.IsNaN(b.value) || b.value < b.low || b.value > b.to {
			return fmt.Errorf("%s is %g: want %g to %g", b.name, b.value, b.low, b.to)
		}
	}
	return nil
}

// scaleCosts are processor seconds of single things, and bytes.
type scaleCosts struct {
	SeatRound   float64 `json:"seat_round_s"`    // a seat's round on the node that plays it
	Probe       float64 `json:"probe_s"`         // a health probe, and its row
	Write       float64 `json:"write_s"`         // an answer with its event, at the database
	Renewal     float64 `json:"renewal_s"`       // one row of a lease, at the database
	Read        float64 `json:"read_s"`          // a match and the end of its log, at the database
	Connect     float64 `json:"connect_s"`       // a spectator who comes and goes
	SocketWrite float64 `json:"socket_write_s"`  // one write to one spectator
	Delivery    float64 `json:"delivery_s"`      // each event in it
	BusIn       float64 `json:"bus_in_s"`        // a message that a node gets
	BusOut      float64 `json:"bus_out_s"`       // a message that a node sends
	RedisIn     float64 `json:"redis_in_s"`      // a message that Redis takes
	RedisOut    float64 `json:"redis_out_s"`     // each copy that it gives out
	Socket      float64 `json:"spectator_bytes"` // of the node's memory, for each spectator
}

// passTime is how long a hub collects events before it writes again.
const passTime = 0.005

// largestPart is how many sockets one processor serves before another may
// help.
const largestPart = 256

// scaleWatch are the spectators of one topic on one node.
type scaleWatch struct {
	node, viewers int
	written       float64 // when they were last written to
}

// scaleModel is one run.
type scaleModel struct {
	plan  scalePlan
	costs scaleCosts
	rand  *rand.Rand

	watched [][]scaleWatch // by match; the last one is the lobby
	shards  []int          // by match, and the lobby last

	play, primary, replica, redis, stream, health []*scaleQueue

	seen                  *scaleDelays // from the event in the match to the socket
	events, deliveries    int64
	messagesIn, copiesOut int64
}

// scaleResult is what a run found.
type scaleResult struct {
	Tiers      []scaleTier `json:"tiers"`
	Matches    int         `json:"matches"`
	Starts     float64     `json:"match_starts_per_second"`
	Events     float64     `json:"events_per_second"`
	Writes     float64     `json:"database_writes_per_second"`
	Deliveries float64     `json:"deliveries_per_second"`
	BusIn      float64     `json:"bus_messages_per_second"`
	BusOut     float64     `json:"bus_copies_per_second"`
	Largest    int         `json:"largest_audience"`
	Fullest    int         `json:"spectators_of_fullest_node"`
	Memory     float64     `json:"memory_of_fullest_node_mib"`
	SeenP50    float64     `json:"event_to_socket_p50_ms"`
	SeenP99    float64     `json:"event_to_socket_p99_ms"`
}

func (p *scalePlan) matches() int { return max(1, p.Agents/2) }

// simulate runs the plan. The same plan and costs give the same result.
func simulate(plan scalePlan, costs scaleCosts) scaleResult {
	m := &scaleModel{plan: plan, costs: costs, rand: newScaleRand(plan.Seed), seen: &scaleDelays{}}
	m.seatAudience()
	m.shards = make([]int, len(m.watched))
	for i := range m.shards {
		topic := fmt.Sprintf("match:m_%08d", i)
		if i == plan.matches() {
			topic = "lobby"
		}
		m.shards[i] = shardOf(bus.Channel(topic), plan.Shards)
	}
	queues := func(nodes, servers int) []*scaleQueue {
		waits := &scaleDelays{}
		qs := make([]*scaleQueue, nodes)
		for i := range qs {
			qs[i] = newScaleQueue(servers, waits)
		}
		return qs
	}
	m.play = queues(plan.PlayNodes, plan.Processors)
	m.primary = queues(plan.Databases, plan.DBProcs)
	m.replica = queues(plan.Databases*plan.Replicas, plan.DBProcs)
	m.redis = queues(plan.Shards, 1)
	m.stream = queues(plan.StreamNodes, plan.Processors)
	m.health = queues(plan.HealthNodes, plan.HealthJobs)

	visits := m.visits()
	m.fanOut(m.carry(m.commit(m.playAll(), visits)), visits)
	return m.result()
}

func newScaleRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // G404: a repeatable model
}

// seatAudience gives each spectator a match and a node.
func (m *scaleModel) seatAudience() {
	n := m.plan.matches()
	sums := make([]float64, n)
	var sum float64
	for i := range sums {
		sum += math.Pow(float64(i+1), -m.plan.Zipf)
		sums[i] = sum
	}
	counts := make([]map[int]int, n+1)
	for i := range m.plan.Spectators {
		topic := n
		if float64(i) >= m.plan.Lobby*float64(m.plan.Spectators) {
			topic = min(sort.SearchFloat64s(sums, m.rand.Float64()*sum), n-1)
		}
		if counts[topic] == nil {
			counts[topic] = map[int]int{}
		}
		counts[topic][m.rand.IntN(m.plan.StreamNodes)]++
	}
	m.watched = make([][]scaleWatch, n+1)
	for topic, nodes := range counts {
		for node, viewers := range nodes {
			m.watched[topic] = append(m.watched[topic], scaleWatch{node, viewers, math.Inf(-1)})
		}
		slices.SortFunc(m.watched[topic], func(a, b scaleWatch) int { return cmp.Compare(a.node, b.node) })
	}
}

// scaleStep is something that moves through the tiers: a step of a match with
// its events, or another write.
type scaleStep struct {
	began, at float64
	match     int
	kind      scaleKind
}

type scaleKind uint8

const (
	stepOpen   scaleKind = iota // a round opens: 1 event, shown in the lobby too
	stepTalk                    // an agent says something: 1 event
	stepAnswer                  // an agent has answered: 1 event
	stepClose                   // the round closes: 2 events, one of them shown in the lobby too
	stepEdge                    // a match is created, starts, or is settled: 1 event, shown in the lobby too
	stepProbe                   // an agent's health is recorded: no event
	stepRenew                   // a row of a lease: no event
)

func (k scaleKind) events() (match, lobby int) {
	switch k {
	case stepOpen, stepEdge:
		return 1, 1
	case stepTalk, stepAnswer:
		return 1, 0
	case stepClose:
		return 2, 1
	case stepProbe, stepRenew:
		return 0, 0
	}
	return 0, 0
}

func inOrder(steps []scaleStep) []scaleStep {
	slices.SortStableFunc(steps, func(a, b scaleStep) int { return cmp.Compare(a.at, b.at) })
	return steps
}

// playAll has every match go through its rounds, from a random phase on, and
// gives the writes that come of it.
func (m *scaleModel) playAll() []scaleStep {
	p := &m.plan
	var steps []scaleStep
	for match := range p.matches() {
		seats := 2
		if match == 0 {
			seats = min(p.FinalSeats, p.Agents)
		}
		phase, round := m.rand.Float64()*p.RoundTime, m.rand.IntN(p.Rounds)
		for opened := phase - p.RoundTime; opened < p.Seconds; opened += p.RoundTime {
			add := func(after float64, k scaleKind) {
				if at := opened + after*p.RoundTime; at >= 0 && at < p.Seconds {
					steps = append(steps, scaleStep{at, at, match, k})
				}
			}
			if round%p.Rounds == 0 { // the one before is settled, this one created and started
				for range 3 {
					add(0, stepEdge)
				}
			}
			round++
			add(0, stepOpen)
			for range seats {
				answered := 0.1 + 0.6*m.rand.Float64()
				for range p.Talk {
					add(answered*m.rand.Float64(), stepTalk)
				}
				add(answered, stepAnswer)
			}
			add(0.75, stepClose)
		}
	}
	steps = append(steps, m.upkeep()...)
	for i, s := range inOrder(steps) {
		service := m.costs.BusOut
		switch s.kind {
		case stepAnswer:
			service += m.costs.SeatRound
		case stepProbe:
			service = m.costs.Probe
		case stepRenew:
			continue
		case stepOpen, stepTalk, stepClose, stepEdge:
		}
		steps[i].at = m.play[s.match%p.PlayNodes].serve(s.at, service, 1)
	}
	return steps
}

// upkeep is what goes on whatever is played: probes and renewals.
func (m *scaleModel) upkeep() []scaleStep {
	p := &m.plan
	probes := make([]float64, int(float64(p.Agents)*p.Seconds/p.HealthEvery))
	for i := range probes { // a sweep spreads evenly, see healthSpread
		sweep, agent := i/p.Agents, i%p.Agents
		probes[i] = p.HealthEvery * (float64(sweep) + 3.0/4*float64(agent)/float64(p.Agents))
	}
	var steps []scaleStep
	for i, at := range probes {
		done := m.health[i%p.HealthNodes].serve(at, p.ProbeTime, 1)
		steps = append(steps, scaleStep{done, done, i, stepProbe})
	}
	// A renewal is a statement of up to 256 rows; a step here is one of them.
	for node := range p.PlayNodes {
		rows := (p.matches() + p.PlayNodes - 1 - node) / p.PlayNodes
		for beat := m.rand.Float64() * p.Heartbeat; beat < p.Seconds; beat += p.Heartbeat {
			for row := range rows {
				steps = append(steps, scaleStep{beat, beat, node + row*p.PlayNodes, stepRenew})
			}
		}
	}
	return steps
}

// visits are the moments in which spectators come.
func (m *scaleModel) visits() []float64 {
	visits := make([]float64, int(float64(m.plan.Spectators)*m.plan.Seconds/m.plan.Stay))
	for i := range visits {
		visits[i] = m.rand.Float64() * m.plan.Seconds
	}
	slices.Sort(visits)
	return visits
}
