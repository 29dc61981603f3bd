package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
)

// BenchEventsCmd is `arena bench events`.
type BenchEventsCmd struct {
	Agents  int    `default:"100" help:"Agents that send at once, 1 to 128."`
	Events  int    `default:"2000" help:"Events of each agent, 100 to 8000."`
	JSON    bool   `help:"Print one JSON object."`
	Profile string `placeholder:"FILE" help:"Write a profile of the arena's processor time."`
}

// Help describes what is measured.
func (c *BenchEventsCmd) Help() string {
	return `Agents in another process on this machine send events over WebSockets to a whole
server on SQLite with full sync, and a spectator in that process reads them: the
delay from the agent to the spectator through the durable log, for one agent that
sends 100 per second; and how many events per second are taken when all send as
fast as they can. Beside it a bare server that hands messages on as they come.`
}

// eventFigures are the figures of one run.
type eventFigures struct {
	Agents    int     `json:"agents"`
	Delay     spread  `json:"delay_ms"`
	BareDelay spread  `json:"bare_delay_ms"`
	PerSecond float64 `json:"events_per_second"`
	BarePer   float64 `json:"bare_events_per_second"`
	CPUMicros float64 `json:"cpu_us_per_event"`
	BareCPU   float64 `json:"bare_cpu_us_per_event"`
	Events    int     `json:"events"`
}

// Run measures and prints.
func (c *BenchEventsCmd) Run(app *App) (err error) {
	if c.Agents < 1 || c.Agents > 128 || c.Events < 100 || c.Events > 8000 {
		return fmt.Errorf("%d agents with %d events: want 1 to 128 and 100 to 8000", c.Agents, c.Events)
	}
	people, err := startCrowd(app)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, people.stop()) }()
	f := eventFigures{Agents: c.Agents, Events: c.Agents * c.Events}
	if err := c.bare(app, people, &f); err != nil {
		return fmt.Errorf("bare server: %w", err)
	}
	if err := profiled(c.Profile, func() error { return c.arena(app, people, &f) }); err != nil {
		return fmt.Errorf("arena: %w", err)
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	_, err = fmt.Fprintf(app.Stdout, `
  %d events of %d agents           agent to spectator, ms       events      CPU µs
                                     p50     p99     worst     per second  per event
  arena, SQLite with full sync    %6.2f  %6.2f    %6.2f    %10.0f     %6.1f
  bare, no log                    %6.2f  %6.2f    %6.2f    %10.0f     %6.1f
`, f.Events, c.Agents, f.Delay.P50, f.Delay.P99, f.Delay.Worst, f.PerSecond, f.CPUMicros,
		f.BareDelay.P50, f.BareDelay.P99, f.BareDelay.Worst, f.BarePer, f.BareCPU)
	return err
}

// saying is the text of an event under load.
func saying() string { return strings.Repeat("let me think about it ", 3) }

const quiet = 300 // events of the one agent whose delay is measured

// both measures delay and throughput. count is how many events a server has
// taken so far.
func (c *BenchEventsCmd) both(people *crowdProcess, watch, talk string, tokens []string, count func() uint64) (delay spread, perSecond, micros float64, err error) {
	if _, err = people.do(crowdOrder{Do: "watch", Group: watch, URL: watch, Count: 1}); err != nil {
		return delay, 0, 0, err
	}
	say := func(o crowdOrder) error {
		want := count() + uint64(len(o.Tokens)*o.Total) //nolint:gosec // G115: small
		o.Do, o.URL = "talk", talk
		if _, err := people.do(o); err != nil {
			return err
		}
		for last, quiet := count(), time.Now(); last < want; time.Sleep(time.Millisecond) {
			if n := count(); n > last {
				last, quiet = n, time.Now()
			} else if time.Since(quiet) > 10*time.Second {
				return fmt.Errorf("%d events are missing", want-last)
			}
		}
		return nil
	}
	if err = say(crowdOrder{Tokens: tokens[:1], Every: 10 * time.Millisecond, Total: quiet}); err != nil {
		return delay, 0, 0, err
	}
	r, err := people.do(crowdOrder{Do: "report", Group: watch})
	if err != nil {
		return delay, 0, 0, err
	}
	began, cpu := time.Now(), cpuTime()
	if err = say(crowdOrder{Tokens: tokens, Message: saying(), Total: c.Events}); err != nil {
		return delay, 0, 0, err
	}
	took, used := time.Since(began), cpuTime()-cpu
	n := float64(c.Agents * c.Events)
	return r.Delay, n / took.Seconds(), float64(used.Microseconds()) / n, nil
}

func (c *BenchEventsCmd) bare(app *App, people *crowdProcess, f *eventFigures) error {
	s, err := newBareStream(app.Ctx)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }() // it has served
	f.BareDelay, f.BarePer, f.BareCPU, err = c.both(people, s.url(), s.url()+"/talk", make([]string, c.Agents), s.written.Load)
	return err
}

func (c *BenchEventsCmd) arena(app *App, people *crowdProcess, f *eventFigures) (err error) {
	w, err := newBenchWorld(app.Ctx, c.Agents, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	match, _, err := w.match(app.Ctx, w.agents...)
	if err != nil {
		return err
	}
	tokens := make([]string, c.Agents)
	for i, a := range w.agents {
		tokens[i], err = w.Keys.Sign(arena.TaskClaims{AgentID: a, MatchID: match, ExpiresAt: time.Now().Add(10 * time.Minute)})
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
	}
	count := func() uint64 { return w.Seats.Stats().Accepted }
	base := w.LocalURL() + "/v1/stream"
	f.Delay, f.PerSecond, f.CPUMicros, err = c.both(people, base+"?batch=1&match="+match, base, tokens, count)
	if stats := w.Seats.Stats(); len(stats.Refused) > 0 {
		err = errors.Join(err, fmt.Errorf("events were refused: %v", stats.Refused))
	}
	return err
}
