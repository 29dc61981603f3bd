package seal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// public lists, per type, the members that a sealed event shows at once.
// A type that is not listed is the arena's own and is never sealed.
func public(t arena.EventType) (members []string, sealed bool) {
	switch t {
	case arena.EventThinking, arena.EventIntermediate:
		return nil, true
	case arena.EventSpawn:
		return []string{"name"}, true
	case arena.EventToolCall:
		return []string{"tool"}, true
	case arena.EventToolResponse:
		return []string{"duration_ms"}, true
	case arena.EventSubagentDone:
		return []string{"name", "duration_ms"}, true
	case arena.EventAnswer:
		return []string{"final"}, true
	case arena.EventError:
		return []string{"fatal"}, true
	case arena.EventSeatOutcome:
		return []string{"outcome", "reason", "elapsed_ms", "attempts"}, true
	default:
		return nil, false
	}
}

// Event returns the sealed form of e: Body keeps the public members and a
// "commitment" to the rest, Hidden holds the rest with a random nonce, in
// canonical form. An event without hidden members, or of a type that is never
// sealed, is returned unchanged.
func Event(e arena.Event) (arena.Event, error) {
	keep, known := public(e.Type)
	if !known || len(e.Body) == 0 {
		return e, nil
	}
	open, hidden := make([]byte, 0, len(e.Body)+100), make([]byte, 0, len(e.Body)+50)
	hides := false
	var split strictjson.Reader
	err := split.Members(e.Body, func(name string, value []byte) error {
		switch {
		case slices.Contains(keep, name):
			open = member(open, name, value)
		case name == "nonce": // ours comes in its place
			hides = true
		default:
			hides, hidden = true, member(hidden, name, value)
		}
		return nil
	})
	if err != nil {
		return e, fmt.Errorf("seal %s: %w", e.Type, err)
	}
	if !hides {
		return e, nil
	}
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // documented never to fail
	hidden = member(hidden, "nonce", []byte(`"`+base64.RawURLEncoding.EncodeToString(nonce[:])+`"`))
	sealed, err := strictjson.Canonical(append(hidden, '}'))
	if err != nil {
		return e, fmt.Errorf("seal %s: %w", e.Type, err)
	}
	open = member(open, "commitment", []byte(`"`+Commitment(sealed)+`"`))
	body, err := strictjson.Canonical(append(open, '}'))
	if err != nil {
		return e, fmt.Errorf("seal %s: %w", e.Type, err)
	}
	e.Body, e.Hidden = body, sealed
	return e, nil
}

// member appends a member to an object, which it begins when it is empty.
func member(object []byte, name string, value []byte) []byte {
	separator := byte(',')
	if len(object) == 0 {
		separator = '{'
	}
	quoted, _ := json.Marshal(name) // texts always encode
	object = append(append(append(object, separator), quoted...), ':')
	return append(object, value...)
}

// Commitment is the lower-case hexadecimal SHA-256 of a hidden part in its
// RFC 8785 form. The nonce inside keeps a short answer from being guessed.
func Commitment(hidden json.RawMessage) string {
	sum := sha256.Sum256(hidden)
	return hex.EncodeToString(sum[:])
}

// Verify reports whether a revealed part is the one committed to.
func Verify(hidden json.RawMessage, commitment string) error {
	canonical, err := strictjson.Canonical(hidden)
	if err != nil {
		return fmt.Errorf("hidden part: %w", err)
	}
	if got := Commitment(canonical); got != commitment {
		return fmt.Errorf("commitment is %s, the hidden part has %s", commitment, got)
	}
	return nil
}
