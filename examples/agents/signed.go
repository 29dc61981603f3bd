package agents

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/agora-arena/arena/sdk/go/arenaagent/agentprotocol"
)

// Signed is an agent that speaks AgentProtocol over a WebSocket that it opens
// itself: nothing needs to reach it. It must be closed.
type Signed struct {
	Info
	PublicKey string // to be registered

	key  ed25519.PrivateKey
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// StartSigned starts the agent. Until it is registered and its key is proved,
// the arena does not let it in, and it tries again. Of o, Count is not used.
func StartSigned(ctx context.Context, o Options) (*Signed, error) {
	if o.Logger == nil || len(o.Leagues) == 0 || !(o.Speed >= 0) {
		return nil, errors.New("start signed demo agent: leagues, a logger and a speed are needed")
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the one place where the agent takes the system's clock
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("start signed demo agent: %w", err)
	}
	a := newActor(0, o, newMind(o.Knowledge))
	a.name = "Zeno"
	logger := o.Logger.With(slog.String("agent", a.name))
	capabilities := make([]string, len(o.Leagues))
	for i, league := range o.Leagues {
		capabilities[i] = "arena:round/" + league
	}
	agent, err := agentprotocol.New(agentprotocol.Config{
		Arena: o.Arena, Key: key, Name: a.name, Capabilities: capabilities, MaxConcurrent: a.persona.concurrent, Logger: logger,
	}, a.play)
	if err != nil {
		return nil, fmt.Errorf("start signed demo agent: %w", err)
	}
	s := &Signed{key: key, PublicKey: agent.PublicKey(), Info: Info{
		Name: a.name, Persona: a.persona.name, Description: a.persona.description + " Speaks AgentProtocol over a WebSocket.", Version: version,
	}}
	ctx, s.stop = context.WithCancel(ctx)
	s.wg.Go(func() {
		if err := agent.Run(ctx); err != nil {
			logger.Error("demo agent ended", slog.Any("error", err))
		}
	})
	return s, nil
}

// Prove signs the key_challenge of the agent's registration.
func (s *Signed) Prove(challenge string) string { return agentprotocol.SignChallenge(s.key, challenge) }

// Close stops the agent and waits for it.
func (s *Signed) Close() {
	s.stop()
	s.wg.Wait()
}
