package aap

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// HealthURL is where the health check of an endpoint is.
func HealthURL(endpoint string) (string, error) { return healthURL(endpoint) }

// ReadHealth judges what came from HealthURL.
func ReadHealth(x protocol.Exchange, now time.Time) arena.Health {
	h := arena.Health{CheckedAt: now, Latency: x.Elapsed}
	h.Reason, h.Detail = unhealthy(x, &h)
	h.OK = h.Reason == ""
	return h
}
