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
