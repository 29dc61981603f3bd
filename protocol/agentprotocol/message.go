package agentprotocol

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

const (
	// Protocol is the value of the member protocol. Only this version is taken.
	Protocol = "agentprotocol/0.1"
	// Version is what a hello says of it.
	Version = "0.1"
	// MaxMessage is the most bytes of a message, on every transport.
	MaxMessage = 64 << 10

	maxID           = 128
	maxName         = 200
	maxCapabilities = 64
)

// Type is the kind of a message (text, "Message Types").
type Type string

// The types.
const (
	TypeHello    Type = "hello"
	TypeRequest  Type = "request"
	TypeResponse Type = "response"
	TypeNotify   Type = "notify"
	TypeError    Type = "error"
)

// Code is the word of an error message (text, "Error Codes").
type Code string

// The codes.
const (
	InvalidMessage         Code = "INVALID_MESSAGE"
	InvalidSignature       Code = "INVALID_SIGNATURE"
	UnknownAgent           Code = "UNKNOWN_AGENT"
	CapabilityNotSupported Code = "CAPABILITY_NOT_SUPPORTED"
	Timeout                Code = "TIMEOUT"
	RateLimited            Code = "RATE_LIMITED"
	InternalError          Code = "INTERNAL_ERROR"
)

// party is the member from.
type party struct {
	AgentID      string   `json:"agentId"`
	Name         string   `json:"name,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
}

// recipient is the member to.
type recipient struct {
	AgentID   string `json:"agentId,omitempty"`
	Broadcast bool   `json:"broadcast"`
}

// wire is the JSON form of a message (text, "Base Message").
type wire struct {
	Protocol  string          `json:"protocol"`
	ID        string          `json:"id"`
	Timestamp string          `json:"timestamp"`
	From      json.RawMessage `json:"from"`
	To        json.RawMessage `json:"to"`
	Type      Type            `json:"type"`
	Payload   json.RawMessage `json:"payload"`
	Signature json.RawMessage `json:"signature"`
}

// message is a message that was read. Everything in it comes from the
// canonical text, which is what the signature covers.
type message struct {
	ID      string
	At      time.Time
	From    party
	To      recipient
	Type    Type
	Payload json.RawMessage
	Digest  [sha256.Size]byte // of the canonical text, signature included

	raw       []byte // as it came
	covered   []byte // what the signature covers
	signature []byte // as JSON; nil: none
}

// readMessage reads one message strictly. It does not look at the signature.
func readMessage(data []byte) (message, error) {
	var m message
	if len(data) > MaxMessage {
		return m, fmt.Errorf("a message has at most %d bytes", MaxMessage)
	}
	canonical, covered, signature, err := split(data)
	if err != nil {
		return m, err
	}
	var w wire
	if err := strictjson.UnmarshalOpen(canonical, &w,
		"protocol", "id", "timestamp", "from", "to", "type", "payload", "metadata", "signature"); err != nil {
		return m, err
	}
	m = message{ID: w.ID, Type: w.Type, Payload: w.Payload, Digest: sha256.Sum256(canonical), raw: data, covered: covered, signature: signature}
	if w.Protocol != Protocol {
		return m, fmt.Errorf("protocol is not %q", Protocol)
	}
	if w.ID == "" || len(w.ID) > maxID || strings.ContainsFunc(w.ID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return m, fmt.Errorf("id is not 1 to %d printable ASCII characters without spaces", maxID)
	}
	if m.At, err = time.Parse(time.RFC3339Nano, w.Timestamp); err != nil {
		return m, errors.New("timestamp is not an ISO 8601 time with its zone")
	}
	if err := m.readParties(w); err != nil {
		return m, err
	}
	switch w.Type {
	case TypeHello, TypeRequest, TypeResponse, TypeNotify, TypeError:
	default:
		return m, errors.New("type is not hello, request, response, notify or error")
	}
	if len(w.Payload) == 0 || w.Payload[0] != '{' {
		return m, errors.New("payload is not an object")
	}
	return m, nil
}

func (m *message) readParties(w wire) error {
	if err := readObject("from", w.From, &m.From, "agentId", "name", "capabilities"); err != nil {
		return err
	}
	switch {
	case m.From.AgentID == "":
		return errors.New("from.agentId is missing")
	case len(m.From.Name) > maxName:
		return fmt.Errorf("from.name is over %d bytes", maxName)
	case len(m.From.Capabilities) > maxCapabilities:
		return fmt.Errorf("from.capabilities has over %d entries", maxCapabilities)
	}
	for i, c := range m.From.Capabilities {
		if c == "" || len(c) > maxID {
			return fmt.Errorf("from.capabilities[%d] is not 1 to %d bytes", i, maxID)
		}
	}
	return readObject("to", w.To, &m.To, "agentId", "broadcast")
}

// readObject reads the object of a member.
func readObject(name string, data json.RawMessage, into any, known ...string) error {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("%s is not an object", name)
	}
	if err := strictjson.UnmarshalOpen(data, into, known...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// errUnsigned is returned for a message without a signature, as opposed to a wrong one.
var errUnsigned = errors.New("the message is not signed")

// verify checks the signature over the canonical text, and then over the same
// text in the order of JavaScript (text, "Signature Verification").
func (m *message) verify(key ed25519.PublicKey) error {
	if m.signature == nil {
		return errUnsigned
	}
	var text string
	if err := json.Unmarshal(m.signature, &text); err != nil || len(text) != base64.StdEncoding.EncodedLen(ed25519.SignatureSize) {
		return errors.New("signature is not 88 characters of standard base64")
	}
	signature, err := decode64(base64.StdEncoding, text)
	if err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	if ed25519.Verify(key, m.covered, signature) {
		return nil
	}
	other, err := javascriptOrder(m.covered)
	if err == nil && string(other) != string(m.covered) && ed25519.Verify(key, other, signature) {
		return nil
	}
	return errors.New("the signature does not fit the message and the sender's key")
}

// identity is the arena as an agent: it signs what goes out.
type identity struct {
	key          ed25519.PrivateKey
	public       ed25519.PublicKey
	capabilities []string
	now          func() time.Time
	forge        forge // how messages are forged; zero: they are genuine
}

// forge is how an identity forges its messages.
type forge struct {
	unsigned bool              // without a signature
	to       ed25519.PublicKey // for this key instead of the recipient's; nil: for the recipient
}

// seal returns a signed message to the key, or without a recipient if it is nil.
func (i *identity) seal(to ed25519.PublicKey, typ Type, payload any) (id string, data []byte, err error) {
	id = newID()
	w := map[string]any{
		"protocol": Protocol, "id": id, "timestamp": i.now().UTC().Format(arena.TimeFormat), "type": typ, "payload": payload,
		"from": party{AgentID: rawID(i.public), Name: "Agora Arena", Capabilities: i.capabilities},
		"to":   recipient{Broadcast: true},
	}
	if i.forge.to != nil {
		to = i.forge.to
	}
	if to != nil {
		w["to"] = recipient{AgentID: rawID(to)}
	}
	text, err := strictjson.CanonicalOf(w)
	if err != nil {
		return "", nil, fmt.Errorf("%s message: %w", typ, err)
	}
	// A reader in JavaScript would sign and verify another text.
	if other, err := javascriptOrder(text); err != nil || string(other) != string(text) {
		return "", nil, fmt.Errorf("%s message: a member has a number for its name", typ)
	}
	if i.forge.unsigned {
		return id, text, nil
	}
	w["signature"] = base64.StdEncoding.EncodeToString(ed25519.Sign(i.key, text))
	if data, err = strictjson.CanonicalOf(w); err != nil {
		return "", nil, fmt.Errorf("%s message: %w", typ, err)
	}
	return id, data, nil
}
