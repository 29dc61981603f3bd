package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
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

// UnmarshalOpen decodes one JSON value into v and ignores members that v does not
// have. It refuses members that differ from one of names only in case, because
// parsers disagree on them. names are v's own top-level members.
func UnmarshalOpen(data []byte, v any, names ...string) error {
	if err := decode(data, v); err != nil {
		return err
	}
	if data = bytes.TrimLeft(data, " \t\r\n"); data[0] != '{' {
		return errors.New("not a JSON object")
	}
	return similar(data, names)
}

// Text returns the text of a JSON string that was decoded as a part of a value.
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

// plain describes an error in words of JSON, without the names of the library
// and of our types.
func plain(err error) error {
	if wrong, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		return semantic(wrong)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // of a type that reads itself
		want, _ := wanted(wrong.Type)
		return fmt.Errorf("must be %s, not %s", want, wrong.Value)
	}
	s := err.Error()
	for _, prefix := range []string{"json: ", "jsontext: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return errors.New(s)
}

// semantic is for valid JSON of an unexpected form.
func semantic(wrong *jsonv2.SemanticError) error {
	where := ""
	if wrong.JSONPointer != "" {
		where = fmt.Sprintf("%q", string(wrong.JSONPointer))
	}
	want, number := wanted(wrong.GoType)
	switch got := wrong.JSONKind; {
	case errors.Is(wrong.Err, jsonv2.ErrUnknownName):
		return fmt.Errorf("unknown member %s", where)
	case wrong.Err != nil && !number:
		return errors.New(strings.TrimPrefix(where+": "+plain(wrong.Err).Error(), ": "))
	case number && got == '0':
		return errors.New(strings.TrimSpace(fmt.Sprintf("%s must be %s in range, not %s", where, want, wrong.JSONValue)))
	default:
		return errors.New(strings.TrimSpace(fmt.Sprintf("%s must be %s, not %s", where, want, kindOf(got))))
	}
}

// wanted names the kind of JSON that a type holds.
func wanted(t reflect.Type) (want string, number bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "something else", false
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		return "text", false
	case k == reflect.Bool:
		return "true or false", false
	case k >= reflect.Int && k <= reflect.Uintptr:
		return "a whole number", true
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number", true
	case k == reflect.Slice || k == reflect.Array:
		return "a list", false
	case k == reflect.Struct || k == reflect.Map:
		return "an object", false
	default:
		return "something else", false
	}
}

// kindOf names what stands in a text.
func kindOf(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't':
		return "true"
	case 'f':
		return "false"
	case '"':
		return "text"
	case '0':
		return "a number"
	case '[':
		return "a list"
	case '{':
		return "an object"
	default:
		return "this"
	}
}
