package envelope

import (
	"context"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol"
)

// Probe returns an agent's health from its activity at the relay: it is well when
// it has polled or posted within the last minute. Its capabilities are the
// leagues that its manifest names; without a manifest it has none. It counts nothing: Failures and Successes stay 0. The caller must check
// that the agent has proved its key.
func (d *Driver) Probe(ctx context.Context, a arena.Agent) arena.Health {
	h := arena.Health{CheckedAt: d.now(), MaxConcurrent: 1}
	key, err := d.log.store.RelayKey(ctx, a.PublicKey)
	if err != nil {
		h.Reason, h.Detail = "relay_failed", "the arena's relay could not be asked"
		return h
	}
	if key.Manifest != nil {
		m, err := DecodeManifest(key.Manifest, a.PublicKey)
		if err != nil {
			h.Reason, h.Detail = "bad_manifest", protocol.Sentence(err.Error())
			return h
		}
		h.Body = key.Manifest
		h.Capabilities, h.MaxConcurrent = m.Leagues(a.Leagues), max(m.MaxConcurrent, 1)
	}
	switch at := seen(key); {
	case at.IsZero():
		h.Reason, h.Detail = "not_polling", "the agent has never asked the relay"
	case h.CheckedAt.Sub(at) > present:
		h.Reason, h.Detail = "not_polling", "the agent has not asked the relay for a minute"
	default:
		h.OK = true
	}
	return h
}
