package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Whole is a whole number in any form that JSON has for it: 150, 150.0, 1.5e2.
// Languages without integers write the others.
type Whole int64

// maxWhole bounds numbers that are not written in digits alone: a double holds
// whole numbers exactly up to here.
const maxWhole = 1 << 53

// UnmarshalJSON reads a number; null changes nothing.
func (w *Whole) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if !bytes.ContainsAny(data, ".eE") {
		n, err := strconv.ParseInt(string(data), 10, 64)
		*w = Whole(n)
		if err != nil {
			return notWhole(data)
		}
		return nil
	}
	f, err := strconv.ParseFloat(string(data), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxWhole {
		return notWhole(data)
	}
	*w = Whole(f)
	return nil
}

// notWhole is the library's error for a number that does not fit its type.
func notWhole(data []byte) error {
	return &jsonv2.SemanticError{
		JSONKind: jsontext.Value(data).Kind(), JSONValue: bytes.Clone(data), GoType: reflect.TypeFor[int64](),
		Err: fmt.Errorf("%.40s is not a whole number in range", data),
	}
}

// UnmarshalWhole is Unmarshal for the bodies of an API: a value of type int or
// int64 may have any form that a Whole may have, as JSON Schema defines an
// integer.
func UnmarshalWhole(data []byte, v any) error {
	integers := jsonv2.JoinUnmarshalers(jsonv2.UnmarshalFromFunc(readWhole[int]), jsonv2.UnmarshalFromFunc(readWhole[int64]))
	return decode(data, v, jsonv2.RejectUnknownMembers(true), jsonv2.WithUnmarshalers(integers))
}

// readWhole reads a number, and leaves all other values to the library.
func readWhole[T int | int64](d *jsontext.Decoder, v *T) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	data, err := d.ReadValue()
	if err != nil {
		return err
	}
	var w Whole
	if err := w.UnmarshalJSON(data); err != nil {
		return err
	}
	if *v = T(w); int64(*v) != int64(w) { // an int of 32 bits
		return notWhole(data)
	}
	return nil
}
