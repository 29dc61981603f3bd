package agents

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/agora-arena/agora-go/arenaagent/agentprotocol"
	"github.com/agora-arena/agora-go/arenaagent/agora"
	"github.com/agora-arena/agora-go/arenaagent/envelope"
)

// The protocols that agents speak.
const (
	AAP           = "aap"
	Agora         = "agora"
	Envelope      = "envelope"
	AgentProtocol = "agentprotocol"
)

// starter returns how the i-th agent is started: where Options.Key allows it,
// four of eight speak another protocol than AAP.
func (f *Fleet) starter(i int, o Options) func(context.Context, Options, *actor) error {
	if o.Key == nil {
		return f.add
	}
	switch i % 8 {
	case 1:
		return f.addConversing
	case 2:
		return f.addAsking
	case 3:
		return f.addConnecting
	case 7:
		return f.addPolling
	}
	return f.add
}

func infoOf(a *actor, protocol string) Info {
	return Info{Name: a.name, Persona: a.persona.name, Description: a.persona.description, Version: version, Protocol: protocol}
}

// addPolling starts an agent that has no address: it fetches its tasks from
// the relay.
func (f *Fleet) addPolling(ctx context.Context, o Options, a *actor) error {
	key := envelope.KeyOf(o.Key(a.name))
	info := infoOf(a, Envelope)
	info.PublicKey, info.Prove = key.DID(), key.Prove
	f.members = append(f.members, &member{Info: info})
	f.run(o, a, func(log *slog.Logger) error {
		return envelope.Run(ctx, envelope.Config{
			Arena: o.Arena, Key: key, Name: a.name, Leagues: o.Leagues, MaxConcurrent: a.persona.concurrent, Logger: log,
		}, a.play)
	})
	return nil
}

// addConnecting starts an agent that plays over a WebSocket which it opens
// itself. Until it is registered and its key is proved, it tries again.
func (f *Fleet) addConnecting(ctx context.Context, o Options, a *actor) error {
	key := o.Key(a.name)
	capabilities := make([]string, len(o.Leagues))
	for i, league := range o.Leagues {
		capabilities[i] = "arena:round/" + league
	}
	agent, err := agentprotocol.New(agentprotocol.Config{
		Arena: o.Arena, Key: key, Name: a.name, Capabilities: capabilities, MaxConcurrent: a.persona.concurrent,
		Logger: o.Logger.With(slog.String("agent", a.name)),
	}, a.play)
	if err != nil {
		return err
	}
	info := infoOf(a, AgentProtocol)
	info.PublicKey = agent.PublicKey()
	info.Prove = func(challenge string) string { return agentprotocol.SignChallenge(key, challenge) }
	f.members = append(f.members, &member{Info: info})
	f.run(o, a, func(log *slog.Logger) error { return reconnect(ctx, log, agent.Run) })
	return nil
}

// reconnectPause is the time before a replaced agent connects again.
const reconnectPause = 5 * time.Second

// reconnect runs an agent until ctx ends, also when the arena says that a newer
// connection replaced its own. Nobody else has its key: a busy arena took an earlier
// connection of this agent, which had given it up, for the newer one.
func reconnect(ctx context.Context, log *slog.Logger, run func(context.Context) error) error {
	for {
		err := run(ctx)
		if !errors.Is(err, agentprotocol.ErrReplaced) {
			return err
		}
		log.WarnContext(ctx, "demo agent connects again", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectPause):
		}
	}
}

// addAsking starts an agent of two-party Agora that cannot be reached: it asks
// for its tasks as soon as it has its secret base URL.
func (f *Fleet) addAsking(ctx context.Context, o Options, a *actor) error {
	f.members = append(f.members, &member{Info: infoOf(a, Agora), joined: func(_, base string) {
		f.run(o, a, func(log *slog.Logger) error {
			return agora.Poll(ctx, agora.Config{Base: base, MaxConcurrent: a.persona.concurrent, Logger: log}, a.play)
		})
	}})
	return nil
}

// addConversing starts an agent of two-party Agora that listens.
func (f *Fleet) addConversing(ctx context.Context, o Options, a *actor) error {
	agent, err := agora.New(agora.Config{MaxConcurrent: a.persona.concurrent, Logger: o.Logger.With(slog.String("agent", a.name))}, a.play)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	info := infoOf(a, Agora)
	info.Endpoint = "http://" + ln.Addr().String() + "/agora"
	f.members = append(f.members, &member{Info: info, joined: func(_, base string) { agent.SetBase(base) }})
	server := &http.Server{ // work at hand is given up when the context of its request ends
		Handler: agent, ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	f.wg.Go(func() {
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		_ = server.Serve(ln) // ends with Close
	})
	return nil
}

// run runs an agent until its context ends.
func (f *Fleet) run(o Options, a *actor, play func(*slog.Logger) error) {
	log := o.Logger.With(slog.String("agent", a.name))
	f.wg.Go(func() {
		if err := play(log); err != nil {
			log.Error("demo agent ended", slog.Any("error", err))
		}
	})
}
