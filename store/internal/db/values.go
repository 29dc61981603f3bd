package db

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Times are unix milliseconds, 0 for the zero time.

// Millis returns t as it is stored.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// FromMillis returns the time that is stored as v.
func FromMillis(v int64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMilli(v).UTC()
}

// NoEnd is the stored form of a time that has no end.
const NoEnd = math.MaxInt64

// IntoTime returns the destination that scans unix milliseconds into t.
func IntoTime(t *time.Time) sql.Scanner { return timeInto{t} }

type timeInto struct{ t *time.Time }

func (i timeInto) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return fmt.Errorf("scan time: got %T", src)
	}
	*i.t = FromMillis(v)
	return nil
}

// Flag returns a boolean as it is stored.
func Flag(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// JSONText encodes v for a text column.
func JSONText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// IntoJSON returns the destination that scans a text column that holds JSON into v,
// which must be a pointer. NULL and the empty text leave v as it is.
func IntoJSON(v any) sql.Scanner { return jsonInto{v} }

type jsonInto struct{ v any }

func (i jsonInto) Scan(src any) error {
	switch s := src.(type) {
	case nil:
		return nil
	case string:
		if s == "" {
			return nil
		}
		return json.Unmarshal([]byte(s), i.v)
	default:
		return fmt.Errorf("scan json: got %T", src)
	}
}

// bitsInto scans a signed number into 64 unsigned bits.
type bitsInto struct{ bits *uint64 }

func (i bitsInto) Scan(src any) error {
	v, ok := src.(int64)
	if !ok {
		return fmt.Errorf("scan bits: got %T", src)
	}
	*i.bits = uint64(v) //nolint:gosec // the same 64 bits
	return nil
}

// digestInto scans bytes into a SHA-256.
type digestInto struct{ digest *[32]byte }

func (i digestInto) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok || copy(i.digest[:], b) != len(b) || len(b) != len(i.digest) {
		return fmt.Errorf("scan digest: got %T of %d bytes", src, len(b))
	}
	return nil
}

// nullTextInto scans a text, and NULL as the empty one.
type nullTextInto struct{ text *string }

func (i nullTextInto) Scan(src any) error {
	var text sql.NullString
	err := text.Scan(src)
	*i.text = text.String
	return err
}

// rawInto scans a text that holds JSON as it is; nil for the empty text.
type rawInto struct{ raw *json.RawMessage }

func (i rawInto) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan json: got %T", src)
	}
	*i.raw = nil
	if text != "" {
		*i.raw = json.RawMessage(text)
	}
	return nil
}

// Encode returns v as a value that is encoded as JSON when it is stored.
func Encode(v any) driver.Valuer { return encoded{v} }

type encoded struct{ v any }

func (e encoded) Value() (driver.Value, error) { return JSONText(e.v) }

// ScanInt reads a row of one number.
func ScanInt(r Row) (n int64, err error) { return n, r.Scan(&n) }

// ScanText reads a row of one text.
func ScanText(r Row) (text string, err error) { return text, r.Scan(&text) }

// Storable replaces the parts of an untrusted text that PostgreSQL cannot
// store: invalid UTF-8 and NUL.
func Storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}
