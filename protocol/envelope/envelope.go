package envelope

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// The limits of an envelope. The arena's own have no MaxBody and no MaxResult:
// a REQUEST is as long as its task.
const (
	Version      = "1.0"    // must match exactly
	MaxID        = 128      // characters of id, thread.id and request_id
	MaxName      = 200      // bytes of sender.name and sender.url
	MaxBody      = 32 << 10 // of an agent's envelope
	MaxResult    = 64 << 10 // of a RESULT: as much as a reply of any protocol
	DefaultTTL   = 300 * time.Second
	MaxTTL       = 24 * time.Hour
	Window       = 5 * time.Minute // how far ts may be from the clock
	maxSafe      = 1 << 53
	signatureLen = 86 // base64url of 64 bytes
)

// Type is the kind of a message.
type Type string

// The types. CANCEL occurs only in the table of states. STATUS is an extension:
// an agent's message to spectators, or its manifest.
const (
	TypeRequest Type = "REQUEST"
	TypeOffer   Type = "OFFER"
	TypeAccept  Type = "ACCEPT"
	TypeResult  Type = "RESULT"
	TypeError   Type = "ERROR"
	TypeCancel  Type = "CANCEL"
	TypeStatus  Type = "STATUS"
)

// Types lists the types that the relay takes.
func Types() []Type {
	return []Type{TypeRequest, TypeOffer, TypeAccept, TypeResult, TypeError, TypeCancel, TypeStatus}
}

// Envelope is a signed message.
type Envelope struct {
	Version   string          `json:"version"`
	ID        string          `json:"id"`
	TS        time.Time       `json:"-"`
	Type      Type            `json:"type"`
	Sender    Party           `json:"sender"`
	Recipient *Party          `json:"recipient,omitempty"` // nil: none, all may read it
	Payload   json.RawMessage `json:"payload"`
	Thread    *Thread         `json:"thread,omitempty"`
	Meta      *Meta           `json:"meta,omitempty"`

	Body   []byte   `json:"-"` // as received
	Digest [32]byte `json:"-"` // SHA-256 of the signed text
}

// Party is one side of a message. Name and URL are the sender's own words; the
// URL is shown and never fetched.
type Party struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Thread names a conversation.
type Thread struct {
	ID string `json:"id"`
}

// Meta is the lifetime of a message, in seconds. Hop is ignored; this relay does not
// forward.
type Meta struct {
	TTL *float64 `json:"ttl,omitempty"`
	Hop *float64 `json:"hop,omitempty"`
}

// To returns the recipient's id, "" if there is none.
func (e *Envelope) To() string {
	if e.Recipient == nil {
		return ""
	}
	return e.Recipient.ID
}

// ThreadID returns the thread's id, "" when none is named.
func (e *Envelope) ThreadID() string {
	if e.Thread == nil {
		return ""
	}
	return e.Thread.ID
}

// TTL is how long the message may be delivered, counted from its arrival.
func (e *Envelope) TTL() time.Duration {
	if e.Meta == nil || e.Meta.TTL == nil {
		return DefaultTTL
	}
	return time.Duration(*e.Meta.TTL * float64(time.Second))
}

// Fresh reports whether ts is less than Window away from now ("Replay Attack
// Prevention", rule 1).
func (e *Envelope) Fresh(now time.Time) bool { return now.Sub(e.TS).Abs() < Window }

// Decode reads an envelope that an agent posts and checks its size, its form and
// its signature, but not its time, its payload or its place in a thread. The
// failures are malformed, too_large and unauthorized (the signature).
func Decode(body []byte) (*Envelope, error) {
	if len(body) > MaxResult {
		return nil, tooLarge(MaxResult)
	}
	e, unsigned, signature, err := parse(body)
	switch {
	case err != nil:
		return nil, err
	case e.Type != TypeResult && len(body) > MaxBody:
		return nil, tooLarge(MaxBody)
	}
	key, err := ParseDID(e.Sender.ID)
	if err != nil {
		return nil, malformed("sender.id: %s", err)
	}
	if !verify(key, unsigned, signature) {
		return nil, arena.Errorf(arena.CodeUnauthorized, "sig is not the sender's signature over the canonical envelope without sig")
	}
	return e, nil
}

// parse is Decode without the limits of size and the sender's key.
func parse(body []byte) (e *Envelope, unsigned, signature []byte, err error) {
	canonical, err := canonicalOf(body)
	if err != nil {
		return nil, nil, nil, malformed("the body is not the JSON of an envelope: %s", err)
	}
	unsigned, signature, err = split(canonical)
	if err != nil {
		return nil, nil, nil, err
	}
	var read struct {
		Envelope
		TS string `json:"ts"`
	}
	err = strictjson.UnmarshalOpen(unsigned, &read,
		"version", "id", "ts", "type", "sender", "recipient", "payload", "thread", "meta", "sig", "encrypted", "encryptionNonce")
	if err != nil {
		return nil, nil, nil, malformed("the body is not the JSON of an envelope: %s", err)
	}
	e = &read.Envelope
	e.Body, e.Digest = body, sha256.Sum256(unsigned)
	if e.TS, err = ParseTime(read.TS); err != nil {
		return nil, nil, nil, malformed("ts: %s", err)
	}
	return e, unsigned, signature, e.check()
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_:.-]{1,128}$`)

// check looks at everything but sender.id, sig and the payload's members.
func (e *Envelope) check() error {
	switch {
	case e.Version != Version:
		return malformed("version: must be exactly %q", Version)
	case !idForm.MatchString(e.ID):
		return malformed("id: must be 1 to %d of A-Z a-z 0-9 _ : . -", MaxID)
	case !slices.Contains(Types(), e.Type):
		return malformed("type: must be one of %v", Types())
	case len(e.Sender.Name) > MaxName || len(e.Sender.URL) > MaxName:
		return malformed("sender: name and url may have at most %d bytes", MaxName)
	case len(e.Payload) == 0 || e.Payload[0] != '{':
		return malformed("payload: must be an object")
	case e.Thread != nil && !idForm.MatchString(e.Thread.ID):
		return malformed("thread.id: must be 1 to %d of A-Z a-z 0-9 _ : . -", MaxID)
	case e.TTL() < time.Second || e.TTL() > MaxTTL:
		return malformed("meta.ttl: must be 1 to %d seconds", int(MaxTTL.Seconds()))
	}
	if e.Recipient != nil {
		if _, err := ParseDID(e.Recipient.ID); err != nil {
			return malformed("recipient.id: %s", err)
		}
	}
	return nil
}

func malformed(format string, args ...any) error {
	return arena.Errorf(arena.CodeMalformed, format, args...)
}

func tooLarge(limit int) error {
	return arena.Errorf(arena.CodeTooLarge, "the envelope is over %d KiB", limit>>10)
}

// ParseTime reads an RFC 3339 time with its zone.
func ParseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || len(text) > 40 {
		return t, arena.Errorf(arena.CodeMalformed, "must be a time like 2026-02-02T15:30:00.000Z")
	}
	return t.UTC().Truncate(time.Millisecond), nil
}

// canonicalOf returns the RFC 8785 form of body, unless its readers could differ
// about it: integers that no double holds exactly are refused.
func canonicalOf(body []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := strictjson.UnmarshalOpen(body, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("null")
	}
	if err := exact(body); err != nil {
		return nil, err
	}
	return strictjson.Canonical(body)
}

// exact refuses integers that no double holds, and numbers beyond the range of a
// double. Fractions are rounded, as JSON.parse rounds them.
func exact(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body)) // only its tokens: what it says was checked before
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return nil //nolint:nilerr // the end of a text that was read before
		}
		n, ok := token.(json.Number)
		if !ok {
			continue
		}
		if f, err := strconv.ParseFloat(n.String(), 64); err != nil || !sameInteger(n.String(), f) {
			return malformed("the number %.40s: an integer must be exact as a double, and no number may exceed its range; write others as strings", n)
		}
	}
}

// sameInteger reports whether text, if it is an integer, spells the value of f: all
// its digits, or the shortest ones that f is printed with. JSON.stringify writes
// 2^64, which is 18446744073709551616, as 18446744073709552000.
func sameInteger(text string, f float64) bool {
	if math.Abs(f) < maxSafe || strings.ContainsAny(text, ".eE") {
		return true
	}
	return text == strconv.FormatFloat(f, 'f', 0, 64) || text == strconv.FormatFloat(f, 'f', -1, 64)
}

// split removes sig from the canonical text. What is left is canonical too.
func split(canonical []byte) (unsigned, signature []byte, err error) {
	var sig string
	b := bytes.NewBufferString("{")
	var r strictjson.Reader
	err = r.Members(canonical, func(name string, value []byte) error {
		switch name {
		case "encrypted", "encryptionNonce":
			return malformed("%s: version 1.0 has no encryption", name)
		case "sig":
			if err := strictjson.Unmarshal(value, &sig); err != nil {
				return malformed("sig: must be a text")
			}
			return nil
		case "sender", "recipient", "thread", "meta":
			if err := part(name, value); err != nil {
				return malformed("%s: %s", name, err)
			}
		}
		quoted, err := strictjson.CanonicalOf(name)
		if err != nil {
			return malformed("the member %q has no canonical form", name)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(value)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	b.WriteByte('}')
	if sig == "" {
		return nil, nil, arena.Errorf(arena.CodeUnauthorized, "sig: the envelope is not signed")
	}
	// Strict still ignores line breaks; the length check rejects them.
	signature, err = base64.RawURLEncoding.Strict().DecodeString(sig)
	if err != nil || len(sig) != signatureLen || len(signature) != ed25519.SignatureSize {
		return nil, nil, arena.Errorf(arena.CodeUnauthorized, "sig: must be %d characters of base64url without padding", signatureLen)
	}
	return b.Bytes(), signature, nil
}

// part looks at an object inside the envelope. One that may be left out may be
// null.
func part(name string, value []byte) error {
	switch {
	case name == "sender":
		return strictjson.UnmarshalOpen(value, new(Party), "id", "name", "url")
	case string(value) == "null":
		return nil
	case name == "recipient":
		return strictjson.UnmarshalOpen(value, new(Party), "id", "name", "url")
	case name == "thread":
		return strictjson.UnmarshalOpen(value, new(Thread), "id")
	default:
		return strictjson.UnmarshalOpen(value, new(Meta), "ttl", "hop")
	}
}

// verify never panics, whatever the lengths.
func verify(key ed25519.PublicKey, text, signature []byte) bool {
	return len(key) == ed25519.PublicKeySize && len(signature) == ed25519.SignatureSize && ed25519.Verify(key, text, signature)
}
