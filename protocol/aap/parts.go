package aap

import (
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Claims are those of the token that goes with body.
func Claims(a arena.Attempt, body []byte, now time.Time) arena.TaskClaims {
	return claims(a, body, now)
}

// ReadReply puts an exchange into the words of the outcome table.
func ReadReply(x protocol.Exchange, outputFormat string, request []byte) arena.Reply {
	return reply(&x, outputFormat, request)
}

// HealthURL is where the health check of an endpoint is.
func HealthURL(endpoint string) (string, error) { return healthURL(endpoint) }

// ReadHealth judges what came from HealthURL.
func ReadHealth(x protocol.Exchange, now time.Time) arena.Health {
	h := arena.Health{CheckedAt: now, Latency: x.Elapsed}
	h.Reason, h.Detail = unhealthy(x, &h)
	h.OK = h.Reason == ""
	return h
}
