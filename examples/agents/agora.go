package agents

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/agora-arena/arena/sdk/go/arenaagent/agora"
)

// Duo is two agents that speak two-party Agora: one listens, one only polls.
// It must be closed.
type Duo struct {
	agents []Info
	ids    []string
	server *http.Server
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

// StartAgora starts both and registers them at the arena, each under an owner
// of its own, by two-party Agora alone. They run until ctx ends or Close is
// called. Of o, Count is not used.
func StartAgora(ctx context.Context, o Options) (*Duo, error) {
	if o.Logger == nil || len(o.Leagues) == 0 {
		return nil, errors.New("start demo agents: leagues and a logger are needed")
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one place where the agents take the system's clock
	}
	d := &Duo{}
	ctx, d.stop = context.WithCancel(ctx)
	mind := newMind(o.Knowledge)
	err := d.listen(ctx, o, newNamed("Zeno", steady(), o, mind))
	if err == nil {
		err = d.poll(ctx, o, newNamed("Yourcenar", slowAndSharp(), o, mind))
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("start demo agents of two-party Agora: %w", err)
	}
	return d, nil
}

// listen starts the agent that is reached at its own base URL.
func (d *Duo) listen(ctx context.Context, o Options, a *actor) error {
	agent, err := agora.New(agora.Config{MaxConcurrent: a.persona.concurrent, Logger: o.Logger.With(slog.String("agent", a.name))}, a.play)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// Work at hand is given up when the context of its request ends.
	d.server = &http.Server{
		Handler: agent, ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	d.wg.Go(func() { _ = d.server.Serve(ln) })
	info := infoOf(a)
	info.Endpoint = "http://" + ln.Addr().String() + "/agora"
	r, err := d.register(ctx, o, info)
	agent.SetBase(r.Base)
	return err
}

// poll starts the agent that nobody can reach.
func (d *Duo) poll(ctx context.Context, o Options, a *actor) error {
	r, err := d.register(ctx, o, infoOf(a))
	if err != nil {
		return err
	}
	config := agora.Config{Base: r.Base, MaxConcurrent: a.persona.concurrent, Logger: o.Logger.With(slog.String("agent", a.name))}
	d.wg.Go(func() {
		if err := agora.Poll(ctx, config, a.play); err != nil {
			config.Logger.Error("demo agent ended", slog.Any("error", err))
		}
	})
	return nil
}

func infoOf(a *actor) Info {
	return Info{Name: a.name, Persona: a.persona.name, Description: a.persona.description, Version: version}
}

func (d *Duo) register(ctx context.Context, o Options, info Info) (agora.Registered, error) {
	r, err := agora.Register(ctx, o.Arena, agora.Registration{
		Name: info.Name, Leagues: o.Leagues, Endpoint: info.Endpoint, Version: info.Version, Description: info.Description,
	})
	if err == nil {
		d.agents, d.ids = append(d.agents, info), append(d.ids, r.AgentID)
	}
	return r, err
}

// Agents lists both: the one that listens, then the one that polls, whose
// endpoint is empty.
func (d *Duo) Agents() []Info { return d.agents }

// IDs are the ids under which they were registered, in the same order.
func (d *Duo) IDs() []string { return d.ids }

// Close stops both and waits for them.
func (d *Duo) Close() {
	d.stop()
	if d.server != nil {
		_ = d.server.Close()
	}
	d.wg.Wait()
}
