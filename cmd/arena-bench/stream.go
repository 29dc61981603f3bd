package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/stream/ws"
)

// BenchStreamCmd is `arena bench stream`.
type BenchStreamCmd struct {
	Spectators int           `default:"1000" help:"Spectators at once, 1 to 15000; twice as many files must be allowed."`
	Duration   time.Duration `default:"4s" help:"How long each load lasts, 1s to 10m."`
	Redis      bool          `help:"Instead: the same events from another node, over a redis-server that this starts, beside a node alone."`
	Batch      bool          `help:"Let the spectators ask for batch=1."`
	JSON       bool          `help:"Print one JSON object."`
	Profile    string        `placeholder:"FILE" help:"Write a profile of the arena's processor time."`
}

// Help describes what is measured.
func (c *BenchStreamCmd) Help() string {
	return `Spectators in another process on this machine watch one match of a whole server
(topics, since, sealing, the closing of slow readers, pings, metrics on), and this
process is measured: processor time for each delivered event, delay from publishing
to reading, and memory for each spectator that only listens. Beside it, in the same
run, a bare server with one write for each event and connection. Then: the same
with a spectator that stops reading, and while 200 late joiners read a log of
20,000 events.`
}

// loadFigures are the figures of one load.
type loadFigures struct {
	CPUMicros  float64 `json:"cpu_us_per_delivery"`
	PerSecond  float64 `json:"deliveries_per_second"`
	Delay      spread  `json:"delay_ms"`
	Deliveries int64   `json:"deliveries"`
}

// serverFigures are the figures of one server.
type serverFigures struct {
	Single    loadFigures `json:"single"`    // 20 events per second
	Burst     loadFigures `json:"burst"`     // 20 events at once, twice per second
	Flat      loadFigures `json:"saturated"` // as fast as it goes
	IdleBytes int64       `json:"idle_bytes_per_spectator"`
	LeftBytes int64       `json:"bytes_kept_after_all_left"`
}

// streamFigures is the whole result.
type streamFigures struct {
	Spectators int           `json:"spectators"`
	CPUs       int           `json:"cpus"`
	EventBytes int           `json:"event_bytes"`
	Bare       serverFigures `json:"bare"`
	Arena      serverFigures `json:"arena"`
	Frozen     loadFigures   `json:"arena_saturated_with_a_frozen_spectator"`
	FrozenEnd  bool          `json:"frozen_was_closed"` // false: what the kernels keep was not full yet
	Calm       loadFigures   `json:"before_late_joiners"`
	Late       loadFigures   `json:"while_late_joiners_catch_up"`
	LateTook   float64       `json:"late_joiners_seconds"`
	Nodes      *nodesFigures `json:"nodes,omitempty"`
}

// benchLoad is a way to publish: count events at once, again and again.
type benchLoad struct {
	count int
	every time.Duration // 0: as soon as the server can take more
}

func loadSingle() benchLoad { return benchLoad{1, 50 * time.Millisecond} }
func loadBurst() benchLoad  { return benchLoad{20, 500 * time.Millisecond} }
func loadFlat() benchLoad   { return benchLoad{32, 0} }

const (
	lateJoiners = 200
	lateLog     = 20_000
)

// Run measures and prints.
func (c *BenchStreamCmd) Run(app *App) (err error) {
	if c.Spectators < 1 || c.Spectators > 15_000 || c.Duration < time.Second || c.Duration > 10*time.Minute {
		return fmt.Errorf("%d spectators for %s: want 1 to 15000 and 1s to 10m", c.Spectators, c.Duration)
	}
	people, err := startCrowd(app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, people.stop()) }()
	b := streamBench{cmd: c, ctx: app.Ctx, crowd: people, say: func(what string) {
		if !c.JSON {
			_, _ = fmt.Fprintln(app.Stderr, what)
		}
	}}
	b.figures.Spectators, b.figures.CPUs = c.Spectators, runtime.GOMAXPROCS(0)
	table := b.figures.table
	if c.Redis {
		table = b.figures.nodesTable
		err = profiled(c.Profile, func() error { return b.nodes(app) })
	} else if err = b.bare(); err == nil {
		err = profiled(c.Profile, b.arena)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(b.figures)
	}
	_, err = fmt.Fprint(app.Stdout, table())
	return err
}

// streamBench is one run.
type streamBench struct {
	cmd     *BenchStreamCmd
	ctx     context.Context // of the command; here because a bench is one call
	crowd   *crowdProcess
	say     func(string)
	figures streamFigures
}

// duration is when a load was enough.
func (b *streamBench) duration(d time.Duration) bool { return d >= b.cmd.Duration }

// benchTarget is a server under load.
type benchTarget struct {
	match   string
	url     string
	seq     int64 // of the last event published
	publish func(events []arena.Event) error
}

func benchEvent(match string, seq int64) arena.Event {
	now := time.Now()
	return arena.Event{
		MatchID: match, Seq: seq, Round: 1, AgentID: "ag_01hq3m8z6n1v2b3c4d5f6g7h8j", At: now, Type: arena.EventThinking,
		Body: fmt.Appendf(nil, `{"message":"Canberra is the capital, let me check","sent":%d}`, now.UnixNano()),
	}
}

func (b *streamBench) bare() error {
	s, err := newBareStream(b.ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }() // it has served
	match := arena.NewID("m_", time.Now())
	b.figures.EventBytes = len(benchEvent(match, 1_000_000).AppendJSON(nil))
	t := &benchTarget{
		match: match, url: s.url(),
		publish: func(events []arena.Event) error {
			for _, e := range events {
				s.publish(e.AppendJSON(nil))
			}
			return nil
		},
	}
	return b.server("bare", t, &b.figures.Bare)
}

func (b *streamBench) arena() (err error) {
	w, err := newBenchWorld(b.ctx, 3, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	t, err := b.onArena(w, w.agents[0])
	if err != nil {
		return err
	}
	if err := b.server("arena", t, &b.figures.Arena); err != nil {
		return err
	}
	if err := b.frozen(w); err != nil {
		return fmt.Errorf("frozen spectator: %w", err)
	}
	return b.late(w)
}

// onArena makes a match whose events are published and not stored: other benchmarks
// measure the database.
func (b *streamBench) onArena(w *benchWorld, agent string) (*benchTarget, error) {
	match, seq, err := w.match(b.ctx, agent)
	if err != nil {
		return nil, err
	}
	query := "/v1/stream?match=" + match
	if b.cmd.Batch {
		query += "&batch=1"
	}
	return &benchTarget{
		match: match, url: w.LocalURL() + query, seq: seq,
		publish: func(events []arena.Event) error { w.Hub.Publish(benchSlug, events...); return nil },
	}, nil
}

// server measures one server under every load.
func (b *streamBench) server(name string, t *benchTarget, f *serverFigures) error {
	n := b.cmd.Spectators
	before := memoryUsed()
	if _, err := b.crowd.do(crowdOrder{Do: "watch", Group: "live", URL: t.url, Count: n}); err != nil {
		return err
	}
	f.IdleBytes = (memoryUsed() - before) / int64(n)
	time.Sleep(1500 * time.Millisecond) // the cost of connecting is past, the number of viewers is published
	for _, load := range []struct {
		what string
		load benchLoad
		into *loadFigures
	}{
		{"20 events per second", loadSingle(), &f.Single},
		{"20 at once, twice per second", loadBurst(), &f.Burst},
		{"as fast as it goes", loadFlat(), &f.Flat},
	} {
		b.say(fmt.Sprintf("%s: %s …", name, load.what))
		var err error
		if *load.into, err = b.measure(t, load.load, b.duration); err != nil {
			return fmt.Errorf("%s: %w", load.what, err)
		}
	}
	if _, err := b.crowd.do(crowdOrder{Do: "leave", Group: "live"}); err != nil {
		return err
	}
	f.LeftBytes = b.settle(before)
	return nil
}

// settle waits until memory comes back, at most five seconds, and returns what
// is still held beyond before.
func (b *streamBench) settle(before int64) (kept int64) {
	for range 10 {
		if kept = memoryUsed() - before; kept <= 1<<20 {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	return kept
}

// measure puts a load on a server until it has enough samples.
func (b *streamBench) measure(t *benchTarget, load benchLoad, enough func(time.Duration) bool) (loadFigures, error) {
	// The number of events in flight. The server disconnects a client that is
	// 4,096 events behind or whose socket buffer stays full.
	window := int64(max(64, min(2048, 1_000_000/b.cmd.Spectators)))
	if _, err := b.crowd.do(crowdOrder{Do: "report", Group: "live"}); err != nil {
		return loadFigures{}, err
	}
	first, seen := t.seq, t.seq
	began, cpu := time.Now(), cpuTime()
	for next := began; ; {
		if err := b.ctx.Err(); err != nil {
			return loadFigures{}, err
		}
		if enough(time.Since(began)) {
			break
		}
		if load.every == 0 && t.seq-seen > window {
			seen += window / 2
			if _, err := b.crowd.do(crowdOrder{Do: "await", Group: "live", Seq: seen}); err != nil {
				return loadFigures{}, err
			}
		}
		events := make([]arena.Event, load.count)
		for i := range events {
			t.seq++
			events[i] = benchEvent(t.match, t.seq)
		}
		if err := t.publish(events); err != nil {
			return loadFigures{}, err
		}
		if load.every > 0 {
			next = next.Add(load.every)
			time.Sleep(time.Until(next))
		}
	}
	published := t.seq - first
	if _, err := b.crowd.do(crowdOrder{Do: "await", Group: "live", Seq: t.seq}); err != nil {
		return loadFigures{}, err
	}
	took, used := time.Since(began), cpuTime()-cpu
	r, err := b.crowd.do(crowdOrder{Do: "report", Group: "live"})
	if err != nil {
		return loadFigures{}, err
	}
	if want := published * int64(b.cmd.Spectators); r.Events != want || r.Wrong > 0 {
		return loadFigures{}, fmt.Errorf("%d events came, %d of them out of order; want %d", r.Events, r.Wrong, want)
	}
	return loadFigures{
		CPUMicros: float64(used.Microseconds()) / float64(r.Events), PerSecond: float64(r.Events) / took.Seconds(),
		Delay: r.Delay, Deliveries: r.Events,
	}, nil
}

// frozen repeats the hardest load with one more spectator that never reads.
func (b *streamBench) frozen(w *benchWorld) error {
	b.say("arena: as fast as it goes, one spectator frozen …")
	t, err := b.onArena(w, w.agents[1])
	if err != nil {
		return err
	}
	if _, err := b.crowd.do(crowdOrder{Do: "watch", Group: "live", URL: t.url, Count: b.cmd.Spectators}); err != nil {
		return err
	}
	if _, err := b.crowd.do(crowdOrder{Do: "frozen", Group: "frozen", URL: t.url, Count: 1}); err != nil {
		return err
	}
	closed := func() bool { return w.Hub.Stats().Closes[ws.CloseSlow] > 0 }
	b.figures.Frozen, err = b.measure(t, loadFlat(), func(d time.Duration) bool {
		return b.duration(d) && closed() || d > b.cmd.Duration+15*time.Second
	})
	if err != nil {
		return err
	}
	b.figures.FrozenEnd = closed()
	for _, group := range []string{"live", "frozen"} {
		if _, err := b.crowd.do(crowdOrder{Do: "leave", Group: group}); err != nil {
			return err
		}
	}
	return nil
}

// late lets many spectators read a long log while others watch live.
func (b *streamBench) late(w *benchWorld) error {
	b.say(fmt.Sprintf("arena: %d late joiners read a log of %d events …", lateJoiners, lateLog))
	t, err := b.onArena(w, w.agents[2])
	if err != nil {
		return err
	}
	t.publish = func(events []arena.Event) error {
		stored, err := w.Store.Matches.AppendEvents(b.ctx, t.match, w.agents[2], events)
		for i := range stored { // what the commit took is not the stream's
			stored[i].Body = benchEvent(t.match, 0).Body
		}
		w.Hub.Publish(benchSlug, stored...)
		return err
	}
	for t.seq < lateLog {
		events := make([]arena.Event, 500)
		for i := range events {
			t.seq++
			events[i] = benchEvent(t.match, 0)
		}
		if err := t.publish(events); err != nil {
			return err
		}
	}
	if _, err := b.crowd.do(crowdOrder{Do: "watch", Group: "live", URL: t.url, Count: b.cmd.Spectators}); err != nil {
		return err
	}
	if b.figures.Calm, err = b.measure(t, loadSingle(), b.duration); err != nil {
		return err
	}
	// The crowd answers one order at a time: the late ones need another.
	return b.lateCrowd(t)
}

func (b *streamBench) lateCrowd(t *benchTarget) (err error) {
	others, err := b.crowd.another()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.stop()) }()
	done, failed := make(chan struct{}), make(chan error, 1)
	last := t.seq
	go func() {
		defer close(done)
		began := time.Now()
		_, err := others.do(crowdOrder{Do: "watch", Group: "late", URL: t.url + "&since=0", Count: lateJoiners})
		if err == nil {
			_, err = others.do(crowdOrder{Do: "await", Group: "late", Seq: last})
		}
		b.figures.LateTook = time.Since(began).Seconds()
		failed <- err
	}()
	b.figures.Late, err = b.measure(t, loadSingle(), func(time.Duration) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	if err = errors.Join(err, <-failed); err != nil {
		return err
	}
	r, err := others.do(crowdOrder{Do: "report", Group: "late"})
	if err == nil && (r.Wrong > 0 || r.Closed > 0) {
		err = fmt.Errorf("of the late joiners %d were closed, and %d events were out of order", r.Closed, r.Wrong)
	}
	return err
}

// table prints the figures.
func (f *streamFigures) table() string {
	var s strings.Builder
	_, _ = fmt.Fprintf(&s, "\n%d spectators, %d processors, events of %d bytes: processor time of the server in µs per delivery · p99 ms\n\n", f.Spectators, f.CPUs, f.EventBytes)
	_, _ = fmt.Fprintf(&s, "  %-8s  %-16s  %-20s  %-28s  %s\n", "", "20 events/s", "20 at once, 2 × /s", "as fast as it goes", "KB idle, KB kept in all")
	for _, row := range []struct {
		name string
		f    *serverFigures
	}{{"bare", &f.Bare}, {"arena", &f.Arena}} {
		_, _ = fmt.Fprintf(&s, "  %-8s  %6.2f · %-6.1f   %6.2f · %-6.1f       %6.2f  (%.2f M/s)           %4.1f, %d\n", row.name,
			row.f.Single.CPUMicros, row.f.Single.Delay.P99, row.f.Burst.CPUMicros, row.f.Burst.Delay.P99,
			row.f.Flat.CPUMicros, row.f.Flat.PerSecond/1e6, float64(row.f.IdleBytes)/1024, row.f.LeftBytes/1024)
	}
	_, _ = fmt.Fprintf(&s, "  %-8s  %6.2f · %-6.2f   %6.2f · %-6.2f       %6.2f\n\n", "ratio",
		f.Arena.Single.CPUMicros/f.Bare.Single.CPUMicros, f.Arena.Single.Delay.P99/f.Bare.Single.Delay.P99,
		f.Arena.Burst.CPUMicros/f.Bare.Burst.CPUMicros, f.Arena.Burst.Delay.P99/f.Bare.Burst.Delay.P99,
		f.Arena.Flat.CPUMicros/f.Bare.Flat.CPUMicros)
	_, _ = fmt.Fprintf(&s, "  one frozen spectator more, as fast as it goes: %.2f µs (%.2f M/s) for the others; closed: %t\n",
		f.Frozen.CPUMicros, f.Frozen.PerSecond/1e6, f.FrozenEnd)
	_, _ = fmt.Fprintf(&s, "  %d late joiners, since=0 on %d events: live p99 %.1f ms before, %.1f ms while they caught up in %.1f s\n",
		lateJoiners, lateLog, f.Calm.Delay.P99, f.Late.Delay.P99, f.LateTook)
	return s.String()
}
