package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep objects and arrays may nest.
const MaxDepth = 32

// Unmarshal decodes one JSON value into v and refuses members that v does
// not have.
func Unmarshal(data []byte, v any) error {
	return decode(data, v, jsonv2.RejectUnknownMembers(true))
}

// UnmarshalOpen decodes one JSON value into v and passes over members that v
// does not have, but for those that differ from one of names only in case:
// such a text says different things to different readers. names are v's own
// top-level members.
func UnmarshalOpen(data []byte, v any, names ...string) error {
	if err := decode(data, v); err != nil {
		return err
	}
	if data = bytes.TrimLeft(data, " \t\r\n"); data[0] != '{' {
		return errors.New("not a JSON object")
	}
	return similar(data, names)
}

// Text gives the text of a JSON string that was decoded as a part of a value.
func Text(raw []byte) (string, error) {
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", plain(err)
	}
	return string(text), nil
}

// decode looks at the depth first, so that a bomb of brackets never reaches
// a decoder that builds values.
func decode(data []byte, v any, opts ...jsonv2.Options) error {
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return errors.New("a byte order mark is not allowed")
	}
	if err := shallow(data); err != nil {
		return err
	}
	if err := jsonv2.Unmarshal(data, v, opts...); err != nil {
		return plain(err)
	}
	return nil
}

// similar refuses an object, which is valid, with a member whose name differs from
// one of names only in case.
func similar(object []byte, names []string) error {
	depth, name := 0, false
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{', '[':
			depth++
			name = depth == 1
		case '}', ']':
			depth--
		case ',':
			name = depth == 1
		case '"':
			from := i
			for i++; object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
			if !name {
				continue
			}
			name = false
			if err := unmistakable(object[from:i+1], names); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmistakable refuses a quoted name that differs from one of names only in case.
func unmistakable(quoted []byte, names []string) error {
	member := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(member, '\\') >= 0 {
		text, err := Text(quoted)
		if err != nil {
			return err
		}
		member = []byte(text)
	}
	for _, known := range names {
		if string(member) != known && strings.EqualFold(string(member), known) {
			return fmt.Errorf("member %q: did you mean %q?", member, known)
		}
	}
	return nil
}

// plain takes the library's own names out of an error's text.
func plain(err error) error {
	s := err.Error()
	for _, prefix := range []string{"json: ", "jsontext: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return errors.New(s)
}
