package agents

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

// The number of agents in a fleet.
const (
	DefaultCount = 24
	MaxCount     = 96
)

// version is the version that the agents declare.
const version = "1.0"

// Options describe a fleet. Arena, Leagues and Logger are needed.
type Options struct {
	Arena     string            // base URL
	Leagues   []string          // slugs that every agent plays
	Knowledge map[string]string // description of a task -> right answer
	Count     int               // 1..MaxCount; 0: DefaultCount
	Seed      uint64
	Speed     float64 // factor on all thinking times: 1 is the pace of a show, 0 answers at once
	Logger    *slog.Logger
	Now       func() time.Time // by which sleepers sleep; nil: the system's clock
	// Key returns the key of an agent whose protocol has keys, the same at each
	// start; nil: all agents speak AAP.
	Key func(name string) ed25519.PrivateKey
}

// Info describes one agent as its owner would register it.
type Info struct {
	Name        string
	Persona     string
	Description string
	Protocol    string
	Endpoint    string // "" when it asks for its tasks
	Version     string
	PublicKey   string                        // "" when its protocol has no keys
	Prove       func(challenge string) string // signs the key_challenge; nil when there is no key
}

// Fleet is a set of running agents. It must be closed.
type Fleet struct {
	members []*member
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

type member struct {
	Info
	joined func(agentID, base string) // may be nil
}

// Start puts o.Count agents on loopback, each on a port of its own. They run
// until ctx ends or Close is called.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	switch {
	case o.Count == 0:
		o.Count = DefaultCount
	case o.Count < 0 || o.Count > MaxCount:
		return nil, fmt.Errorf("start demo agents: a count of %d is not within 1 to %d", o.Count, MaxCount)
	}
	if !(o.Speed >= 0) {
		return nil, errors.New("start demo agents: the speed is below zero")
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one place where the agents take the system's clock
	}
	f := &Fleet{}
	ctx, f.stop = context.WithCancel(ctx)
	mind := newMind(o.Knowledge)
	for i := range o.Count {
		if err := f.starter(i, o)(ctx, o, newActor(i, o, mind)); err != nil {
			f.Close()
			return nil, fmt.Errorf("start demo agents: %w", err)
		}
	}
	return f, nil
}

func (f *Fleet) add(ctx context.Context, o Options, a *actor) error {
	agent, err := arenaagent.New(arenaagent.Config{
		Arena: o.Arena, AnyAgent: true, Capabilities: o.Leagues, MaxConcurrent: a.persona.concurrent, Health: a.health,
		Logger: o.Logger.With(slog.String("agent", a.name)),
	}, a.play)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, agent.Close())
	}
	info := infoOf(a, AAP)
	info.Endpoint = "http://" + ln.Addr().String() + "/agora"
	f.members = append(f.members, &member{Info: info, joined: func(id, _ string) { agent.SetAgentID(id) }})
	f.wg.Go(func() {
		// Running work is canceled at once, so that a demo ends when its context does.
		stop := context.AfterFunc(ctx, func() { _ = agent.Close() })
		defer stop()
		if err := agent.Serve(ctx, ln); err != nil {
			o.Logger.Error("demo agent ended", slog.String("agent", a.name), slog.Any("error", err))
		}
		_ = agent.Close()
	})
	return nil
}

// Agents lists the agents in a fixed order.
func (f *Fleet) Agents() []Info {
	list := make([]Info, 0, len(f.members))
	for _, m := range f.members {
		list = append(list, m.Info)
	}
	return list
}

// Joined sets the id under which the named agent was registered and, for
// two-party Agora, its secret base URL. Call it once.
func (f *Fleet) Joined(name, agentID, base string) error {
	for _, m := range f.members {
		if m.Name == name {
			if m.joined != nil {
				m.joined(agentID, base)
			}
			return nil
		}
	}
	return fmt.Errorf("no demo agent is called %q", name)
}

// Close stops all agents and waits for them.
func (f *Fleet) Close() {
	f.stop()
	f.wg.Wait()
}
