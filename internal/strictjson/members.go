package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads objects member by member. It keeps what it needs for reading,
// so one for many texts costs a fraction of Unmarshal. The zero value is ready;
// one goroutine at a time may use it.
type Reader struct {
	decoder jsontext.Decoder
	text    bytes.Buffer
}

// Members reads one JSON object under the rules of Unmarshal and passes each
// of its own members to f, in order, before it is known whether the rest is
// valid. The value is a part of data. It stops at the first error, also of f.
// Minding names that differ only in case is left to f.
func (r *Reader) Members(data []byte, f func(name string, value []byte) error) error {
	if err := shallow(data); err != nil {
		return err
	}
	r.text = *bytes.NewBuffer(data)
	d := &r.decoder
	d.Reset(&r.text)
	defer func() { r.text = bytes.Buffer{} }()
	if d.PeekKind() != '{' {
		return errors.New("not a JSON object")
	}
	if _, err := d.ReadToken(); err != nil {
		return plain(err)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return plain(err)
		}
		text := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return plain(err)
		}
		if err := f(text, value); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return plain(err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("text after the value")
	}
	return nil
}

// shallow refuses a text that nests deeper than MaxDepth. Whether its
// brackets match is left to the decoder.
func shallow(data []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("nested deeper than %d levels", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
