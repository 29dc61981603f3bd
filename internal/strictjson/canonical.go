package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns the RFC 8785 form of one JSON value.
func Canonical(data []byte) ([]byte, error) {
	// Every answer is put into this form several times, and nearly all are
	// plain. The library needs four times as long, and decides on the rest.
	p := plainReader{data: data, out: make([]byte, 0, len(data))}
	if p.value(0) && p.space() == len(data) {
		return p.out, nil
	}
	v := jsontext.Value(bytes.Clone(data))
	if err := v.Canonicalize(); err != nil {
		return nil, plain(err)
	}
	return v, nil
}

// CanonicalOf encodes v and returns its RFC 8785 form.
func CanonicalOf(v any) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return Canonical(data)
}

// plainReader writes the canonical form of values of which each part is in
// it already: texts without escapes, decimal numbers as they are printed,
// objects with names in ASCII, whose members it sorts. Its functions are false for
// everything else, valid or not.
type plainReader struct {
	data []byte
	i    int // next byte of data
	out  []byte
}

// space skips white space and returns the position of the next byte.
func (p *plainReader) space() int {
	for p.i < len(p.data) && (p.data[p.i] == ' ' || p.data[p.i] == '\n' || p.data[p.i] == '\r' || p.data[p.i] == '\t') {
		p.i++
	}
	return p.i
}

// next skips white space and consumes c if it follows.
func (p *plainReader) next(c byte) bool {
	if p.space() == len(p.data) || p.data[p.i] != c {
		return false
	}
	p.i++
	return true
}

func (p *plainReader) value(depth int) bool {
	if p.space() == len(p.data) || depth > MaxDepth {
		return false
	}
	switch c := p.data[p.i]; {
	case c == '"':
		_, ok := p.text()
		return ok
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(p.data[p.i:], []byte(word)) {
			p.i += len(word)
			p.out = append(p.out, word...)
			return true
		}
	}
	return false
}

// text reads a text without escapes and returns the part between the quotes.
func (p *plainReader) text() (content []byte, ok bool) {
	from, ascii := p.i, true
	for i := from + 1; i < len(p.data); i++ {
		switch c := p.data[i]; {
		case c == '"':
			p.i = i + 1
			content = p.data[from+1 : i]
			p.out = append(p.out, p.data[from:p.i]...)
			return content, ascii || utf8.Valid(content)
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// number reads numbers that the canonical form prints unchanged, except for numbers
// with an exponent.
func (p *plainReader) number() bool {
	from, start := p.i, len(p.out)
	for p.i < len(p.data) && (p.data[p.i] == '-' || p.data[p.i] == '.' || '0' <= p.data[p.i] && p.data[p.i] <= '9') {
		p.i++
	}
	token := p.data[from:p.i]
	f, err := strconv.ParseFloat(string(token), 64)
	if size := math.Abs(f); err != nil || size < 1e-6 && f != 0 || size >= 1e21 || f == 0 && len(token) > 1 {
		return false
	}
	p.out = strconv.AppendFloat(p.out, f, 'f', -1, 64)
	return bytes.Equal(p.out[start:], token)
}

func (p *plainReader) array(depth int) bool {
	p.i++
	p.out = append(p.out, '[')
	for n := 0; !p.next(']'); n++ {
		if n > 0 {
			if !p.next(',') {
				return false
			}
			p.out = append(p.out, ',')
		}
		if !p.value(depth + 1) {
			return false
		}
	}
	p.out = append(p.out, ']')
	return true
}

// member is a part of what was written: a name, and the place of it and its
// value.
type member struct {
	name     []byte
	from, to int
}

func (p *plainReader) object(depth int) bool {
	p.i++
	p.out = append(p.out, '{')
	first := len(p.out)
	var members [16]member // more are not plain
	n := 0
	sorted := true
	for !p.next('}') {
		if n == len(members) || n > 0 && !p.next(',') || p.space() == len(p.data) || p.data[p.i] != '"' {
			return false
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		m := member{from: len(p.out)}
		var ok bool
		if m.name, ok = p.text(); !ok || !isASCII(m.name) || !p.next(':') {
			return false
		}
		p.out = append(p.out, ':')
		if !p.value(depth + 1) {
			return false
		}
		m.to = len(p.out)
		if n > 0 {
			switch c := bytes.Compare(members[n-1].name, m.name); { //nolint:gosec // G602: n is not the first
			case c == 0:
				return false
			case c > 0:
				sorted = false
			}
		}
		members[n] = m
		n++
	}
	if !sorted && !p.sort(first, members[:n]) {
		return false
	}
	p.out = append(p.out, '}')
	return true
}

// sort puts the members, written from first on, into the order of their
// names; false: two have the same.
func (p *plainReader) sort(first int, members []member) bool {
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	written := bytes.Clone(p.out[first:])
	p.out = p.out[:first]
	for i, m := range members {
		if i > 0 {
			if bytes.Equal(members[i-1].name, m.name) { //nolint:gosec // G602: i is not the first
				return false
			}
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, written[m.from-first:m.to-first]...)
	}
	return true
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
