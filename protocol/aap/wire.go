package aap

import (
	"fmt"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

const version = "1.0" // AAP

// healthReply is the body of a health check: AAP, "Health check". Only status
// and version are required.
type healthReply struct {
	Status        string           `json:"status"`
	Version       string           `json:"version"`
	Capabilities  []string         `json:"capabilities"`
	AvgLatencyMS  float64          `json:"avg_latency_ms"`
	MaxConcurrent strictjson.Whole `json:"max_concurrent"`
}

// The bounds of an agent's declarations about itself.
const (
	maxConcurrent      = 1000
	maxDeclaredLatency = time.Hour
)

func decodeHealth(body []byte) (healthReply, error) {
	var r healthReply
	err := strictjson.UnmarshalOpen(body, &r, "status", "version", "capabilities", "avg_latency_ms", "max_concurrent")
	if err != nil {
		return r, fmt.Errorf("the body is not the JSON of a health check: %w", err)
	}
	return r, nil
}

// describe fills the agent's own claims into h, brought within bounds.
func (r healthReply) describe(h *arena.Health) {
	h.Capabilities = r.Capabilities
	h.MaxConcurrent = int(min(max(r.MaxConcurrent, 1), maxConcurrent))
	h.DeclaredLatency = time.Duration(min(max(r.AvgLatencyMS, 0), float64(maxDeclaredLatency.Milliseconds())) * float64(time.Millisecond))
}
