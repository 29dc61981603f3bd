package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/token"
	"github.com/agora-arena/arena/store"
)

// BenchPollsCmd is `arena bench polls`.
type BenchPollsCmd struct {
	Agents  int           `default:"1000" help:"Agents that wait for tasks, 10 to 10000."`
	Wait    time.Duration `default:"10s" help:"How long a poll waits, 1s to 60s."`
	Profile string        `placeholder:"FILE" help:"Write a profile of the processor while the agents wait."`
	JSON    bool          `help:"Print one JSON object."`
}

// Help describes what is measured.
func (c *BenchPollsCmd) Help() string {
	return `Agents without an endpoint wait for tasks that never come: each asks for one,
gets 204 No Content after --wait, and asks again, each time on a new connection.
The bare server beside it answers 204 after the same time and does nothing else.`
}

// pollFigures is what agents cost that wait for tasks.
type pollFigures struct {
	Agents int      `json:"agents"`
	Arena  pollCost `json:"arena"`
	Bare   pollCost `json:"bare"`
}

// pollCost is the cost for each agent.
type pollCost struct {
	Bytes     int64   `json:"bytes"`           // of what the process holds of the machine's memory
	PollMicro float64 `json:"cpu_us_per_poll"` // beyond what the process takes without agents
}

// Run measures and prints.
func (c *BenchPollsCmd) Run(app *App) (err error) {
	if c.Agents < 10 || c.Agents > 10_000 {
		return fmt.Errorf("%d agents: want 10 to 10000", c.Agents)
	}
	if c.Wait < time.Second || c.Wait > time.Minute {
		return fmt.Errorf("a wait of %s: want 1s to 60s", c.Wait)
	}
	if err := allowFiles(uint64(2*c.Agents + 500)); err != nil {
		return err
	}
	f := pollFigures{Agents: c.Agents}
	if f.Bare, err = c.bare(app); err != nil {
		return fmt.Errorf("bare server: %w", err)
	}
	w, err := newBenchWorld(app.Ctx, 0, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	polls, err := pullers(app.Ctx, w.Store, c.Agents, c.Wait)
	if err != nil {
		return err
	}
	if err := profiled(c.Profile, func() (err error) {
		f.Arena, err = c.measure(app, w.LocalURL(), polls)
		return err
	}); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(app.Stdout).Encode(f)
	}
	perSecond := func(p pollCost) float64 { return p.PollMicro / c.Wait.Seconds() }
	_, err = fmt.Fprintf(app.Stdout, `
  %d agents wait for tasks
                                 arena     bare
  memory, KB for each           %6.1f   %6.1f
  processor, µs for each poll   %6.1f   %6.1f
  and each second               %6.1f   %6.1f
`, f.Agents, kb(f.Arena.Bytes), kb(f.Bare.Bytes), f.Arena.PollMicro, f.Bare.PollMicro, perSecond(f.Arena), perSecond(f.Bare))
	return err
}

// bare measures a server that answers 204 after the wait.
func (c *BenchPollsCmd) bare(app *App) (cost pollCost, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(app.Ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return cost, fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(c.Wait):
			w.WriteHeader(http.StatusNoContent)
		case <-r.Context().Done():
		}
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	cost, err = c.measure(app, "http://"+l.Addr().String(), make([]crowdPoll, c.Agents))
	err = errors.Join(err, server.Close())
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	return cost, err
}

// pullers makes agents without endpoints and returns the path and the token of
// the polls of each.
func pullers(ctx context.Context, s *store.Store, n int, wait time.Duration) (polls []crowdPoll, err error) {
	now := time.Now().UTC()
	for i := range n {
		o := arena.Owner{ID: arena.NewID("ow_", now), Name: fmt.Sprintf("waiting owner %d", i), CreatedAt: now}
		secret, hash := token.NewSecret(token.OwnerSecretPrefix)
		t := arena.Token{ID: arena.NewID(arena.TokenPrefix, now), OwnerID: o.ID, Scope: arena.ScopeOwner, Hash: hash, CreatedAt: now}
		if err := s.Accounts.CreateOwner(ctx, o, t); err != nil {
			return nil, err
		}
		a := arena.Agent{ID: arena.NewID("ag_", now), OwnerID: o.ID, OwnerName: o.Name, Name: fmt.Sprintf("waiting agent %d", i), Protocol: "aap", CreatedAt: now}
		if err := s.Agents.CreateAgent(ctx, a); err != nil {
			return nil, err
		}
		polls = append(polls, crowdPoll{Path: fmt.Sprintf("v1/agents/%s/tasks?wait=%v", a.ID, wait.Seconds()), Token: secret})
	}
	return polls, nil
}

// measure lets agents in another process poll a server of this one: each twice
// while the processor is measured.
func (c *BenchPollsCmd) measure(app *App, base string, polls []crowdPoll) (cost pollCost, err error) {
	crowd, err := startCrowd(app)
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, crowd.stop()) }()
	n := int64(len(polls))
	before := memoryUsed()
	idle := cpuIn(2 * c.Wait)
	if _, err := crowd.do(crowdOrder{Do: "poll", Group: "polls", URL: base, Polls: polls, Every: c.Wait / 2 / time.Duration(c.Agents)}); err != nil {
		return cost, err
	}
	time.Sleep(c.Wait / 4) // all wait
	cost.Bytes = (memoryUsed() - before) / n
	if _, err := crowd.do(crowdOrder{Do: "report", Group: "polls"}); err != nil {
		return cost, err
	}
	used := cpuIn(2*c.Wait) - idle
	r, err := crowd.do(crowdOrder{Do: "report", Group: "polls"})
	if err != nil {
		return cost, err
	}
	if r.Wrong > 0 || r.Events < n {
		return cost, fmt.Errorf("%d polls of %d agents ended with 204 No Content, %d in another way", r.Events, n, r.Wrong)
	}
	cost.PollMicro = float64(used.Microseconds()) / float64(r.Events)
	return cost, nil
}

// cpuIn returns the processor time of this process in the next span.
func cpuIn(span time.Duration) time.Duration {
	before := cpuTime()
	time.Sleep(span)
	return cpuTime() - before
}
