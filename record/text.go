package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/agora-arena/arena/internal/strictjson"
)

// Text is a value that a person wrote or chose: a commitment with the value and a
// salt, or the commitment alone if the value was erased. A value that no person
// wrote stays as it is: null, or a task that the arena made.
type Text struct {
	Commitment string          // "": the value itself
	Salt       string          // 16 bytes in base64url without padding
	Value      json.RawMessage // RFC 8785; nil: erased
}

// Erased reports whether only the commitment is left.
func (t Text) Erased() bool { return t.Commitment != "" && t.Value == nil }

// null reports whether the value is JSON's null: there was never a text.
func (t Text) null() bool { return t.Commitment == "" && (t.Value == nil || string(t.Value) == "null") }

// MarshalJSON writes an object, or the value if there is no commitment.
func (t Text) MarshalJSON() ([]byte, error) {
	switch {
	case t.Commitment != "":
		return json.Marshal(t.members())
	case t.Value == nil:
		return []byte("null"), nil
	}
	return t.Value, nil
}

func (t Text) members() map[string]any {
	m := map[string]any{"commitment": t.Commitment}
	if t.Value != nil {
		m["salt"], m["text"] = t.Salt, t.Value
	}
	return m
}

// UnmarshalJSON reads both forms.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text{Value: bytes.Clone(data)}
	if data[0] != '{' {
		return nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	if !isText(m) {
		return nil
	}
	t.Value = m["text"]
	return errors.Join(json.Unmarshal(m["commitment"], &t.Commitment), json.Unmarshal(orEmpty(m["salt"]), &t.Salt))
}

func orEmpty(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage(`""`)
	}
	return v
}

// isText reports whether an object of a record is a Text: its
// members are commitment, salt and text, or commitment alone.
func isText[V any](m map[string]V) bool {
	_, commitment := m["commitment"]
	_, salt := m["salt"]
	_, text := m["text"]
	return commitment && (len(m) == 1 || len(m) == 3 && salt && text)
}

const saltSize = 16

// decodeSalt reads a salt.
func decodeSalt(text string) ([]byte, error) {
	salt, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(salt) != saltSize {
		return nil, fmt.Errorf("is not %d bytes in base64url without padding", saltSize)
	}
	return salt, nil
}

// commitmentOf returns the commitment to a value in the form of RFC 8785.
func commitmentOf(salt []byte, value json.RawMessage) string {
	h := sha256.New()
	h.Write([]byte("arena-text-1\x00"))
	h.Write(salt)
	h.Write(value)
	return hex.EncodeToString(h.Sum(nil))
}

// SeedCommitment returns what match_started commits to: the lower-case
// hexadecimal SHA-256 of "arena-seed-1", a zero byte, the match id, a zero byte,
// the salt (16 bytes, given in base64url without padding) and the seed
// (big-endian, 8 bytes).
func SeedCommitment(matchID, salt string, seed uint64) (string, error) {
	raw, err := decodeSalt(salt)
	if err != nil {
		return "", fmt.Errorf("the salt of the seed %w", err)
	}
	h := sha256.New()
	h.Write([]byte("arena-seed-1\x00" + matchID + "\x00"))
	h.Write(raw)
	h.Write(binary.BigEndian.AppendUint64(nil, seed))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// tree decodes a value that is in the form of RFC 8785.
func tree(data []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return v, d.Decode(&v)
}

// mapTexts returns v with every Text replaced by what f returns for it. owner is
// the agent_id of the nearest object around the Text that has one, "" if none
// has: the Text belongs to several people.
func mapTexts(v any, pointer, owner string, f func(pointer, owner string, t map[string]any) (any, error)) (any, error) {
	var err error
	switch v := v.(type) {
	case map[string]any:
		if isText(v) {
			return f(pointer, owner, v)
		}
		if id, ok := v["agent_id"].(string); ok {
			owner = id
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if v[name], err = mapTexts(v[name], pointer+"/"+escape(name), owner, f); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = mapTexts(v[i], pointer+"/"+strconv.Itoa(i), owner, f); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// mapped is mapTexts for encoded values.
func mapped(data json.RawMessage, f func(pointer, owner string, t map[string]any) (any, error)) (json.RawMessage, error) {
	v, err := tree(data)
	if err == nil {
		v, err = mapTexts(v, "", "", f)
	}
	if err != nil {
		return nil, err
	}
	return strictjson.CanonicalOf(v)
}

// folded returns a record or an event with only the commitments of its texts. This
// form is hashed and signed.
func folded(data json.RawMessage) (json.RawMessage, error) {
	return mapped(data, func(_, _ string, t map[string]any) (any, error) { return committed(t), nil })
}

// committed returns a Text that was erased.
func committed(t map[string]any) any { return map[string]any{"commitment": t["commitment"]} }
