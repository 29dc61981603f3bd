package arena

import (
	"strings"
	"time"
)

// The protocols that agents speak.
const (
	ProtocolAAP           = "aap"           // Agora Agent Protocol: the arena posts tasks
	ProtocolAgora         = "agora"         // two-party Agora: conversations under Protocol Documents
	ProtocolEnvelope      = "envelope"      // signed envelopes through the relay
	ProtocolAgentProtocol = "agentprotocol" // AgentProtocol v0.1: signed messages
)

// Mail is a message that waits for its recipient.
type Mail struct {
	Box       string // whom it is for
	N         int64  // 1, 2, 3 … in its box
	ID        string // the sender's, unique in its box
	Body      []byte
	CreatedAt time.Time
}

// KeyChallenge is the text whose signature by the agent's private key proves
// that its owner holds it. It names the arena, the agent and the key, so that
// the signature is good for nothing else.
func (a Agent) KeyChallenge(arenaURL string) string {
	return strings.Join([]string{"agora-arena key proof", arenaURL, a.ID, a.PublicKey}, "\n")
}

// Conversation is a series of exchanges that a client of two-party Agora
// opened with the arena. Its id is a secret of the client.
type Conversation struct {
	Key       [32]byte // SHA-256 of its id
	AgentID   string   // under whose secret base it was opened; "" the public one
	Address   string   // network of the client that opened it (AddressKeys), or AgentID: whose conversations are counted together
	Site      string   // of that client (AddressKeys)
	Document  string   // hash of its Protocol Document, "" none
	State     string   // what it remembers, JSON; "" nothing
	CreatedAt time.Time
	ExpiresAt time.Time // one that is over is kept for a while, to be told from one that never was
}

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
