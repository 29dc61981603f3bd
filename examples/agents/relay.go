package agents

import (
	"context"
	"log/slog"

	"github.com/agora-arena/arena/sdk/go/arenaagent/envelope"
)

// Every relayEvery-th agent plays through the relay, beginning with number
// relayFirst, where Options.Key allows it.
const (
	relayEvery = 8
	relayFirst = 7
)

// addPolling starts an agent that has no address: it fetches its tasks.
func (f *Fleet) addPolling(ctx context.Context, o Options, a *actor) error {
	key := envelope.KeyOf(o.Key(a.name))
	f.members = append(f.members, &member{Info: Info{
		Name: a.name, Persona: a.persona.name, Description: a.persona.description, Version: version,
		PublicKey: key.DID(), Prove: key.Prove,
	}})
	log := o.Logger.With(slog.String("agent", a.name))
	f.wg.Go(func() {
		err := envelope.Run(ctx, envelope.Config{
			Arena: o.Arena, Key: key, Name: a.name, Leagues: o.Leagues, MaxConcurrent: a.persona.concurrent, Logger: log,
		}, a.play)
		if err != nil {
			log.Error("demo agent ended", slog.Any("error", err))
		}
	})
	return nil
}
