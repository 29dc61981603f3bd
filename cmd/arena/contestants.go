package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/join"
	"github.com/agora-arena/arena/internal/plaintext"
)

// contestants are the agents of matches on this machine. Some are hosted here:
// built-in opponents of games, programs and models, each at an endpoint on this
// machine.
type contestants struct {
	// everyMatch has built-in opponents play each match in another way. Else they
	// make the same moves in the same positions.
	everyMatch bool

	targets []target
	hosted  []*hosted
	stop    context.CancelFunc
}

// hosted is an agent that this process runs.
type hosted struct {
	target   int // index in targets
	answer   arenaagent.Handler
	listener net.Listener
	agent    *arenaagent.Agent // nil: not started
	ended    chan error

	mu     sync.Mutex
	failed error // of the last task that it did not answer
}

// The forms of a contestant that is hosted here.
const (
	execPrefix  = "exec:"
	modelPrefix = "model:"
)

// add reads a contestant: [NAME=]exec:CMD, [NAME=]model:NAME, the name of a built-in
// opponent of the game unless that is "", or a target of parseTarget.
func (c *contestants) add(app *App, arg, protocol string, sources SourceFlags, game string, seed uint64) error {
	name, spec, named := strings.Cut(arg, "=")
	if !named || !targetPrefix.MatchString(name) {
		name, spec, named = "", arg, false
	}
	var answer arenaagent.Handler
	var err error
	switch {
	case strings.HasPrefix(spec, execPrefix):
		var source join.Source
		if source, err = sources.command(app, strings.TrimPrefix(spec, execPrefix)); err == nil {
			name, answer = cmp.Or(name, source.Name()), source.Answer
		}
	case strings.HasPrefix(spec, modelPrefix):
		var source join.Source
		if source, err = sources.model(app, strings.TrimPrefix(spec, modelPrefix)); err == nil {
			name, answer = cmp.Or(name, source.Name()), source.Answer
		}
	case game != "" && slices.Contains(bots(game), spec):
		name = cmp.Or(name, spec)
		answer, err = c.bot(spec, game, seed+uint64(len(c.hosted)))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", arg, err)
	}
	t := target{name: name, protocol: arena.ProtocolAAP, named: named}
	if answer != nil {
		t.endpoint, err = c.host(app.Ctx, answer)
	} else {
		t, err = parseTarget(arg, protocol)
	}
	if err != nil {
		return err
	}
	if !t.named {
		t.name = plaintext.Shorten(strconv.Itoa(len(c.targets)+1)+" "+t.name, 40)
	}
	c.targets = append(c.targets, t)
	return nil
}

// addBuiltIn adds a contestant that a handler answers for.
func (c *contestants) addBuiltIn(ctx context.Context, name string, answer arenaagent.Handler) error {
	endpoint, err := c.host(ctx, answer)
	if err == nil {
		c.targets = append(c.targets, target{name: name, protocol: arena.ProtocolAAP, endpoint: endpoint, named: true})
	}
	return err
}

// host opens the endpoint of the contestant that is added next, and returns its URL.
func (c *contestants) host(ctx context.Context, answer arenaagent.Handler) (endpoint string, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("open an endpoint: %w", err)
	}
	c.hosted = append(c.hosted, &hosted{target: len(c.targets), answer: answer, listener: l})
	return "http://" + l.Addr().String() + "/agora", nil
}

// serve starts the hosted contestants as agents of an arena, which play in every
// league. Each works on so many tasks at once.
func (c *contestants) serve(ctx context.Context, local *localArena, concurrent int) error {
	ctx, c.stop = context.WithCancel(ctx)
	for _, h := range c.hosted {
		agent, err := arenaagent.New(arenaagent.Config{
			Arena: local.LocalURL(), Issuer: local.URL(), AnyAgent: true, Events: arenaagent.EventsOff, MaxConcurrent: concurrent,
		}, h.work)
		if err != nil {
			return fmt.Errorf("%s: %w", c.targets[h.target].name, err)
		}
		h.agent, h.ended = agent, make(chan error, 1)
		go func() { h.ended <- agent.Serve(ctx, h.listener) }()
	}
	return nil
}

// work answers a task, and keeps the reason if it fails.
func (h *hosted) work(ctx context.Context, task *arenaagent.Task, events *arenaagent.Events) (arenaagent.Answer, error) {
	answer, err := h.answer(ctx, task, events)
	if err != nil {
		h.mu.Lock()
		h.failed = err
		h.mu.Unlock()
	}
	return answer, err
}

// failure returns why a contestant that is hosted here did not answer a task, the
// latest one; nil if it answered all of them or is not hosted.
func (c *contestants) failure(target int) error {
	for _, h := range c.hosted {
		if h.target == target {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.failed
		}
	}
	return nil
}

// lastFailure returns why a contestant, which has an id on an arena, did not answer a
// task, the latest one.
func (c *contestants) lastFailure(ctx context.Context, local *localArena, target int, id string) string {
	if err := c.failure(target); err != nil {
		return err.Error()
	}
	var page struct {
		Items []struct {
			Outcome string `json:"outcome"`
			Reason  string `json:"reason"`
			Detail  string `json:"detail"`
		} `json:"items"`
	}
	if err := local.admin.Call(ctx, http.MethodGet, "/v1/agents/"+id+"/deliveries?limit=100", nil, &page); err != nil {
		return err.Error()
	}
	for _, item := range page.Items {
		if item.Outcome != string(arena.OutcomeAnswered) && item.Outcome != "" {
			return cmp.Or(item.Detail, item.Reason, item.Outcome)
		}
	}
	return "unknown"
}

// close ends the hosted contestants, with the tasks at which they work, and waits
// for them.
func (c *contestants) close() (err error) {
	if c.stop != nil {
		defer c.stop()
	}
	for _, h := range c.hosted {
		if h.agent == nil {
			_ = h.listener.Close() // nothing was served
			continue
		}
		err = errors.Join(err, h.agent.Close())
		c.stop()
		err = errors.Join(err, <-h.ended)
	}
	return err
}

// register registers the contestants as agents and enters them in leagues.
func (c *contestants) register(ctx context.Context, local *localArena, leagues ...string) ([]registered, error) {
	all := make([]registered, len(c.targets))
	for i, t := range c.targets {
		made, err := local.register(ctx, t, leagues...)
		if err != nil {
			return nil, err
		}
		if !made.ready() {
			return nil, fmt.Errorf("%s: its health check is not good (%s): %s; try arena check --protocol %s %s", t.name, made.Health.Reason, plaintext.Terminal(made.Health.Detail),
				t.protocol, cmp.Or(t.endpoint, t.key, "poll"))
		}
		all[i] = made
	}
	return all, nil
}

// seedsOf returns the seeds of matches for the seed of a flag, nil for secret ones.
func seedsOf(flag *uint64) rand.Source {
	if flag == nil {
		return nil
	}
	return rand.NewPCG(*flag, 0)
}

// seedOf returns the seed of a flag, or one that no flag decides.
func seedOf(flag *uint64) uint64 {
	if flag != nil {
		return *flag
	}
	return rand.Uint64() //nolint:gosec // G404: it shuffles tasks and moves of built-in opponents on the author's machine
}
