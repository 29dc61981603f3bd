package rules

import (
	"encoding/json"
	"fmt"

	"github.com/agora-arena/arena/arena"
)

// encode returns a state or what a player or a spectator sees as JSON. Fields of
// structs and sorted keys make equal values equal byte for byte.
func encode(v any) (json.RawMessage, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode a state: %w", err)
	}
	if len(raw) > MaxState {
		return nil, arena.Errorf(arena.CodeInternal, "a state has %d bytes, at most %d are allowed", len(raw), MaxState)
	}
	return raw, nil
}

// decode reads a state that encode has written.
func decode(st State, into any) error {
	if err := json.Unmarshal(st, into); err != nil {
		return fmt.Errorf("decode a state: %w", err)
	}
	return nil
}
