package health_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/health"
	"github.com/agora-arena/arena/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a sweeper with everything around it. Its endpoints are "good" and
// "bad"; "busy" is not called; "stall" takes the 5 s of a probe that stalls, and fails.
type bundle struct {
	*health.Sweeper
	options health.Options

	mu      sync.Mutex
	agents  map[string]arena.Agent
	records int
	events  []string
	starts  []time.Time
	probing int
	most    int // probes at the same time
	onProbe func(endpoint string)
	cut     bool
	broken  map[string]error // recording the probe of an agent
}

func newBundle(t *testing.T, change func(*health.Options), agents ...arena.Agent) *bundle {
	t.Helper()
	b := &bundle{agents: map[string]arena.Agent{}, broken: map[string]error{}}
	for _, a := range agents {
		b.agents[a.ID] = a
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	pauses := registry.NewPauses(registry.PausesOptions{Store: b, Publisher: b, Now: time.Now, Logger: log})
	b.options = health.Options{
		Store: b, Probers: map[string]health.Prober{"aap": b}, Recorder: pauses, CutOff: func(context.Context, time.Time) bool { return b.cut },
		Logger: log, Now: time.Now, Rand: rand.New(rand.NewPCG(1, 2)),
	}
	if change != nil {
		change(&b.options)
	}
	b.Sweeper = health.New(b.options)
	return b
}

func (b *bundle) Agent(_ context.Context, id string) (arena.Agent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.agents[id]
	if !ok {
		return a, arena.Errorf(arena.CodeNotFound, "no agent %s", id)
	}
	return a, nil
}

func (b *bundle) UpdateAgent(context.Context, string, func(*arena.Agent) error, ...arena.AgentAudit) (before, after arena.Agent, err error) {
	return before, after, errors.New("health checks are recorded together")
}

func (b *bundle) DueForProbe(context.Context) ([]arena.Agent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var due []arena.Agent
	for _, a := range b.agents {
		if a.RetiredAt.IsZero() {
			due = append(due, a)
		}
	}
	return due, nil
}

func (b *bundle) Agents(context.Context, arena.AgentFilter, arena.Page) ([]arena.Agent, string, error) {
	return nil, "", errors.New("the sweeper lists no agents of an owner")
}

func (b *bundle) Deliveries(context.Context, arena.DeliveryFilter, arena.Page) ([]arena.Delivery, string, error) {
	return nil, "", errors.New("the sweeper reads no request log")
}

func (b *bundle) RecordProbes(_ context.Context, _ time.Time, probes []arena.Probe) ([]arena.Probed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	recorded := make([]arena.Probed, len(probes))
	for i, p := range probes {
		d := &recorded[i]
		d.Before, d.Err = b.agents[p.AgentID], b.broken[p.AgentID]
		for range 2 { // a store may have to run it again
			if d.Err != nil {
				continue
			}
			d.After = d.Before
			d.After.Pauses = slices.Clone(d.Before.Pauses)
			d.Err = p.Apply(&d.After)
		}
		if d.Err == nil {
			b.agents[p.AgentID] = d.After
			b.records++
		}
	}
	return recorded, nil
}

func (b *bundle) Probe(ctx context.Context, a arena.Agent) arena.Health {
	endpoint := a.Endpoint
	b.mu.Lock()
	b.starts = append(b.starts, time.Now())
	b.probing++
	b.most = max(b.most, b.probing)
	hook := b.onProbe
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.probing--
	}()
	if hook != nil {
		hook(endpoint)
	}
	switch {
	case endpoint == "stall":
		select {
		case <-time.After(5 * time.Second):
		case <-ctx.Done():
		}
		return bad()
	case endpoint == "busy":
		return arena.Health{Reason: arena.ReasonHostBusy, Detail: "too often"}
	case endpoint == "good", endpoint == "":
		return good()
	default:
		return bad()
	}
}

func (b *bundle) PublishAgent(leagues []string, e arena.Event) {
	var body map[string]any
	if err := json.Unmarshal(e.Body, &body); err != nil || e.Seq != 0 || e.MatchID != "" || e.At.IsZero() {
		panic(fmt.Sprintf("event %+v: %v", e, err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%s %s %v %v in %s", e.Type, e.AgentID, body["name"], body["reason"], strings.Join(leagues, ",")))
}

func agent(n int, endpoint string) arena.Agent {
	return arena.Agent{
		ID: fmt.Sprintf("ag_%d", n), Name: fmt.Sprintf("Agent %d", n), Protocol: "aap", Endpoint: endpoint,
		Leagues: []string{"trivia", "sums"}, PassedAt: noon,
	}
}

func sweep(t *testing.T, b *bundle, want health.Report) {
	t.Helper()
	got, err := b.Sweep(t.Context())
	got.Took = 0
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("sweep: %v (-want +got):\n%s", err, diff)
	}
}

func TestSweeper_Sweep(t *testing.T) {
	t.Parallel()
	pending := agent(3, "good")
	pending.PassedAt = time.Time{}
	foreign := agent(4, "good")
	foreign.Protocol = "envelope"
	retired := agent(5, "good")
	retired.RetiredAt = noon
	b := newBundle(t, nil, agent(1, "good"), agent(2, "bad"), pending, foreign, retired)
	sweep(t, b, health.Report{Probed: 3, Failed: 1, Passed: 1})
	sweep(t, b, health.Report{Probed: 3, Failed: 1})
	sweep(t, b, health.Report{Probed: 3, Failed: 1, Paused: 1})
	sweep(t, b, health.Report{Probed: 3, Failed: 1})
	second := b.agents["ag_2"]
	second.Endpoint = "good"
	b.agents["ag_2"] = second
	sweep(t, b, health.Report{Probed: 3})
	sweep(t, b, health.Report{Probed: 3, Resumed: 1})
	want := []string{
		"agent_paused ag_2 Agent 2 health in trivia,sums",
		"agent_resumed ag_2 Agent 2 health in trivia,sums",
	}
	if diff := cmp.Diff(want, b.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if !b.agents["ag_4"].Health.CheckedAt.IsZero() || !b.agents["ag_5"].Health.CheckedAt.IsZero() {
		t.Error("an agent that cannot be probed was")
	}
}

// A pause after a 429 ends by time; the sweep says so.
func TestSweeper_Sweep_rate_limit_ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := agent(1, "good")
		a.SetPause(arena.Pause{Reason: arena.PauseRateLimit, Since: time.Now(), Until: time.Now().Add(5 * time.Minute)})
		a.SetPause(arena.Pause{Reason: arena.PauseOwner, Since: time.Now()})
		b := newBundle(t, nil, a)
		time.Sleep(5*time.Minute - time.Nanosecond)
		sweep(t, b, health.Report{Probed: 1})
		time.Sleep(time.Nanosecond)
		sweep(t, b, health.Report{Probed: 1, Resumed: 1})
		sweep(t, b, health.Report{Probed: 1})
		want := []string{"agent_resumed ag_1 Agent 1 rate_limit in trivia,sums"}
		if diff := cmp.Diff(want, b.events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got := b.agents["ag_1"].Pauses; len(got) != 1 || got[0].Reason != arena.PauseOwner {
			t.Errorf("pauses %+v", got)
		}
	})
}

// Threats F7 and N1: when the arena itself is cut off, no failure counts.
func TestSweeper_Sweep_frozen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		endpoints []string
		cut       bool
		frozen    bool
	}{
		{"most fail, cut off", []string{"bad", "bad", "good"}, true, true},
		{"all fail, cut off", []string{"bad"}, true, true},
		{"agents without an endpoint call the arena", []string{"bad", "", "", ""}, true, true},
		{"most fail, not cut off", []string{"bad", "bad", "good"}, false, false},
		{"half fail", []string{"bad", "bad", "good", "good"}, true, false},
		{"none fail", []string{"good"}, true, false},
		{"no agents", nil, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var agents []arena.Agent
			for i, e := range c.endpoints {
				agents = append(agents, agent(i, e))
			}
			b := newBundle(t, nil, agents...)
			b.cut = c.cut
			for range 4 {
				r, err := b.Sweep(t.Context())
				if err != nil || r.Frozen != c.frozen {
					t.Fatalf("sweep %+v, %v", r, err)
				}
			}
			want := 4 * len(agents)
			if c.frozen {
				want = 0
			}
			if b.records != want || c.frozen && len(b.events) > 0 {
				t.Errorf("%d records, want %d; events %v", b.records, want, b.events)
			}
		})
	}
}

// Threat R12: 300 agents that stall are swept within 30 s, by few workers.
func TestSweeper_Sweep_stalling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var agents []arena.Agent
		for i := range 300 {
			agents = append(agents, agent(i, "stall"))
		}
		b := newBundle(t, nil, agents...)
		r, err := b.Sweep(t.Context())
		if err != nil || r.Probed != 300 || r.Failed != 300 || r.Took > 30*time.Second {
			t.Errorf("sweep %+v, %v", r, err)
		}
		if b.most > 64 || b.probing != 0 {
			t.Errorf("%d probes at a time, %d left", b.most, b.probing)
		}
	})
}

func TestSweeper_Sweep_spread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var agents []arena.Agent
		for i := range 100 {
			agents = append(agents, agent(i, "good"))
		}
		b := newBundle(t, func(o *health.Options) { o.Spread = 20 * time.Second }, agents...)
		began := time.Now()
		if _, err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, at := range b.starts {
			if after := at.Sub(began); after != time.Duration(i)*200*time.Millisecond {
				t.Errorf("probe %d began after %v", i, after)
			}
		}
		if took := time.Since(began); took >= 20*time.Second {
			t.Errorf("the sweep took %v", took)
		}
	})
}

// What a sweep found is old once the owner has had the agent checked.
func TestSweeper_Sweep_overtaken(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil, agent(1, "good"))
	moved := func(endpoint string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		a := b.agents["ag_1"]
		a.Endpoint = endpoint
		b.agents["ag_1"] = a
	}
	b.onProbe = func(endpoint string) {
		if endpoint != "good" {
			return
		}
		moved("bad")
		if _, err := b.Check(t.Context(), "ag_1"); err != nil {
			t.Error(err)
		}
		moved("good")
	}
	if _, err := b.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := b.agents["ag_1"].Health; h.OK || h.Failures != 1 {
		t.Errorf("the newer check is gone: %+v", h)
	}
}

// There are as many workers as keep up with the spread, within the setting.
func TestSweeper_Sweep_keeps_up(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		probe   time.Duration
		workers int // setting
		late    [2]time.Duration
		most    int // probes at a time in the end
	}{
		"as long as expected":             {300 * time.Millisecond, 512, [2]time.Duration{1, 1}, 134},
		"slow: the second keeps up":       {time.Second, 1000, [2]time.Duration{40, 2}, 445},
		"slow: the setting is in the way": {time.Second, 200, [2]time.Duration{40, 40}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var agents []arena.Agent
				for i := range 10_000 {
					agents = append(agents, agent(i, "good"))
				}
				const spread = 22500 * time.Millisecond
				b := newBundle(t, func(o *health.Options) { o.Workers, o.Spread = c.workers, spread }, agents...)
				b.onProbe = func(string) { time.Sleep(c.probe) }
				for i, late := range c.late {
					r, err := b.Sweep(t.Context())
					if err != nil || r.Took > spread+late*time.Second {
						t.Errorf("sweep %d: took %v, %v", i, r.Took, err)
					}
				}
				if b.most != c.most {
					t.Errorf("%d probes at a time, want %d", b.most, c.most)
				}
			})
		})
	}
}

func TestSweeper_Sweep_ends_with_context(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(o *health.Options) { o.Workers, o.Spread = 1, 10*time.Second }, agent(1, "stall"), agent(2, "stall"), agent(3, "good"))
		stop := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(4*time.Second, func() { cancel(stop) })
		if _, err := b.Sweep(ctx); !errors.Is(err, stop) {
			t.Errorf("error %v", err)
		}
		if b.records != 0 || b.probing != 0 {
			t.Errorf("%d records, %d probes left", b.records, b.probing)
		}
	})
}

func TestSweeper_Sweep_never_overlaps(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil, agent(1, "good"))
	b.onProbe = func(string) {
		if r, err := b.Sweep(t.Context()); err != nil || !r.Skipped {
			t.Errorf("a second sweep ran: %+v, %v", r, err)
		}
	}
	sweep(t, b, health.Report{Probed: 1})
}

func TestSweeper_Sweep_errors(t *testing.T) {
	t.Parallel()
	b := newBundle(t, nil, agent(1, "good"), agent(2, "good"), agent(3, "good"))
	lost := errors.New("disk full")
	b.broken["ag_2"] = lost
	b.onProbe = func(string) { // ag_3 moves while it is probed
		b.mu.Lock()
		defer b.mu.Unlock()
		moved := b.agents["ag_3"]
		moved.Endpoint = "elsewhere"
		b.agents["ag_3"] = moved
	}
	r, err := b.Sweep(t.Context())
	if !errors.Is(err, lost) || r.Probed != 3 {
		t.Errorf("sweep %+v, %v", r, err)
	}
	for id, want := range map[string]bool{"ag_1": true, "ag_2": false, "ag_3": false} {
		if got := b.agents[id].Health.OK; got != want {
			t.Errorf("%s recorded: %t", id, got)
		}
	}
}

func TestSweeper_Check(t *testing.T) {
	t.Parallel()
	pending := agent(1, "good")
	pending.PassedAt = time.Time{}
	retired, foreign := agent(3, "good"), agent(4, "good")
	retired.RetiredAt, foreign.Protocol = noon, "envelope"
	b := newBundle(t, nil, pending, agent(2, "bad"), retired, foreign)
	a, err := b.Check(t.Context(), "ag_1")
	if err != nil || !a.Health.OK || a.StatusAt(time.Now()) != arena.AgentActive || a.Health.Successes != 1 {
		t.Errorf("good: %+v, %v", a, err)
	}
	a, err = b.Check(t.Context(), "ag_2")
	if err != nil || a.Health.OK || a.Health.Reason != "refused" || a.Health.Failures != 1 {
		t.Errorf("bad: %+v, %v", a, err)
	}
	for id, want := range map[string]arena.Code{"ag_3": arena.CodeConflict, "ag_4": arena.CodeConflict, "ag_9": arena.CodeNotFound} {
		if _, err := b.Check(t.Context(), id); arena.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
	}
	b.onProbe = func(string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		gone := b.agents["ag_1"]
		gone.RetiredAt = noon
		b.agents["ag_1"] = gone
	}
	if _, err := b.Check(t.Context(), "ag_1"); arena.CodeOf(err) != arena.CodeConflict {
		t.Errorf("retired meanwhile: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Check(ctx, "ag_2"); !errors.Is(err, context.Canceled) || b.agents["ag_2"].Health.Failures != 1 {
		t.Errorf("with an ended context: %v", err)
	}
}
