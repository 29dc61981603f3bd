package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/stream/bus"
)

// smallPlan is a cluster that is simulated in a moment.
func smallPlan() scalePlan {
	return scalePlan{
		Spectators: 5000, Agents: 400, StreamNodes: 4, PlayNodes: 3, Shards: 3, Databases: 1, Replicas: 1, Processors: 2, DBProcs: 4,
		Zipf: 1, FinalSeats: 20, RoundTime: 5, Rounds: 3, Talk: 1, Stay: 60, HealthEvery: 5, HealthNodes: 1, HealthJobs: 64,
		ProbeTime: 0.3, Heartbeat: 1, Seconds: 10, Seed: 1,
	}
}

func tierNamed(t *testing.T, r scaleResult, name string) scaleTier {
	t.Helper()
	i := slices.IndexFunc(r.Tiers, func(t scaleTier) bool { return t.Name == name })
	if i < 0 {
		t.Fatalf("there is no tier %q", name)
	}
	return r.Tiers[i]
}

// A queue serves in order, never more at once than it has servers, and is
// never idle while a job waits.
func TestScaleQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 9).Draw(t, "servers")
		q := newScaleQueue(servers, &scaleDelays{})
		free := make([]float64, servers) // the same, with a search for the first that is free
		at, work := 0.0, 0.0
		for range rapid.IntRange(1, 60).Draw(t, "jobs") {
			at += rapid.Float64Range(0, 2).Draw(t, "gap")
			service := rapid.Float64Range(0, 5).Draw(t, "service")
			first := slices.Index(free, slices.Min(free))
			free[first] = max(at, free[first]) + service
			work += service
			if done := q.serve(at, service, 1); done != free[first] {
				t.Fatalf("a job that comes at %g is done at %g, want %g", at, done, free[first])
			}
		}
		if q.work != work || q.waits.total != int64(q.jobs) {
			t.Fatalf("it did work of %g in %d jobs with %d waits, want %g", q.work, q.jobs, q.waits.total, work)
		}
	})
}

func TestScaleDelays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(2e-6, 100), 1, 50).Draw(t, "delays")
		var d scaleDelays
		for _, v := range values {
			d.add(v, 1)
		}
		slices.Sort(values)
		for _, share := range []float64{0.5, 0.99, 1} {
			exact := values[int(math.Ceil(share*float64(len(values))))-1]
			if got := d.quantile(share); got < exact*0.999 || got > exact*math.Exp2(1.0/16)*1.001 {
				t.Fatalf("%g of the delays are within %g, want %g", share, got, exact)
			}
		}
	})
	if got := (&scaleDelays{}).quantile(0.5); got != 0 {
		t.Errorf("no delay has a middle of %g", got)
	}
}

// Nothing is lost and nothing comes twice: who watches one match gets each of
// its events, wherever they sit, and each spectator sits somewhere.
func TestSimulate_conserves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := smallPlan()
		p.Agents, p.FinalSeats = 2, 2
		p.Spectators = rapid.IntRange(0, 500).Draw(t, "spectators")
		p.StreamNodes = rapid.IntRange(1, 9).Draw(t, "nodes")
		p.Talk = rapid.IntRange(0, 5).Draw(t, "talk")
		p.Seed = rapid.Uint64().Draw(t, "seed")
		r := simulate(p, referenceCosts())
		if got, want := r.Deliveries, r.Events*float64(p.Spectators); math.Abs(got-want) > 1e-6*want {
			t.Fatalf("%g deliveries a second of %g events to %d spectators", got, r.Events, p.Spectators)
		}
		if r.Largest != p.Spectators {
			t.Fatalf("the one match has %d of %d spectators", r.Largest, p.Spectators)
		}
		// In 10 s: two rounds of 3 + 2 seats × (talk + answer) events, and
		// what comes when one of them is the first of a match.
		if rounds := 10 * r.Events / float64(3+2*(1+p.Talk)); rounds < 1 || rounds > 3.5 {
			t.Fatalf("%g events a second are %g rounds", r.Events, rounds)
		}
	})
	p := smallPlan()
	m := &scaleModel{plan: p, rand: newScaleRand(3)}
	m.seatAudience()
	seated := 0
	for _, watches := range m.watched {
		for _, w := range watches {
			seated += w.viewers
		}
	}
	if seated != p.Spectators {
		t.Errorf("%d of %d spectators have a seat", seated, p.Spectators)
	}
}

// The work at the sockets is that of all deliveries, however it is cut.
func TestSimulate_work(t *testing.T) {
	t.Parallel()
	p := smallPlan()
	p.Spectators, p.Stay = 50_000, 1e9 // nobody comes or goes
	r := simulate(p, scaleCosts{Delivery: 1e-6})
	tier := tierNamed(t, r, "stream nodes")
	work := tier.Use * float64(tier.Nodes*tier.Servers)
	if want := r.Deliveries * 1e-6; math.Abs(work-want) > 1e-9 {
		t.Errorf("work of %g a second at the sockets, want %g", work, want)
	}
}

// The same plan gives the same figures.
func TestSimulate_repeats(t *testing.T) {
	t.Parallel()
	p := smallPlan()
	p.Lobby = 0.1
	if diff := cmp.Diff(simulate(p, referenceCosts()), simulate(p, referenceCosts())); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

// More nodes are less busy, a larger load makes them busier.
func TestSimulate_monotone(t *testing.T) {
	t.Parallel()
	base := simulate(smallPlan(), referenceCosts())
	for _, c := range []struct {
		name, tier string
		change     func(*scalePlan)
		busier     bool
	}{
		{"more spectators", "stream nodes", func(p *scalePlan) { p.Spectators *= 4 }, true},
		{"more stream nodes", "stream nodes", func(p *scalePlan) { p.StreamNodes *= 2 }, false},
		{"a lobby", "stream nodes", func(p *scalePlan) { p.Lobby = 0.5 }, true},
		{"more agents", "play nodes", func(p *scalePlan) { p.Agents *= 3 }, true},
		{"more play nodes", "play nodes", func(p *scalePlan) { p.PlayNodes *= 2 }, false},
		{"more agents at the database", "database, writes", func(p *scalePlan) { p.Agents *= 3 }, true},
		{"more databases", "database, writes", func(p *scalePlan) { p.Databases = 2 }, false},
		{"no replica", "database, writes", func(p *scalePlan) { p.Replicas = 0 }, true},
		{"slower heartbeats", "database, writes", func(p *scalePlan) { p.Heartbeat = 2 }, false},
		{"more talk", "redis shards", func(p *scalePlan) { p.Talk = 9 }, true},
		{"more shards", "redis shards", func(p *scalePlan) { p.Shards = 6 }, false},
		{"more workers", "health workers", func(p *scalePlan) { p.HealthJobs *= 2 }, false},
	} {
		p := smallPlan()
		c.change(&p)
		was, is := tierNamed(t, base, c.tier).Use, tierNamed(t, simulate(p, referenceCosts()), c.tier).Use
		if busier := is > was*1.01; busier != c.busier || is == was {
			t.Errorf("with %s the %s are %.4f busy after %.4f", c.name, c.tier, is, was)
		}
	}
}

// What is too much shows: use above 1, waits that grow with time, more nodes
// needed; and the tier is named.
func TestSimulate_saturates(t *testing.T) {
	t.Parallel()
	for name, worse := range map[string]func(*scaleCosts){
		"stream nodes":     func(c *scaleCosts) { c.SocketWrite = 0.01 },
		"play nodes":       func(c *scaleCosts) { c.SeatRound = 1 },
		"redis shards":     func(c *scaleCosts) { c.RedisIn = 0.1 },
		"database, writes": func(c *scaleCosts) { c.Write = 0.1 },
		"database, reads":  func(c *scaleCosts) { c.Read = 1 },
	} {
		costs := referenceCosts()
		worse(&costs)
		r := simulate(smallPlan(), costs)
		tier := tierNamed(t, r, name)
		if first := firstToSaturate(r.Tiers); first.Name != name {
			t.Errorf("the %s break first, want the %s", first.Name, name)
		}
		if tier.Use <= 1 || tier.Needed <= tier.Nodes || tier.WaitP99 < 1000 || tier.Factor >= 1 {
			t.Errorf("saturated %s are %+v", name, tier)
		}
		f := scaleFigures{Plan: smallPlan(), Costs: costs, Result: r}
		if text := f.table(); !strings.Contains(text, "does not hold: work piles up at the "+name) {
			t.Errorf("the table does not name the %s:\n%s", name, text)
		}
	}
}

// Redis Cluster specification, "Hash tags", and the check value of its CRC16.
func TestSlotOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"123456789": 0x31c3, "{user1000}.following": slotOf("user1000"), "foo{}{bar}": slotOf("foo{}{bar}"),
		"foo{{bar}}zap": slotOf("{bar"), "foo{bar}{zap}": slotOf("bar"), "": 0,
	} {
		if got := slotOf(name); got != want {
			t.Errorf("%q is in slot %d, want %d", name, got, want)
		}
	}
	if slotOf("foo{}{bar}") == slotOf("bar") {
		t.Error("empty braces are no tag")
	}
	for _, slot := range []struct{ shards, of, want int }{{1, 16383, 0}, {6, 0, 0}, {6, 16383, 5}} {
		if got := slot.of * slot.shards / slotCount; got != slot.want {
			t.Errorf("slot %d of %d shards is in shard %d", slot.of, slot.shards, got)
		}
	}
}

// Lanes spread topics over the shards of a cluster: none gets much more than
// its share.
func TestSpreadTopics(t *testing.T) {
	t.Parallel()
	topics := make([]string, 20_000)
	for i := range topics {
		topics[i] = fmt.Sprintf("match:m_%d", i)
	}
	f := spreadTopics(topics, 6, bus.Channel)
	if f.Slots != 64 || f.PerSlot > 1.3 || f.PerShard > 1.5 || f.Without > 1.1 {
		t.Errorf("topics spread like this: %+v", f)
	}
	one := spreadTopics(topics, 6, func(string) string { return "{one}" })
	if one.Slots != 1 || one.PerShard != 6 {
		t.Errorf("one slot gives %+v", one)
	}
}

func TestBenchScale(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	args := []string{
		"bench", "scale", "--no-measure", "--json", "--spectators=1000", "--agents=100", "--seconds=5", "--slots=1000",
	}
	if code := run(t.Context(), args, nil, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var f scaleFigures
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatal(err)
	}
	if f.Plan.Spectators != 1000 || f.Result.Matches != 50 || len(f.Result.Tiers) != 6 || f.Slots.Topics != 1000 || f.Costs != referenceCosts() {
		t.Errorf("it prints %s", &out)
	}
	for _, wrong := range []string{"--spectators=-1", "--stream-nodes=0", "--shards=65", "--zipf=NaN", "--lobby=2", "--sockets=1", "--slots=-1"} {
		out.Reset()
		if code := run(t.Context(), []string{"bench", "scale", "--no-measure", wrong}, nil, strings.NewReader(""), &out, &errs); code != exitFailure {
			t.Errorf("%s gives exit code %d", wrong, code)
		}
	}
}
