package agora

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agora-arena/arena/internal/strictjson"
)

// The values of status. The standard has "success" and "failure"; older pages
// and libraries also write "error" and "rejected" (see status.failed).
const (
	statusSuccess = "success"
	statusFailure = "failure"
)

// The errors that the standard names.
const (
	errUnsupported = "Unsupported protocol"
	errExpired     = "Conversation expired"
	errNoBody      = "Missing field 'body'"
)

// request is what a client sends (standard, section 6.1). protocolHash and
// protocolSources are always written: some servers ask for both.
type request struct {
	Hash       *string  `json:"protocolHash"`
	Sources    []string `json:"protocolSources"`
	Body       string   `json:"body"`
	Multiround bool     `json:"multiround,omitempty"`
}

// followUp is what a client sends in a conversation (beginner's text,
// "Multi-round communication"; standard, section 7.2).
type followUp struct {
	Status string `json:"status"` // how the last reply was
	Error  string `json:"error,omitempty"`
	Body   string `json:"body"`
}

// encode writes v as it is, without escaping <, > and &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// message is what the server reads: a request or a follow-up.
type message struct {
	hash       *string // nil: absent or null
	named      bool    // protocolHash is there, null or not
	sources    []string
	body       json.RawMessage // a string or an object; nil: absent or null
	multiround bool
}

// inbound is the wire shape of message. Unknown members are ignored, in
// whatever case (standard, section 6.1).
type inbound struct {
	Hash       json.RawMessage `json:"protocolHash"`
	Sources    json.RawMessage `json:"protocolSources"`
	Body       json.RawMessage `json:"body"`
	Multiround *bool           `json:"multiround"`
	Status     *string         `json:"status"`
	Error      *string         `json:"error"`
}

// decodeMessage reads a client's JSON. An error is one of the HTTP layer: the
// text is not JSON, not an object, or a field has a type that it cannot have.
func decodeMessage(data []byte) (message, error) {
	var in inbound
	if kind(bytes.TrimSpace(data)) == 'n' { // null would be a message without members
		return message{}, errors.New("the body is not the JSON of a message: not a JSON object")
	}
	err := strictjson.UnmarshalOpen(data, &in)
	if err != nil {
		return message{}, fmt.Errorf("the body is not the JSON of a message: %w", err)
	}
	m := message{named: in.Hash != nil, multiround: in.Multiround != nil && *in.Multiround}
	if len(in.Hash) > 0 && string(in.Hash) != "null" {
		m.hash = new(string)
		if err := strictjson.Unmarshal(in.Hash, m.hash); err != nil {
			return message{}, errors.New("protocolHash must be a string or null")
		}
	}
	if m.sources, err = decodeSources(in.Sources); err != nil {
		return message{}, err
	}
	switch kind(in.Body) {
	case '"', '{':
		m.body = in.Body
	case 0, 'n':
	default:
		return message{}, errors.New("body must be a string or an object")
	}
	return m, nil
}

// decodeSources reads protocolSources: a list of texts, one text, or none.
func decodeSources(raw json.RawMessage) (sources []string, err error) {
	switch kind(raw) {
	case 0, 'n':
		return nil, nil
	case '"':
		sources = make([]string, 1)
		err = strictjson.Unmarshal(raw, &sources[0])
	default:
		err = strictjson.Unmarshal(raw, &sources)
	}
	if err != nil {
		return nil, errors.New("protocolSources must be a list of strings")
	}
	return sources, nil
}

// kind is the first byte of a JSON value, 0 when there is none.
func kind(raw json.RawMessage) byte {
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// bodyText returns a body as text: the string, or else the JSON itself.
func bodyText(raw json.RawMessage) (string, error) {
	if kind(raw) != '"' {
		return string(raw), nil
	}
	var s string
	if err := strictjson.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("body: %w", err)
	}
	return s, nil
}

// reply is what a server answers (standard, section 6.2). Exactly one of Body
// and Error is there.
type reply struct {
	Status              string  `json:"status"`
	Body                *string `json:"body,omitempty"`
	Error               string  `json:"error,omitempty"`
	ConversationID      string  `json:"conversationId,omitempty"`
	ConversationExpires int64   `json:"conversationExpires,omitempty"` // unix seconds
}

// answered is a parsed reply of a server.
type answered struct {
	failed  bool
	body    string // text, or the JSON of an object
	problem string // why it failed
	id      string // of the conversation, "" none
	expires int64  // Unix seconds, 0 unknown
}

// maxConversationID bounds the ids that are taken from a server, farOff the
// times.
const (
	maxConversationID = 256
	farOff            = 1 << 53
)

// decodeReply reads a server's reply. "error" and "rejected" are failures too,
// whose text may stand in message.
func decodeReply(data []byte) (answered, error) {
	var in struct {
		Status  string          `json:"status"`
		Body    json.RawMessage `json:"body"`
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		ID      *string         `json:"conversationId"`
		Expires *float64        `json:"conversationExpires"`
	}
	err := strictjson.UnmarshalOpen(data, &in)
	if err != nil {
		return answered{}, fmt.Errorf("the body is not the JSON of a reply: %w", err)
	}
	var a answered
	if in.ID != nil && *in.ID != "." && *in.ID != ".." && len(*in.ID) <= maxConversationID {
		a.id = *in.ID
	}
	if in.Expires != nil {
		a.expires = int64(max(-farOff, min(*in.Expires, farOff)))
	}
	switch in.Status {
	case statusSuccess:
		if k := kind(in.Body); k != 0 && k != 'n' && k != '"' && k != '{' {
			return answered{}, errors.New("body is neither a string nor an object")
		} else if k == '"' || k == '{' {
			a.body, err = bodyText(in.Body)
		}
		return a, err
	case statusFailure, "error", "rejected":
		a.failed = true
		for _, raw := range []json.RawMessage{in.Error, in.Message} {
			if a.problem == "" && kind(raw) == '"' {
				a.problem, err = bodyText(raw)
			}
		}
		return a, err
	default:
		return answered{}, fmt.Errorf("status is %q, not %q or %q", in.Status, statusSuccess, statusFailure)
	}
}

// reason returns the reason that the agent gives for a failure.
func (a answered) reason() string { return cmp.Or(a.problem, "no reason was given") }

// says reports whether a failure's text has all words, in any case.
func (a answered) says(words ...string) bool {
	text := strings.ToLower(a.problem)
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return a.failed
}

func (a answered) unsupported() bool {
	return a.says("unsupported", "protocol") || a.says("protocol", "rejected")
}

func (a answered) expired() bool {
	return a.says("conversation", "expired") || a.says("conversation", "not found") || a.says("conversation", "unknown")
}

func (a answered) oneRound() bool { return a.says("multiround") || a.says("multi-round") }
