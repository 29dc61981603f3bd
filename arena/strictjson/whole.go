package strictjson

import (
	"bytes"
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

// maxWhole bounds what is not written in digits alone: a double holds whole
// numbers exactly up to here.
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
