package agents

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agora-arena/agora-go/arenaagent/agentprotocol"
)

// An agent whose earlier connection still stands at the arena connects again, however
// often; other errors end it.
func TestReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, runs, broken := time.Now(), 0, errors.New("the key is not known")
		err := reconnect(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) error {
			if runs++; runs <= 3 {
				return agentprotocol.ErrReplaced
			}
			return broken
		})
		if !errors.Is(err, broken) || runs != 4 || time.Since(began) != 3*reconnectPause {
			t.Errorf("%v after %d runs and %v", err, runs, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := reconnect(ctx, slog.New(slog.DiscardHandler), func(context.Context) error { return agentprotocol.ErrReplaced }); err != nil {
			t.Errorf("after its end: %v", err)
		}
	})
}
