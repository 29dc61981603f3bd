package db

import (
	"database/sql"
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

// Time returns the destination that scans unix milliseconds into t.
func Time(t *time.Time) sql.Scanner { return timeInto{t} }

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

// JSON returns the destination that scans a text column that holds JSON into v,
// which must be a pointer. NULL and the empty text leave v as it is.
func JSON(v any) sql.Scanner { return jsonInto{v} }

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

// ScanInt reads a row of one number.
func ScanInt(r Row) (n int64, err error) { return n, r.Scan(&n) }

// ScanText reads a row of one text.
func ScanText(r Row) (text string, err error) { return text, r.Scan(&text) }

// Storable replaces the parts of an untrusted text that PostgreSQL cannot
// store: invalid UTF-8 and NUL.
func Storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}
