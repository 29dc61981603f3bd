package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/agora-arena/arena/arena"
)

// errUnavailable is the refusal while the storage cannot be asked. A socket ends with
// it: what waits in the agent is better sent when the storage is back.
func errUnavailable() *refusal {
	return &refusal{arena.CodeUnavailable, "the arena's storage is away; come back in 5 seconds", closeRestart}
}

// storageUnavailable reports whether the storage cannot be asked now, or
// did not answer in time. It is logged once, until the storage answers.
func (h *Hub) storageUnavailable(err error) bool {
	code := arena.CodeOf(err)
	away := code == arena.CodeUnavailable ||
		code == arena.CodeInternal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
	if away && h.ctx.Err() == nil && !h.unavailable.Swap(true) {
		h.log.Warn("storage is away", slog.Any("error", err))
	}
	return away
}

// storageAvailable notes that the storage answered.
func (h *Hub) storageAvailable() {
	if h.unavailable.Load() && h.unavailable.Swap(false) {
		h.log.Info("storage is back")
	}
}
