package arena

import "time"

// Peer is what the last signed hello of an agent said, and where it can be
// reached when it has no endpoint.
type Peer struct {
	AgentID      string
	KeyName      string // short name made from its key, by which it may call itself
	Capabilities []string
	HelloAt      time.Time // zero: none came yet
	Way          string    // "websocket" or "file" while it is connected that way
	Epoch        int64     // grows with each connection; only the newest counts
	SeenAt       time.Time // last sign of life of the newest connection; zero: it is gone
}
