package arena

import "time"

// Conversation is a series of exchanges that a client of two-party Agora
// opened with the arena. Its id is a secret of the client.
type Conversation struct {
	Key       [32]byte // SHA-256 of its id
	AgentID   string   // under whose secret base it was opened; "" the public one
	Address   string   // of the client that opened it, or AgentID: whose conversations are counted together
	Document  string   // hash of its Protocol Document, "" none
	State     string   // what it remembers, JSON; "" nothing
	CreatedAt time.Time
	ExpiresAt time.Time // one that is over is kept for a while, to be told from one that never was
}
