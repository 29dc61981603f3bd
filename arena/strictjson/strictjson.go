package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays may nest.
const MaxDepth = 32

// Unmarshal decodes one JSON value into v and refuses members that v does
// not have.
func Unmarshal(data []byte, v any) error {
	return decode(data, v, nil, jsonv2.RejectUnknownMembers(true))
}

// UnmarshalOpen decodes one JSON value into v and passes over members that v
// does not have, but for those that differ from one of names only in case:
// such a text says different things to different readers. names are v's own
// top-level members.
func UnmarshalOpen(data []byte, v any, names ...string) error {
	var doubt error
	if err := decode(data, v, func(member string) {
		for _, known := range names {
			if member != known && strings.EqualFold(member, known) && doubt == nil {
				doubt = fmt.Errorf("member %q: did you mean %q?", member, known)
			}
		}
	}); err != nil {
		return err
	}
	if data = bytes.TrimLeft(data, " \t\r\n"); data[0] != '{' {
		return errors.New("not a JSON object")
	}
	return doubt
}

func decode(data []byte, v any, visit func(member string), opts ...jsonv2.Options) error {
	if err := checkDepth(data, visit); err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(data, v, opts...); err != nil {
		return plain(err)
	}
	return nil
}

// checkDepth reads the tokens once, so that a bomb of brackets never reaches
// a decoder that builds values. visit, unless it is nil, is told the members of
// the value itself.
func checkDepth(data []byte, visit func(member string)) error {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return errors.New("a byte order mark is not allowed")
	}
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return plain(err)
		}
		k := tok.Kind()
		if (k == '{' || k == '[') && d.StackDepth() > MaxDepth {
			return fmt.Errorf("nested deeper than %d levels", MaxDepth)
		}
		if visit != nil && k == '"' && d.StackDepth() == 1 {
			if in, n := d.StackIndex(1); in == '{' && n%2 == 1 { // a name, not a value
				visit(tok.String())
			}
		}
	}
}

// Canonical gives the RFC 8785 form of one JSON value.
func Canonical(data []byte) ([]byte, error) {
	v := jsontext.Value(bytes.Clone(data))
	if err := v.Canonicalize(); err != nil {
		return nil, plain(err)
	}
	return v, nil
}

// CanonicalOf encodes v and gives its RFC 8785 form.
func CanonicalOf(v any) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return Canonical(data)
}

// plain takes the library's own names out of an error's text.
func plain(err error) error {
	s := err.Error()
	for _, prefix := range []string{"json: ", "jsontext: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return errors.New(s)
}
