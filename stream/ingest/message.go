package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// typeAuth is the one message of an agent that is not an event.
const typeAuth arena.EventType = "auth"

// message is one message of an agent: the members that AAP names ("Streaming
// events") and the members of auth, as parts of its text; nil when absent.
type message struct {
	typ arena.EventType

	matchID, agentID, token, message, name, role, tool, args, result, durationMS, data, final, value, fatal json.RawMessage
}

// parseMessage reads one message: valid UTF-8 and strict JSON, one object
// (threats E4, R5). Members that AAP does not name are dropped, but for those
// that differ only in case: readers disagree on the meaning of such a text. The members are parts of the text.
func parseMessage(r *strictjson.Reader, text []byte) (message, error) {
	var m message
	var typ json.RawMessage
	err := r.Members(text, func(name string, value []byte) error {
		if name == "type" {
			typ = value
			return nil
		}
		if member := m.member(name); member != nil {
			*member = value
			return nil
		}
		return unlike(name)
	})
	if err != nil {
		return m, fmt.Errorf("the message is not one strict JSON object: %w", err)
	}
	kind, err := textOf(typ)
	if err != nil || kind == "" {
		return m, errors.New("type must be text")
	}
	m.typ = arena.EventType(kind)
	return m, nil
}

// member returns the place of a member; nil for one that is not known.
func (m *message) member(name string) *json.RawMessage {
	switch name {
	case "match_id":
		return &m.matchID
	case "agent_id":
		return &m.agentID
	case "token":
		return &m.token
	case "message":
		return &m.message
	case "name":
		return &m.name
	case "role":
		return &m.role
	case "tool":
		return &m.tool
	case "args":
		return &m.args
	case "result":
		return &m.result
	case "duration_ms":
		return &m.durationMS
	case "data":
		return &m.data
	case "final":
		return &m.final
	case "value":
		return &m.value
	case "fatal":
		return &m.fatal
	}
	return nil
}

// unlike refuses a name that differs only in case from one that is known.
func unlike(name string) error {
	for _, known := range [...]string{
		"type", "match_id", "agent_id", "token", "message", "name", "role", "tool",
		"args", "result", "duration_ms", "data", "final", "value", "fatal",
	} {
		if strings.EqualFold(name, known) {
			return fmt.Errorf("member %q: did you mean %q?", name, known)
		}
	}
	return nil
}

// textOf reads a member that is text, "" when it is absent or null.
func textOf(raw json.RawMessage) (string, error) {
	if absent(raw) {
		return "", nil
	}
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", errors.New("not text")
	}
	return s, nil
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// forges reports whether the message claims another identity than the seat's.
// A claim that is not text is another one.
func (m *message) forges(key seatKey) bool {
	match, err1 := textOf(m.matchID)
	agent, err2 := textOf(m.agentID)
	return err1 != nil || err2 != nil || match != "" && match != key.match || agent != "" && agent != key.agent
}

// body returns the members of the event for the log: only members of its type, with
// values of the right kind, in one line, with clean text.
func (m *message) body() (json.RawMessage, error) {
	var b bodyBuilder
	switch m.typ {
	case arena.EventThinking:
		b.text("message", m.message)
	case arena.EventSpawn:
		b.text("name", m.name)
		b.text("role", m.role)
	case arena.EventToolCall:
		b.text("tool", m.tool)
		b.any("args", m.args)
	case arena.EventToolResponse:
		b.any("result", m.result)
		b.number("duration_ms", m.durationMS)
	case arena.EventSubagentDone:
		b.text("name", m.name)
		b.number("duration_ms", m.durationMS)
	case arena.EventIntermediate:
		b.any("data", m.data)
	case arena.EventAnswer:
		b.bool("final", m.final)
		b.member("value", m.value) // of any type that the answer of a reply may have
	case arena.EventError:
		b.text("message", m.message)
		b.bool("fatal", m.fatal)
	default:
		return nil, errors.New("type is not one that an agent may send")
	}
	return b.close()
}

// bodyBuilder writes an object member by member and keeps the first error.
type bodyBuilder struct {
	buf bytes.Buffer
	err error
}

func (b *bodyBuilder) text(name string, raw json.RawMessage) {
	if !absent(raw) && raw[0] != '"' {
		b.fail(name, "text")
	}
	b.member(name, raw)
}

func (b *bodyBuilder) bool(name string, raw json.RawMessage) {
	if !absent(raw) && raw[0] != 't' && raw[0] != 'f' {
		b.fail(name, "true or false")
	}
	b.member(name, raw)
}

// number accepts numbers that fit a float64.
func (b *bodyBuilder) number(name string, raw json.RawMessage) {
	if !absent(raw) {
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil || raw[0] == '"' {
			b.fail(name, "a number")
		}
	}
	b.member(name, raw)
}

// any keeps null: it is a result like others.
func (b *bodyBuilder) any(name string, raw json.RawMessage) {
	if string(raw) == "null" {
		b.write(name, raw)
		return
	}
	b.member(name, raw)
}

func (b *bodyBuilder) fail(name, kind string) {
	if b.err == nil {
		b.err = fmt.Errorf("%s must be %s", name, kind)
	}
}

func (b *bodyBuilder) member(name string, raw json.RawMessage) {
	if !absent(raw) {
		b.write(name, raw)
	}
}

func (b *bodyBuilder) write(name string, raw json.RawMessage) {
	if b.err != nil {
		return
	}
	clean, err := cleanJSON(raw)
	if err != nil {
		b.err = fmt.Errorf("%s: %w", name, err)
		return
	}
	if b.buf.Len() == 0 {
		b.buf.Grow(len(name) + len(clean) + len(`{"":}`))
		b.buf.WriteByte('{')
	} else {
		b.buf.WriteByte(',')
	}
	b.buf.WriteByte('"')
	b.buf.WriteString(name)
	b.buf.WriteString(`":`)
	if clean[0] == '"' && clean[len(clean)-1] == '"' { // nothing between its tokens
		b.buf.Write(clean)
		return
	}
	b.err = json.Compact(&b.buf, clean) // one line: line-based forms rely on it
}

func (b *bodyBuilder) close() (json.RawMessage, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.buf.Len() == 0 {
		return json.RawMessage("{}"), nil
	}
	b.buf.WriteByte('}')
	return b.buf.Bytes(), nil
}

// cleanJSON removes control characters and bidirectional overrides from every
// text in a valid JSON value, names included (threat E4).
func cleanJSON(raw json.RawMessage) (json.RawMessage, error) {
	if !suspect(raw) {
		return raw, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	v, err := cleanValue(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // text is text: pages show it as such (threat E3)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out.Bytes(), nil
}

func cleanValue(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		return cleanText(v), nil
	case []any:
		for i := range v {
			if v[i], err = cleanValue(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			member, err := cleanValue(v[name])
			if err != nil {
				return nil, err
			}
			delete(v, name)
			clean := cleanText(name)
			if _, taken := v[clean]; taken {
				return nil, errors.New("two members have the same name but for control characters")
			}
			v[clean] = member
		}
	}
	return v, nil
}

// cleanText removes C0 and C1 controls but for line break and tab, DEL, and
// the bidirectional overrides and isolates U+202A–E and U+2066–9.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20, r >= 0x7f && r <= 0x9f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return -1
		}
		return r
	}, s)
}

// suspect reports whether a JSON text may hold something that cleanText
// removes, as it is or escaped.
func suspect(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '\\' && i+1 < len(raw):
			if i++; !strings.ContainsRune(`"\/nt`, rune(raw[i])) {
				return true
			}
		case c == 0x7f, c == 0xc2 && i+1 < len(raw) && raw[i+1] < 0xa0:
			return true
		case c == 0xe2 && i+2 < len(raw):
			if raw[i+1] == 0x80 && raw[i+2] >= 0xaa && raw[i+2] <= 0xae || raw[i+1] == 0x81 && raw[i+2] >= 0xa6 && raw[i+2] <= 0xa9 {
				return true
			}
		}
	}
	return false
}
