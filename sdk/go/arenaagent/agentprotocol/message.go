package agentprotocol

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gowebpki/jcs"
)

const (
	protocol   = "agentprotocol/0.1"
	version    = "0.1"
	maxMessage = 1 << 20 // as long as a task of any protocol
	window     = 5 * time.Minute
)

type party struct {
	AgentID      string   `json:"agentId"`
	Name         string   `json:"name,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
}

type recipient struct {
	AgentID   string `json:"agentId,omitempty"`
	Broadcast bool   `json:"broadcast"`
}

// message is a message of AgentProtocol.
type message struct {
	Protocol  string          `json:"protocol"`
	ID        string          `json:"id"`
	Timestamp time.Time       `json:"timestamp"`
	From      party           `json:"from"`
	To        recipient       `json:"to"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
	Signature string          `json:"signature,omitempty"`
}

// idOf is the agent id of a key: its standard base64.
func idOf(key ed25519.PublicKey) string { return base64.StdEncoding.EncodeToString(key) }

// seal makes a signed message.
func seal(key ed25519.PrivateKey, from party, to, typ string, payload any, now time.Time) ([]byte, error) {
	data, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", typ, err)
	}
	m := message{
		Protocol: protocol, ID: newID(), Timestamp: now.UTC().Truncate(time.Millisecond), From: from,
		To: recipient{AgentID: to}, Type: typ, Payload: data,
	}
	if to == "" {
		m.To.Broadcast = true
	}
	text, err := canonical(m)
	if err != nil {
		return nil, err
	}
	m.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(key, text))
	return canonical(m)
}

// canonical returns the RFC 8785 form of v.
func canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err == nil {
		data, err = jcs.Transform(data)
	}
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return data, nil
}

// open reads a message and verifies that from signed it.
func open(data []byte, from string) (message, error) {
	var m message
	if len(data) > maxMessage {
		return m, fmt.Errorf("a message has at most %d bytes", maxMessage)
	}
	text, err := jcs.Transform(data) // refuses duplicate members and invalid UTF-8
	if err != nil {
		return m, fmt.Errorf("read message: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return m, fmt.Errorf("read message: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("read message: %w", err)
	}
	key, err := base64.StdEncoding.Strict().DecodeString(from)
	if err != nil || len(key) != ed25519.PublicKeySize || m.From.AgentID != from {
		return m, errors.New("the message is not from the arena")
	}
	delete(all, "signature")
	covered, err := canonical(all)
	if err != nil {
		return m, err
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(m.Signature)
	if err != nil || !ed25519.Verify(key, covered, signature) {
		return m, errSignature
	}
	if m.Protocol != protocol {
		return m, fmt.Errorf("protocol is not %q", protocol)
	}
	return m, nil
}

var errSignature = errors.New("the signature does not fit the message and the arena's key")

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
