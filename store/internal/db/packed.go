package db

import (
	"bytes"
	"database/sql"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Texts of rounds that are large and much alike are packed: compressed as an S2
// block (a fifth of the processor time of zstd) with packed.txt as its dictionary,
// samples of what they have in common. A quarter is left. The samples are part of
// what is stored. They must never change; better ones get another mark and stand
// beside them.

//go:embed packed.txt
var samples string

var dictionary = sync.OnceValue(func() *s2.Dict { return s2.MakeDict([]byte(samples), nil) })

// packedMark begins what is packed with the samples, and packedText its base64.
// JSON, which was stored before it was packed, begins with neither.
const (
	packedMark = 1
	packedText = "A"
)

// Pack returns JSON packed. No bytes stay none.
func Pack(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	block := dictionary().Encode(nil, b)
	return append(append(make([]byte, 0, 1+len(block)), packedMark), block...)
}

// unpack is the reverse of Pack. What is not packed stays as it is.
func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] != packedMark {
		return b, nil
	}
	unpacked, err := dictionary().Decode(nil, b[1:])
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return unpacked, nil
}

// PackedText encodes v as JSON and packs it for a text column, in base64.
func PackedText(v any) (string, error) {
	b, err := json.Marshal(v)
	return base64.StdEncoding.EncodeToString(Pack(b)), err
}

// IntoPacked is IntoJSON for a column that may hold what PackedText returns.
func IntoPacked(v any) sql.Scanner { return packedInto{v} }

type packedInto struct{ v any }

func (i packedInto) Scan(src any) error {
	text, ok := src.(string)
	if !ok || !strings.HasPrefix(text, packedText) {
		return jsonInto(i).Scan(src)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		b, err = unpack(b)
	}
	if err != nil {
		return fmt.Errorf("scan packed json: %w", err)
	}
	return json.Unmarshal(b, i.v)
}

// packedBytesInto scans what Pack returned.
type packedBytesInto struct{ b *[]byte }

func (i packedBytesInto) Scan(src any) (err error) {
	switch s := src.(type) {
	case nil:
		*i.b = nil
	case []byte:
		*i.b, err = unpack(bytes.Clone(s))
	default:
		err = fmt.Errorf("scan packed bytes: got %T", src)
	}
	return err
}

// Packed is a column of bytes that are packed when they are read, and that the
// caller packs before they are written.
func Packed[R any](name string, field func(*R) *[]byte) Column[R] {
	c := Bytes(name, field)
	c.Into = func(r *R) any { return packedBytesInto{field(r)} }
	return c
}

// PackedJSON is a column of what the caller has packed with PackedText.
func PackedJSON[R, F any](name string, packed func(*R) any, field func(*R) *F) Column[R] {
	return Column[R]{
		Name: name, Type: TypeText,
		Value: packed,
		Into:  func(r *R) any { return packedInto{field(r)} },
	}
}
