package stream

import (
	"context"
	"errors"
	"log/slog"

	"github.com/agora-arena/arena/arena"
)

const textUnavailable = "the arena's storage is unavailable; try again in 5 seconds"

// StorageUnavailable reports whether an error means that the storage is
// unavailable or did not answer in time. It logs the first one of an outage.
func (h *Hub) StorageUnavailable(err error) bool {
	code := arena.CodeOf(err)
	away := code == arena.CodeUnavailable ||
		code == arena.CodeInternal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
	if away && h.clients.Context().Err() == nil && !h.unavailable.Swap(true) {
		h.log.Warn("storage is unavailable", slog.Any("error", err))
	}
	return away
}

// StorageAvailable ends an outage: the storage has answered.
func (h *Hub) StorageAvailable() {
	if h.unavailable.Load() && h.unavailable.Swap(false) {
		h.log.Info("storage is back")
	}
}
