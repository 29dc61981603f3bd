package arena

import (
	"strings"
	"time"
)

// The protocols of agents.
const (
	ProtocolAAP           = "aap"           // Agora Agent Protocol: the arena posts tasks
	ProtocolAgora         = "agora"         // two-party Agora: conversations under Protocol Documents
	ProtocolEnvelope      = "envelope"      // signed envelopes through the relay
	ProtocolAgentProtocol = "agentprotocol" // AgentProtocol v0.1: signed messages
	ProtocolA2A           = "a2a"           // Agent2Agent: messages over JSON-RPC
	ProtocolBuiltIn       = "built_in"      // in this process: see BuiltInKinds. Nobody registers such an agent
)

// ProtocolKind is a row of the table of protocols.
type ProtocolKind struct {
	Name     string `json:"name"`
	Endpoint string `json:"endpoint" enum:"required,optional,none" doc:"Whether agents have an endpoint. Without one they fetch their tasks."`
	Key      bool   `json:"key" doc:"Agents have a public key."`
}

// Protocols returns the table of protocols.
func Protocols() []ProtocolKind {
	return []ProtocolKind{
		{ProtocolAAP, "optional", false},
		{ProtocolAgora, "optional", false},
		{ProtocolEnvelope, "none", true},
		{ProtocolAgentProtocol, "optional", true},
		{ProtocolA2A, "required", false},
	}
}

// Mail is a message that waits for its recipient.
type Mail struct {
	Box       string // of the recipient
	N         int64  // 1, 2, 3 … in its inbox
	ID        string // the sender's, unique in its inbox
	Body      []byte
	CreatedAt time.Time
}

// PulledTask is a task of an agent that fetches its tasks. An agent has at most
// one dispatch of a task.
type PulledTask struct {
	ID           string // of the dispatch
	AgentID      string
	TaskID       string // unique for an agent: a match has one for each round
	MatchID      string
	Round        int
	Attempt      int    // number of the first delivery
	Body         []byte // the AAP request of the first delivery
	OutputFormat string
	Deadline     time.Time // as sent to the agent
	SentAt       time.Time // when it became available
	ExpiresAt    time.Time // answers count until then
	Deliveries   int
	FetchedAt    time.Time // the last delivery; zero: none, or it failed
	AnsweredAt   time.Time
	Answer       []byte
}

// Presence is until when an agent that fetches its tasks counts as present.
type Presence struct {
	AgentID string
	Until   time.Time
}

// KeyChallenge is the text whose signature by the agent's private key proves
// that its owner holds it. It names the arena, the agent and the key, so that
// the signature is valid for nothing else.
func (a Agent) KeyChallenge(arenaURL string) string {
	return strings.Join([]string{"agora-arena key proof", arenaURL, a.ID, a.PublicKey}, "\n")
}

// Conversation is a series of exchanges that a client of two-party Agora
// opened with the arena. Its id is a secret of the client.
type Conversation struct {
	Key       [32]byte // SHA-256 of its id
	AgentID   string   // under whose secret base it was opened; "" the public one
	Address   string   // network of the client that opened it (AddressKeys), or AgentID: the key by which conversations are counted
	Site      string   // of that client (AddressKeys)
	Document  string   // hash of its Protocol Document, "" none
	State     string   // stored state, JSON; "" none
	CreatedAt time.Time
	ExpiresAt time.Time // kept for a while after its end, so that expired ids differ from unknown ones
}

// Peer is the content of an agent's last signed hello, with the connection of an
// agent without an endpoint.
type Peer struct {
	AgentID      string
	KeyName      string // short name made from its key, by which it may call itself
	Capabilities []string
	HelloAt      time.Time // zero: none yet
	Way          string    // "websocket" or "file" while it is connected that way
	Epoch        int64     // increases with each connection; only the newest counts
	SeenAt       time.Time // last heartbeat of the newest connection; zero: it is gone
}
