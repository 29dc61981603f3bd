package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/bus"
)

// BenchScaleCmd is `arena bench scale`.
type BenchScaleCmd struct {
	scalePlan `embed:""`
	Measure   bool   `default:"true" negatable:"" help:"Measure what things cost on this machine; else take the figures of docs/scale.md."`
	Sockets   int    `default:"2000" help:"Spectators to measure with, 100 to 15000; each takes two open files."`
	DB        string `name:"db" placeholder:"URL" help:"Database to measure, as ARENA_DATABASE_URL; empty: SQLite in a temporary folder. An existing one keeps the rows."`
	Redis     string `placeholder:"URL" help:"Redis to measure, as ARENA_REDIS_URL; empty: the figures of docs/scale.md."`
	Slots     int    `default:"100000" help:"Topics whose way through the cluster is counted, 0 to 1000000."`
	JSON      bool   `help:"Print one JSON object."`
}

// Help says what is measured and what is modelled.
func (c *BenchScaleCmd) Help() string {
	return `First measures, on this machine and with the parts of this program, what one of
everything costs: a spectator, a write to it, a seat's round, a probe of an agent, a
write, a renewal and a read at the database, a message on the bus. Then lets a model
of a cluster run for some seconds of its own time: agents play duels, their steps
queue at the nodes, the databases, the shards of Redis and the nodes of the
spectators, each with what was measured. It prints for each tier what it has to do,
how busy it is, how long things wait there, how many nodes it needs to be less than
60 % busy, and what breaks first. The model is repeatable; a node in it has as many
processors as it is given, each like one of this machine's.

    arena bench scale
    arena bench scale --spectators 10000 --agents 1000 --stream-nodes 1 --play-nodes 1
    arena bench scale --lobby 0.01 --no-measure`
}

// scaleFigures are all that a run prints.
type scaleFigures struct {
	Processors int         `json:"processors_of_this_machine"`
	Measured   []string    `json:"measured"`
	Costs      scaleCosts  `json:"costs"`
	Plan       scalePlan   `json:"plan"`
	Result     scaleResult `json:"result"`
	Slots      slotFigures `json:"slots"`
}

// referenceCosts are the figures of docs/scale.md.
func referenceCosts() scaleCosts {
	return scaleCosts{
		SeatRound: 300e-6, Probe: 170e-6, Write: 600e-6, Renewal: 14e-6, Read: 330e-6,
		Connect: 95e-6, SocketWrite: 8.2e-6, Delivery: 0.05e-6, BusIn: 1.5e-6, BusOut: 2.4e-6,
		RedisIn: 0.6e-6, RedisOut: 0.25e-6, Socket: 12.4 * 1024,
	}
}

// Run measures, simulates and prints.
func (c *BenchScaleCmd) Run(app *App) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.Sockets < 100 || c.Sockets > 15_000 || c.Slots < 0 || c.Slots > 1_000_000 {
		return fmt.Errorf("%d sockets and %d topics: want 100 to 15000 sockets and 0 to 1000000 topics", c.Sockets, c.Slots)
	}
	f := scaleFigures{Processors: runtime.NumCPU(), Costs: referenceCosts(), Plan: c.scalePlan, Measured: []string{}}
	if c.Measure {
		b := &scaleBench{cmd: c, app: app, f: &f}
		if err := b.measure(); err != nil {
			return fmt.Errorf("measure: %w", err)
		}
	}
	c.progress(app, fmt.Sprintf("model: %d spectators, %d agents …", c.Spectators, c.Agents))
	f.Result = simulate(c.scalePlan, f.Costs)
	if c.Slots > 0 {
		topics := make([]string, c.Slots)
		now := time.Now()
		for i := range topics {
			topics[i] = "match:" + arena.NewID(arena.MatchPrefix, now)
		}
		f.Slots = spreadTopics(topics, c.Shards, bus.Channel)
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	_, err := fmt.Fprint(app.Stdout, f.table())
	return err
}

func (c *BenchScaleCmd) progress(app *App, what string) {
	if !c.JSON {
		_, _ = fmt.Fprintln(app.Stderr, what)
	}
}

func (f *scaleFigures) table() string {
	var b strings.Builder
	c, r := f.Costs, f.Result
	measured := "nothing was measured"
	if len(f.Measured) > 0 {
		measured = "measured here: " + strings.Join(f.Measured, ", ")
	}
	fmt.Fprintf(&b, `
  one of each, µs of a processor (%s; %d processors)
    seat's round %.0f   probe %.0f   spectator comes and goes %.0f
    write to a socket %.2f   each event in it %.2f   memory of a spectator %.1f KiB
    database: write %.0f   renewal %.1f   read %.0f
    bus: a node sends %.1f, gets %.1f; redis takes %.1f, gives out %.1f

  %d spectators, %d agents in %d matches of %d rounds every %g s
    %.0f match starts, %.0f events, %.0f database writes a second
    %.0f messages a second to redis, %.0f out of it, %.0f deliveries to spectators
    the largest audience is %d; the fullest node has %d spectators, %.0f MiB
    from an event to a socket: p50 %.1f ms, p99 %.1f ms

  tier              nodes  servers   jobs/s of   busy  busiest   wait, ms            nodes   breaks
                           of each        each      %%        %%       p50       p99  needed   at load ×
`, measured, f.Processors, 1e6*c.SeatRound, 1e6*c.Probe, 1e6*c.Connect, 1e6*c.SocketWrite, 1e6*c.Delivery, c.Socket/1024,
		1e6*c.Write, 1e6*c.Renewal, 1e6*c.Read, 1e6*c.BusOut, 1e6*c.BusIn, 1e6*c.RedisIn, 1e6*c.RedisOut,
		f.Plan.Spectators, f.Plan.Agents, r.Matches, f.Plan.Rounds, f.Plan.RoundTime,
		r.Starts, r.Events, r.Writes, r.BusIn, r.BusOut, r.Deliveries, r.Largest, r.Fullest, r.Memory, r.SeenP50, r.SeenP99)
	for _, t := range r.Tiers {
		fmt.Fprintf(&b, "  %-16s %6d  %7d  %10.0f  %5.1f  %7.1f  %8.2f  %8.2f  %6d  %7.1f\n",
			t.Name, t.Nodes, t.Servers, t.Rate, 100*t.Use, 100*t.Busiest, t.WaitP50, t.WaitP99, t.Needed, t.Factor)
	}
	first := firstToSaturate(r.Tiers)
	switch {
	case first.Busiest >= 1:
		fmt.Fprintf(&b, "\n  does not hold: work piles up at the %s, of which %d are needed\n", first.Name, first.Needed)
	default:
		fmt.Fprintf(&b, "\n  holds; the %s break first, at %.1f times this load\n", first.Name, first.Factor)
	}
	if s := f.Slots; s.Topics > 0 {
		fmt.Fprintf(&b, `
  %d topics take %d hash slots; the fullest has %.2f times the mean
  the fullest of %d shards has %.2f times the mean; with a slot for each topic it would have %.2f times
`, s.Topics, s.Slots, s.PerSlot, s.Shards, s.PerShard, s.Without)
	}
	return b.String()
}
