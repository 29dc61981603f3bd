package seal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/strictjson"
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

// Event gives the sealed form of e: Body keeps the public members and a
// "commitment" to the rest, Hidden holds the rest with a random nonce, in
// canonical form. An event with nothing to hide, or of a type that is never
// sealed, comes back as it was.
func Event(e arena.Event) (arena.Event, error) {
	keep, sealed := public(e.Type)
	if !sealed || len(e.Body) == 0 {
		return e, nil
	}
	var hidden map[string]json.RawMessage
	if err := json.Unmarshal(e.Body, &hidden); err != nil {
		return e, fmt.Errorf("seal %s: %w", e.Type, err)
	}
	open := make(map[string]json.RawMessage, len(keep)+1)
	for _, name := range keep {
		if v, ok := hidden[name]; ok {
			open[name] = v
			delete(hidden, name)
		}
	}
	if len(hidden) == 0 {
		return e, nil
	}
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // documented never to fail
	hidden["nonce"], _ = json.Marshal(base64.RawURLEncoding.EncodeToString(nonce))
	var err error
	if e.Hidden, err = strictjson.CanonicalOf(hidden); err != nil {
		return e, fmt.Errorf("seal %s: %w", e.Type, err)
	}
	open["commitment"], _ = json.Marshal(Commitment(e.Hidden))
	if e.Body, err = strictjson.CanonicalOf(open); err != nil {
		return e, fmt.Errorf("seal %s: %w", e.Type, err)
	}
	return e, nil
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
